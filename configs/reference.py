"""Writes a scenario's reference and the core's structs from its schema: ``python -m configs.reference``."""

from pathlib import Path

from leogym.common.atomic import write_atomically
from leogym.configs import core_structs, key_table, schema
from leogym.configs.queue import KNOBS, Queue

PREFACE = """# The scenario file

`python -m configs.reference` writes this page from the schema (`configs/scenario.py`, `configs/queue.py`).

A scenario is one YAML file with links and flows, the same for every backend. Unknown keys and loose
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
    places = {part.model: part.place for part in schema.parts().values()}
    for model, place in places.items():
        heading = f"## {f'`{place}`' if place else 'The file'}"
        sections.append(key_table.section(model, heading, places))
        if model is Queue:
            knobs = [
                f"- `{kind}`: {', '.join(f'`{name}`' for name in names)}"
                for kind, names in KNOBS.items()
                if names
            ]
            sections.append("Beside its size, a discipline has these knobs:\n\n" + "\n".join(knobs) + "\n")
    return "\n".join(sections)


def main(root: Path) -> None:
    """Write both files."""
    write_atomically(root / "docs/scenario.md", page().encode())
    write_atomically(root / core_structs.FILE, core_structs.text().encode())


if __name__ == "__main__":
    main(Path(__file__).resolve().parents[1])
