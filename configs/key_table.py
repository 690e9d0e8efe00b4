"""Tables of a model's keys for the docs: the type, default and meaning of each."""

import ast
import inspect
import re
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from leogym.common.strict import Range, shown

LARGEST_EXACT = 2**53
"""The largest whole number that every double holds; no table shows it as a bound."""

_NAMES: dict[Any, str] = {
    float: "number",
    int: "integer",
    str: "text",
    bool: "`true`, `false`",
    Any: "value",
}


def section(model: type[BaseModel], heading: str, places: Mapping[Any, str]) -> str:
    """Return a model's docstring and `table` under a heading."""
    about = " ".join((model.__doc__ or "").split("Raises:")[0].split())
    return f"{heading}\n\n{_markdown(about)}\n\n{table(model, places)}"


def table(
    model: type[BaseModel], places: Mapping[Any, str], defaults: Mapping[str, str] | None = None
) -> str:
    """Return a row per key that a model declares itself.

    Args:
        model: its fields have a docstring each.
        places: the place in the file of each model that a field may hold, or the words for another type.
        defaults: the words for defaults that the model does not state, by field.
    """
    meanings = _meanings(model)
    rows = [
        f"| `{name}` | {_kind(field.annotation, field.metadata, places)} "
        f"| {(defaults or {}).get(name) or _default(field)} | {_markdown(meanings[name])} |\n"
        for name, field in model.model_fields.items()
        if name in meanings and not field.exclude and not _is_tag(field)
    ]
    return "| key | type | default | meaning |\n|---|---|---|---|\n" + "".join(rows)


def _meanings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring that follows each field that a model declares itself."""
    [definition] = ast.parse(inspect.getsource(model)).body
    assert isinstance(definition, ast.ClassDef)
    meanings = {}
    for field, text in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match text:
                case ast.Expr(ast.Constant(str(words))):
                    meanings[field.target.id] = " ".join(words.split())
                case _:
                    meanings[field.target.id] = ""
    return meanings


def _markdown(text: str) -> str:
    return re.sub(r"`+([^`]+)`+", r"`\1`", text).replace("|", "\\|")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    match field.get_default(call_default_factory=True):
        case None | "":
            return "–"
        case BaseModel() | [BaseModel(), *_]:
            return "its defaults"
        case bool(value):
            return f"`{str(value).lower()}`"
        case [] | {}:
            return "none"
        case tuple(values) | list(values):
            return f"`[{', '.join(map(str, values))}]`"
        case value:
            return f"`{value}`"


def _kind(annotation: Any, metadata: list[Any], places: Mapping[Any, str]) -> str:
    """Return a field's type and range in words."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    names = _NAMES | {kind: words for kind, words in places.items() if not _is_model(kind)}
    if annotation in names:
        return names[annotation] + _range(metadata)
    if _is_model(annotation):
        place = places[annotation]
        return f"[`{place}`](#{re.sub(r'[^a-z_-]', '', place.lower())})"
    if origin is typing.Annotated:
        inner = [part for info in arguments[1:] for part in getattr(info, "metadata", [info])]
        return _kind(arguments[0], [*metadata, *inner], places)
    if origin in (types.UnionType, typing.Union):
        kinds = (_kind(kind, metadata, places) for kind in arguments if kind is not type(None))
        return " or ".join(dict.fromkeys(kinds))
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin is list:
        return f"list of {_kind(arguments[0], [], places)}"
    if origin is dict:
        return f"mapping of names to {_kind(arguments[1], [], places)}"
    assert origin is tuple
    kind = _kind(arguments[0], [], places)
    if arguments[1] is ...:
        return f"list of {kind}"
    return f"{kind}, or `[low, high]`" if len(arguments) == 2 else f"{len(arguments)} of {kind}"


def _is_tag(field: FieldInfo) -> bool:
    """Return whether a field has one possible value, which names its model."""
    return typing.get_origin(field.annotation) is Literal and len(typing.get_args(field.annotation)) == 1


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _range(metadata: list[Any]) -> str:
    signs = ((">", "gt"), ("≥", "ge"), ("<", "lt"), ("≤", "le"))
    bounds = [
        f"{sign} {shown(bound)}"
        for rule in metadata
        if isinstance(rule, Range)
        for sign, name in signs
        if (bound := getattr(rule, name)) is not None and abs(bound) != LARGEST_EXACT
    ]
    return f" {', '.join(bounds)}" if bounds else ""
