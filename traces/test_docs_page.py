"""The page on path traces has the tables of the schema and of the formats, and its example is built."""

import re
import shlex
import sys
import types
import typing
from pathlib import Path

import pytest

from leogym.common.errors import reports_input_errors
from leogym.common.strict import Range, shown
from leogym.traces.__main__ import main
from leogym.traces.formats.registry import FORMATS
from leogym.traces.orbit.constellation import Constellation, Shell

PAGE = (Path(__file__).resolve().parents[1] / "docs/paths.md").read_text(encoding="utf-8")
TYPES = {float: "number", int: "integer", str: "text", list[Shell]: "list of shells"}


def _kind(annotation, metadata):
    if typing.get_origin(annotation) is typing.Annotated:
        return _kind(annotation.__origin__, annotation.__metadata__)
    if typing.get_origin(annotation) is typing.Literal:
        return ", ".join(f"`{value}`" for value in typing.get_args(annotation))
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        kinds = typing.get_args(annotation)
        return " or ".join(_kind(kind, metadata) for kind in kinds if kind is not type(None))
    signs = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
    bounds = [
        f"{sign} {shown(getattr(rule, name))}"
        for rule in metadata
        if isinstance(rule, Range)
        for name, sign in signs.items()
        if getattr(rule, name) is not None
    ]
    return f"{TYPES[annotation]} {', '.join(bounds)}".strip()


def _default(name, field):
    if name in ("name", "source"):
        return "the file's name"  # `constellation.load` sets both
    if field.is_required():
        return "required"
    return "–" if field.default in (None, []) else f"`{field.default}`"


def keys(model):
    rows = []
    for name, field in model.model_fields.items():
        meaning = re.sub(r"`+([^`]+)`+", r"`\1`", " ".join(field.description.split()))
        rows.append(
            f"| `{name}` | {_kind(field.annotation, field.metadata)} | {_default(name, field)} | {meaning} |"
        )
    return "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows, ""])


def formats():
    rows = []
    for name, form in FORMATS.items():
        directions = ["import"] * (form.read is not None) + ["export"] * (form.write is not None)
        options = ", ".join(f"`--{option.replace('_', '-')}`" for option in form.options)
        suffixes = ", ".join(form.suffixes)
        rows.append(f"| `{name}` | {' and '.join(directions)} | {form.help} | {suffixes} | {options} |")
    head = "| format | | what it holds | suffixes | options of `import` |"
    return "\n".join([head, "|---|---|---|---|---|", *rows, ""])


@pytest.mark.parametrize(
    "table", [keys(Constellation), keys(Shell), formats()], ids=["file", "shell", "formats"]
)
def test_the_page_has_the_table(table):
    assert table in PAGE, f"docs/paths.md must have this table:\n{table}"


def test_the_smallest_constellation_is_built_by_the_pages_command(monkeypatch, capsys, tmp_path):
    section = PAGE.split("## Your own constellation")[1]
    (tmp_path / "mine.yaml").write_text(section.split("```yaml\n")[1].split("```")[0])
    [command] = re.findall(r"^    leogym (traces build .*)$", section.split("\n## ")[0], flags=re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    assert reports_input_errors(main)() == 0
    assert capsys.readouterr().out.startswith("path.csv: ")
