"""The tier of a real kernel: the same runs on Linux in virtual time and in the simulator."""

import json
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.evaluation import cli
from leogym.evaluation.entries import confinement
from leogym.evaluation.leobench import split, version
from leogym.evaluation.leobench.result import read
from leogym.evaluation.leobench.version import PARTS
from leogym.kernel_bridge.lab import image, links, served_in_guest
from tests.support import tiny_benchmark

LACK = links.missing() or served_in_guest.missing(image.latest())
DOCS = Path(__file__).resolve().parents[2] / "docs/leobench"


@pytest.fixture(autouse=True)
def _tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "FOLDER", tmp_path / "versions")
    tiny_benchmark.write(tmp_path / "versions/tiny")


def test_the_fixed_part_has_the_scenarios_seeds_and_phases_of_dev_in_less_time():
    tiny = version.load("tiny")
    whole, part = split.dev(tiny), split.sample(tiny)
    assert [one.name for one in part.suites] == ["alone", "two", "transfer"]
    assert {one.repeats for one in part.suites} == {1}
    assert {one.parameters["duration_s"] for one in part.suites} == {2}
    assert part.suites[1].grid == {"rtt_ms": [40]}
    assert (part.name, part.seed) == (whole.name, whole.seed)
    assert part.traces == whole.traces


@pytest.mark.skipif(LACK is not None, reason=LACK or "")
def test_a_scheme_is_judged_on_the_labs_kernel_beside_the_simulator(tmp_path, capsys):
    line = ["leobench", "cubic", "--version", "tiny", "--backend", "lab", "--out", str(tmp_path)]
    assert cli.run(line) == 0
    found = read(tmp_path / "tiny--dev--lab--cubic.json")
    assert found.judged.tier == "lab"
    assert found.judged.kernel == image.latest().linux
    assert found.failures == 0
    assert [one.suite for one in found.runs] == ["alone", "two", "transfer"]
    assert found.simulated is not None
    assert set(found.simulated.parts) == set(found.parts) == set(PARTS)
    for run in found.runs:
        assert run.simulated is not None
        for part, value in run.values.items():
            assert value == pytest.approx(run.simulated[part], abs=0.25), (run, part)
    assert found.circumstances.tier_version is not None
    told = capsys.readouterr().out
    assert " of 100 on tiny draft, dev on lab (" in told
    assert "; the simulator: " in told
    # The guest repeats itself bit for bit, and a result that it would give again is kept.
    first = json.loads((tmp_path / "tiny--dev--lab--cubic.json").read_text())
    assert cli.run([*line, "--keep"]) == 0
    assert "(kept)" in capsys.readouterr().out
    assert cli.run(line) == 0
    again = json.loads((tmp_path / "tiny--dev--lab--cubic.json").read_text())
    del first["circumstances"], again["circumstances"]
    assert again == first


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["cubic", "--split", "judge", "--seed", "1"], "--backend lab: runs a part of dev, not of judge"),
        (["oracle"], "ENTRY: oracle: not a scheme that this backend runs, but the simulator does"),
        (["cubic", "--backend", "moon"], "invalid choice: 'moon'"),
    ],
)
def test_what_a_tier_does_not_run_is_told_in_one_line(tmp_path, given, told):
    line = ["leobench", "--version", "tiny", "--out", str(tmp_path), "--backend", "lab"]
    with pytest.raises(InputError, match=told) as caught:
        cli.run([*line, *given])
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(confinement.missing() is not None, reason=str(confinement.missing()))
def test_a_program_runs_in_the_simulator_only(tmp_path, monkeypatch):
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path))  # without an image of the lab
    line = ["leobench", f"{DOCS}/careful.py:Careful", "--version", "tiny", "--backend", "lab"]
    with pytest.raises(InputError, match="careful: only --backend simulator runs a program"):
        cli.run([*line, "--out", str(tmp_path)])
