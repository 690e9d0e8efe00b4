"""Writes a scenario's reference and the core's structs from its schema: ``python -m configs.reference``."""

import re
from pathlib import Path

from leogym.common.atomic import write_atomically
from leogym.common.strict import shown
from leogym.configs import core_structs, schema
from leogym.configs.queue import KNOBS
from leogym.configs.schema import Node

PARTS = schema.parts()

PREFACE = """# The scenario file

`python -m configs.reference` writes this page from the schema (`configs/scenario.py`, `configs/queue.py`).

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
    sections = [PREFACE]
    for name, part in PARTS.items():
        rows = [
            f"| `{field}` | {_kind(node)} | {_default(node)} | {_markdown(node['description'])} |"
            for field, node in part.fields.items()
        ]
        about = " ".join((part.model.__doc__ or "").split("Raises:")[0].split())
        sections.append(
            f"## {f'`{part.place}`' if part.place else 'The file'}\n\n{_markdown(about)}\n\n"
            "| key | type | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
        )
        if name == "Queue":
            knobs = [
                f"- `{kind}`: {', '.join(f'`{name}`' for name in names)}"
                for kind, names in KNOBS.items()
                if names
            ]
            sections.append("Beside its size, a discipline has these knobs:\n\n" + "\n".join(knobs) + "\n")
    return "\n".join(sections)


def _markdown(text: str) -> str:
    return re.sub(r"`+([^`]+)`+", r"`\1`", text).replace("|", "\\|")


def _default(node: Node) -> str:
    if node["required"]:
        return "required"
    match node.get("default", node):
        case None:
            return "–"
        case {}:
            return "its defaults" if "$ref" in node else "none"
        case bool(value):
            return f"`{str(value).lower()}`"
        case value:
            return f"`{value}`"


def _kind(node: Node) -> str:
    """Return a field's type and range in words."""
    first, *more = schema.options(node)
    if first is not node:
        return " or ".join(map(_kind, (first, *more)))
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"])
    if "$ref" in node:
        place = PARTS[node["$ref"].rpartition("/")[2]].place
        return f"[`{place}`](#{re.sub(r'[^a-z_-]', '', place.lower())})"
    match node["type"]:
        case "array" if "prefixItems" in node:
            return f"{node['maxItems']} of {_kind(node['prefixItems'][0])}"
        case "array":
            return f"list of {_kind(node['items'])}"
        case "object":
            return f"mapping of names to {_kind(node['additionalProperties'])}"
    words = {"string": "text", "boolean": "`true`, `false`", "integer": "integer", "number": "number"}
    return words[node["type"]] + _range(node)


def _range(node: Node) -> str:
    range_ = schema.limits(node)
    signs = ((">", "gt"), ("≥", "ge"), ("<", "lt"), ("≤", "le"))
    bounds = [
        f"{sign} {shown(bound)}" for sign, name in signs if (bound := getattr(range_, name, None)) is not None
    ]
    return f" {', '.join(bounds)}" if bounds else ""


def main(root: Path) -> None:
    """Write both files."""
    write_atomically(root / "docs/scenario.md", page().encode())
    write_atomically(root / core_structs.FILE, core_structs.text().encode())


if __name__ == "__main__":
    main(Path(__file__).resolve().parents[1])
