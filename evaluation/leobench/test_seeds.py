import pytest

from leogym.common.errors import InputError
from leogym.evaluation.leobench import __main__ as command
from leogym.evaluation.leobench import seeds, version
from leogym.evaluation.leobench.result import Estimate
from leogym.evaluation.leobench.seeds import Meeting
from tests.support import tiny_benchmark


def estimate(value: float, width: float = 1.0) -> Estimate:
    return Estimate(value=value, low=value - width, high=value + width, runs=9)


def test_the_verdict_counts_who_is_ahead_and_overlapping_intervals():
    found = [
        Meeting(1, estimate(50), estimate(60)),
        Meeting(2, estimate(50), estimate(51)),
        Meeting(3, estimate(50), estimate(47)),
    ]
    assert [one.tie for one in found] == [False, True, False]
    assert seeds.verdict(found, ("a", "b")) == "b is ahead on 2 of 3 seeds; the intervals overlap on 1"
    assert seeds.verdict(found[2:], ("a", "b")) == "a is ahead on 1 of 1 seeds; the intervals overlap on 0"
    assert seeds.line(found[1], ("a", "b")) == "| 2 | 50.0 [49.0 – 51.0] | 51.0 [50.0 – 52.0] | b (tie) |"


def test_two_entries_meet_on_each_seed_and_a_second_call_judges_nothing_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(version, "FOLDER", tmp_path / "versions")
    tiny_benchmark.write(tmp_path / "versions/tiny")
    line = ["seeds", "cubic", "astraea", "--version", "tiny", "--seeds", "2", "--first", "5"]
    out = tmp_path / "out"
    assert command.run([*line, "--out", str(out)]) == 0
    first = capsys.readouterr().out
    assert [row.split(" | ")[0] for row in first.splitlines()[2:4]] == ["| 5", "| 6"]
    assert first.splitlines()[-1].startswith(("cubic is ahead on", "astraea is ahead on"))
    files = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    assert sorted(path.name for path in files) == [
        f"tiny--judge-{seed}--{name}.json" for seed in (5, 6) for name in ("astraea", "cubic")
    ]
    assert command.run([*line, "--out", str(out)]) == 0
    assert capsys.readouterr().out == first
    assert {path: path.stat().st_mtime_ns for path in out.iterdir()} == files


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["cubic", "cubic"], "cubic: two entries have this name"),
        (["cubic", "all"], "ENTRY: all: not a scheme"),
        (["cubic", "reno", "--seeds", "0"], "--seeds, --first: must be from 1 to 1000"),
    ],
)
def test_a_wrong_comparison_is_answered_in_one_line(given, told):
    with pytest.raises(InputError, match=told):
        command.run(["seeds", *given])
