"""The scenario's reference, from its schema: ``python -m configs.reference FILE`` writes it."""

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
from leogym.configs.queue import KNOBS, Queue
from leogym.configs.scenario import (
    Arrivals,
    EcnEnds,
    Event,
    Flow,
    Link,
    OnOff,
    Reroute,
    Resume,
    Reverse,
    Scenario,
)

TOPICS: dict[type[BaseModel], str] = {
    Scenario: "",
    Link: "links.NAME",
    Reverse: "links.NAME.reverse",
    Queue: "links.NAME.queue",
    Flow: "flows[]",
    EcnEnds: "flows[].ecn",
    OnOff: "flows[].on_off",
    Arrivals: "flows[].arrivals",
    Resume: "flows[].resume",
    Event: "events[]",
    Reroute: "events[].reroute",
}
"""Every model with the place that it has in the file."""

PREFACE = """# The scenario file

`python -m configs.reference docs/scenario.md` writes this page from the schema (`configs/scenario.py`,
`configs/queue.py`).

A scenario is one YAML file with links and flows; every backend runs the same file. Unknown keys and loose
types are errors: one line names the file, the field and the rule. Delays are one-way and in ms; rates count
IP packets of 1,500 bytes. `configs/scenarios/` has examples, and `configs/topologies.py` makes others:
`dumbbell([0, 15, 40])`, `parking_lot(12)`, `two_paths()`.

LeoGym reads this and all other YAML files, and the values of `--set`, as YAML 1.2:

- `010` is 10, `0o10` is 8, `1e5` is a number. `1:30`, `yes`, `on` and `2026-01-02` are texts; `true` and
  `false` are the only truth values.
- A key that is given twice is an error, which names both lines. Keys are texts: write `"1": x`, not `1: x`.
- An alias (`*name`) is a copy of what its anchor (`&name`) marks. A merge key (`<<: *name`) adds the keys
  that its mapping lacks. Other extensions of YAML 1.1, such as `!!set`, are errors.
- A file holds one document in UTF-8, of at most 8 MiB, 200,000 values with aliases expanded, and 64 levels.
"""


def page() -> str:
    """Return the reference as Markdown."""
    parts = [PREFACE]
    for model, place in TOPICS.items():
        docs = _docstrings(model)
        rows = [
            f"| `{name}` | {_kind(field)} | {_default(field)} | {docs.get(name, '')} |"
            for name, field in model.model_fields.items()
        ]
        about = " ".join((model.__doc__ or "").split("Raises:")[0].split())
        parts.append(
            f"## {f'`{place}`' if place else 'The file'}\n\n{_markdown(about)}\n\n"
            "| key | type | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
        )
        if model is Queue:
            knobs = [
                f"- `{kind}`: {', '.join(f'`{name}`' for name in names)}"
                for kind, names in KNOBS.items()
                if names
            ]
            parts.append("Beside its size, a discipline has these knobs:\n\n" + "\n".join(knobs) + "\n")
    return "\n".join(parts)


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring that follows each of a model's fields."""
    [body] = [node for node in ast.parse(inspect.getsource(model)).body if isinstance(node, ast.ClassDef)]
    found = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match text:
                case ast.Expr(ast.Constant(str(words))):
                    found[field.target.id] = _markdown(" ".join(words.split()))
    return found


def _markdown(text: str) -> str:
    return re.sub(r"`+([^`]+)`+", r"`\1`", text).replace("|", "\\|")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    match value:
        case None:
            return "–"
        case BaseModel():
            return "its defaults"
        case bool():
            return f"`{str(value).lower()}`"
        case []:
            return "none"
    return f"`{value}`"


def _kind(field: FieldInfo) -> str:
    """Return a field's type and range in words."""
    return _of(field.annotation, field.metadata)


def _of(annotation: Any, metadata: list[Any]) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        inner = [part for info in arguments[1:] for part in getattr(info, "metadata", [info])]
        return _of(arguments[0], [*metadata, *inner])
    if origin in (types.UnionType, typing.Union):
        return " or ".join(_of(one, metadata) for one in arguments if one is not type(None))
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin is list:
        return f"list of {_of(arguments[0], [])}"
    if origin is dict:
        return f"mapping of names to {_of(arguments[1], [])}"
    if origin is tuple:
        return f"{len(arguments)} of {_of(arguments[0], [])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[`{TOPICS[annotation]}`](#{re.sub(r'[^a-z_-]', '', TOPICS[annotation].lower())})"
    names: dict[Any, str] = {float: "number", int: "integer", str: "text", bool: "`true`, `false`"}
    return names[annotation] + _range(metadata)


def _range(metadata: list[Any]) -> str:
    ranges = [rule for rule in metadata if isinstance(rule, Range)]
    signs = ((">", "gt"), ("≥", "ge"), ("<", "lt"), ("≤", "le"))
    bounds = [
        f"{sign} {shown(bound)}"
        for one in ranges
        for sign, name in signs
        if (bound := getattr(one, name)) is not None
    ]
    return f" {', '.join(bounds)}" if bounds else ""


if __name__ == "__main__":
    write_atomically(Path(sys.argv[1]), page().encode())
