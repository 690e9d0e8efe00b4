"""A search on a tiny version: the same winner however it is run, and a policy that all take."""

import json
from pathlib import Path

import pytest

from leogym.agents.search.test_grammar import SMALL, written
from leogym.commands import agents
from leogym.common.errors import InputError
from leogym.evaluation.leobench import entering, judging, searching, split, version
from leogym.evaluation.runs.schemes import Contestants
from tests.support import tiny_benchmark


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(version, "FOLDER", tmp_path / "versions")
    tiny_benchmark.write(tmp_path / "versions/tiny")
    return written(tmp_path, SMALL)


def search(program: Path, out: Path, generations: int, *more: str) -> dict[str, bytes]:
    line = ["search", str(program), "--version", "tiny", "--generations", str(generations), "--runs", "1"]
    assert agents.run([*line, "--population", "4", "--out", str(out), *more]) == 0
    names = ("policy/policy.onnx", "program.yaml")
    return {name: (out / name).read_bytes() for name in names}


def test_a_search_that_is_resumed_finds_what_one_in_a_piece_does(program, tmp_path, capsys):
    whole = search(program, tmp_path / "whole", 3, "--jobs", "1")
    search(program, tmp_path / "parts", 1, "--jobs", "2")
    assert search(program, tmp_path / "parts", 3, "--resume") == whole
    told = capsys.readouterr().out
    assert "12 operations" in told
    assert "generation 3: mean " in told
    rows = (tmp_path / "parts/progress.csv").read_text().splitlines()
    assert [row.split(",")[1] for row in rows[1:]] == ["1", "2", "3"]
    # The better of start and last generation, as judged on dev, is a policy like any other.
    tiny = version.load("tiny")
    summary = json.loads((tmp_path / "whole/summary.json").read_text())
    entries = [entering.entrant(f"mine={tmp_path / 'whole'}", tiny)]
    [mine] = judging.judge(entries, tiny, split.dev(tiny), 1)
    assert mine.result.score.value == pytest.approx(max(summary["dev"].values()))
    assert summary["dev"].keys() == {"start", "found"}


@pytest.mark.slow
@pytest.mark.local_ray
@pytest.mark.xdist_group("ray")
def test_a_search_on_a_cluster_finds_what_one_here_does(program, tmp_path):
    here = search(program, tmp_path / "here", 2)
    assert search(program, tmp_path / "there", 2, "--ray", "local") == here


def test_candidates_that_are_not_fit_are_not_run(program, tmp_path):
    unfit = program.read_text().replace("0 * wide", "wide / (1 - wide)").replace("x[0] > 0.5 and not", "not")
    program.write_text(unfit)
    line = ["search", str(program), "--version", "tiny", "--generations", "1", "--population", "4"]
    with pytest.raises(InputError, match="an action is not finite"):
        agents.run([*line, "--out", str(tmp_path / "out")])


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--population", "3"], "--population: must be at least 4"),
        (["--decision-us", "0.0001"], "a decision takes .* us, at most 0.0001 may"),
        (["--resume"], "config.yaml: no run to resume here"),
        (["--version", "v0"], "v0: no such version"),
    ],
)
def test_a_wrong_search_is_answered_in_one_line(program, tmp_path, more, told):
    line = ["search", str(program), "--version", "tiny", "--out", str(tmp_path / "out")]
    with pytest.raises(InputError, match=told) as caught:
        agents.run([*line, *more])
    assert "\n" not in str(caught.value)


def test_all_candidates_of_a_generation_meet_the_same_runs_and_each_generation_others(program):
    tiny = version.load("tiny")
    public = split.dev(tiny)
    runs = judging.planned(tiny, public, Contestants(["cubic", "reno"], {}))
    chosen = searching.chosen(runs, 1, 1, 0)
    assert [one.suite for one in chosen if one.scheme == "cubic"] == ["alone", "two", "transfer"]
    met = {
        scheme: [(one.scenario.name, one.repeat) for one in chosen if one.scheme == scheme]
        for scheme in ("cubic", "reno")
    }
    assert met["cubic"] == met["reno"]
    others = [
        [(one.scenario.name, one.repeat) for one in searching.chosen(runs, 1, 1, at)] for at in range(9)
    ]
    assert len({str(one) for one in others}) > 1


def test_a_part_that_is_zero_does_not_hide_the_others():
    assert searching.worth({"delay": {"a": [0.5, 0.7]}, "fairness": {"a": [0.0]}}) == pytest.approx(
        100 * (0.6 * 0.01) ** 0.5
    )
