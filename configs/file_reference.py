"""Writes the keys of suites, sweeps and samplers into a page: ``python -m configs.file_reference FILE``."""

import ast
import inspect
import re
import sys
import types
import typing
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from leogym.common.atomic import write_atomically
from leogym.common.strict import Range, shown
from leogym.configs.sampling import (
    AstraeaSampling,
    AuroraSampling,
    FlowMix,
    LeoSampling,
    MixtureSampling,
    NamedSampling,
    Part,
    TraceSampling,
)
from leogym.configs.suite import Compare, Quick, Spot, Suite, Value
from leogym.configs.sweep import EarlyStopping, Search, Sweep

SUITE: dict[type[BaseModel], str] = {Suite: "", Quick: "quick", Spot: "spot", Compare: "compare"}
SWEEP: dict[type[BaseModel], str] = {Sweep: "", Search: "search.NAME", EarlyStopping: "early_stopping"}
SAMPLERS: dict[type[BaseModel], str] = {
    FlowMix: "Keys of all samplers",
    AstraeaSampling: "astraea",
    LeoSampling: "leo",
    AuroraSampling: "aurora",
    TraceSampling: "traces",
    MixtureSampling: "mixture",
    Part: "parts[]",
    NamedSampling: "named",
}
"""Every model with its place in the file, or with its sampler's name."""
PLACES = SUITE | SWEEP | SAMPLERS

LARGEST_BOUND = 2**53
"""Bounds as large as this are those of a double, and no table shows them."""

TABLES = re.compile(r"(<!-- keys of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def page(text: str) -> str:
    """Return the page with new tables of keys."""
    models = {"suite": SUITE, "sweep": SWEEP, "sampler": SAMPLERS}

    def tables(match: re.Match[str]) -> str:
        return match[1] + "\n".join(["", *map(_section, models[match[2]]), match[3]])

    return TABLES.sub(tables, text)


def _section(model: type[BaseModel]) -> str:
    """Return the table of a model under its heading; a sampler's leaves out what all samplers have."""
    meanings = _meanings(model)
    rows = [
        f"| `{name}` | {_kind(field)} | {_default(field)} | {meanings[name]} |"
        for name, field in model.model_fields.items()
        if name in meanings and name != "sampler" and not field.exclude
    ]
    about = " ".join((model.__doc__ or "").split())
    place = PLACES[model]
    heading = place if " " in place else f"`{place}`" if place else f"Keys of a {model.__name__.lower()}"
    table = "| key | type | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    return f"### {heading}\n\n{_markdown(about)}\n\n{table}"


def _meanings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring that follows each field that a model declares itself."""
    [definition] = ast.parse(inspect.getsource(model)).body
    assert isinstance(definition, ast.ClassDef)
    meanings = {}
    for field, text in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match text:
                case ast.Expr(ast.Constant(str(words))):
                    meanings[field.target.id] = _markdown(" ".join(words.split()))
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
            return "see its keys"
        case bool(value):
            return f"`{str(value).lower()}`"
        case [] | {}:
            return "none"
        case tuple(values) | list(values):
            return f"`[{', '.join(map(str, values))}]`"
        case value:
            return f"`{value}`"


def _kind(field: FieldInfo) -> str:
    """Return a field's type and range in words."""
    return _words(field.annotation, field.metadata)


def _words(annotation: Any, metadata: list[Any]) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        inner = [part for info in arguments[1:] for part in getattr(info, "metadata", [info])]
        return _words(arguments[0], [*metadata, *inner])
    if annotation == Value:
        return "value"
    if origin in (types.UnionType, typing.Union):
        kinds = (_words(kind, metadata) for kind in arguments if kind is not type(None))
        return " or ".join(dict.fromkeys(kinds))
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin is list:
        return f"list of {_words(arguments[0], [])}"
    if origin is dict:
        return f"mapping of names to {_words(arguments[1], [])}"
    if origin is tuple:
        kind = _words(arguments[0], [])
        return f"list of {kind}" if arguments[1] is ... else f"{kind}, or `[low, high]`"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        place = PLACES[annotation]
        return f"[`{place}`](#{re.sub(r'[^a-z_-]', '', place.lower())})"
    names: dict[Any, str] = {
        float: "number",
        int: "integer",
        str: "text",
        bool: "`true`, `false`",
        Any: "value",
    }
    return names[annotation] + _range(metadata)


def _range(metadata: list[Any]) -> str:
    signs = ((">", "gt"), ("≥", "ge"), ("<", "lt"), ("≤", "le"))
    bounds = [
        f"{sign} {shown(bound)}"
        for rule in metadata
        if isinstance(rule, Range)
        for sign, name in signs
        if (bound := getattr(rule, name)) is not None and abs(bound) < LARGEST_BOUND
    ]
    return f" {', '.join(bounds)}" if bounds else ""


if __name__ == "__main__":
    file = Path(sys.argv[1])
    write_atomically(file, page(file.read_text(encoding="utf-8")).encode())
