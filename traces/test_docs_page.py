"""The page on path traces has the tables of the schema and of the formats, and its example is built."""

import re
from pathlib import Path

import pytest

from leogym.configs import key_table
from leogym.traces.formats.registry import FORMATS
from leogym.traces.orbit.constellation import Constellation, Shell

PAGE = (Path(__file__).resolve().parents[1] / "docs/paths.md").read_text(encoding="utf-8")
LOADED = {"name": "the file's name", "source": "the file's name"}
"""Defaults that `constellation.load` sets."""


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
    "table",
    [
        key_table.table(Constellation, {list[Shell]: "list of shells"}, LOADED),
        key_table.table(Shell, {}),
        formats(),
    ],
    ids=["file", "shell", "formats"],
)
def test_the_page_has_the_table(table):
    assert table in PAGE, f"docs/paths.md must have this table:\n{table}"


def test_the_smallest_constellation_is_built_by_the_pages_command(run_traces, monkeypatch, capsys, tmp_path):
    section = PAGE.split("## Your own constellation")[1]
    (tmp_path / "mine.yaml").write_text(section.split("```yaml\n")[1].split("```")[0])
    [command] = re.findall(r"^    leogym traces (build .*)$", section.split("\n## ")[0], flags=re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    assert run_traces(command) == 0
    assert capsys.readouterr().out.startswith("path.csv: ")
