from pathlib import Path

import pytest
import yaml

from leogym.agents.search import grammar
from leogym.common.errors import InputError

PROGRAMS = sorted((Path(grammar.__file__).parent / "programs").glob("*.yaml"))
SMALL = """
agent: astraea+cwnd_ratio
interval_ms: 30
numbers:
  gain: {start: 0.2, deviation: 0.1, low: 0.0, high: 1.0}
memory: [seen]
program: |
  next_seen = max(seen, x[-8])
  wide = 1 if x[0] > 0.5 and not seen < gain else 0
  action = gain * (1.1 - next_seen) + 0 * wide
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "program.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_that_comes_along_is_read(path):
    assert grammar.read(path).operations > 5


def test_a_program_written_with_other_numbers_is_the_same_program(tmp_path):
    one = grammar.read(written(tmp_path, SMALL))
    again = grammar.read(written(tmp_path, grammar.as_yaml(one, {"gain": 0.7})))
    assert again.numbers["gain"].start == 0.7
    assert again.program == one.program
    assert [name for name, _ in again.lines] == ["next_seen", "wide", "action[0]"]
    assert one.operations == 12


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("gain * (1.1", "gian * (1.1", "program: line 3: gian: is not known here .*gain"),
        ("x[-8]", "x[50]", r"program: line 1: x\[50\]: must be from -50 to 49"),
        ("x[-8]", "x[seen]", r"program: line 1: x\[seen\]: must be from -50 to 49"),
        ("x[-8]", "open('a')", r"program: line 1: open\('a'\): is not in the grammar"),
        ("x[-8]", "__import__", "program: line 1: __import__: is not known here"),
        ("max(seen, x[-8])", "seen ** 9", r"program: line 1: seen \*\* 9: is not in the grammar"),
        ("max(seen, x[-8])", "max(seen)", r"program: line 1: max\(seen\): is not in the grammar"),
        ("x[0] > 0.5 and", "x[0] and", r"program: line 2: x\[0\]: must be a comparison"),
        ("  wide =", "  gain =", "program: line 2: gain: is taken"),
        ("  next_seen =", "  next_else =", "program: line 1: next_else: is no memory"),
        ("action = ", "action[1] = ", r"program: line 3: action\[1\]: is no memory, or no number"),
        ("  action = ", "  last = ", r"program: action\[0\]: no line sets it"),
        ("  wide =", "  import os\n  wide =", "program: line 2: must be NAME = EXPRESSION"),
        ("next_seen = max(", "next_seen = max((", "program: .*was never closed"),
        ("0 * wide", " + ".join(["wide"] * 300), "program: has 310 operations, at most 256 may be"),
        ("start: 0.2", "start: 2", "numbers.gain: .*start: must be from low to high"),
        ("astraea+cwnd_ratio", "astrea", "agent: astrea: no such agent"),
        ("memory: [seen]", "memory: [gain]", "gain: is a word of the grammar, or twice there"),
        ("memory: [seen]", "memory: [x]", "x: is a word of the grammar"),
        ("interval_ms: 30", "interval_ms: 0", "interval_ms: must be a number from 0.1"),
    ],
)
def test_what_is_not_in_the_grammar_is_refused_by_line_and_rule(tmp_path, old, new, told):
    assert old in SMALL
    with pytest.raises(InputError, match=told) as caught:
        grammar.read(written(tmp_path, SMALL.replace(old, new)))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_program_is_refused_in_one_line(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        grammar.read(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="extra: unknown key"):
        grammar.read(written(tmp_path, yaml.safe_dump({**yaml.safe_load(SMALL), "extra": 1})))
