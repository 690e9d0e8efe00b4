import re

import pytest

from leogym.configs.scenario import parse
from leogym.evaluation.fidelity import golden
from leogym.evaluation.fidelity.golden import FlowFigures, Golden, GoldenRun

SHIPPED = sorted(golden.FOLDER.glob("*.json"))
RECORDED = {"kernel", "image_sha256", "commit", "date", "command"}


def run_of(scheme, seed, goodput_mbps=9.0):
    scenario = {
        "name": "s",
        "seed": seed,
        "duration_s": 2,
        "links": {"l": {"rate_mbps": 10, "delay_ms": 25}},
        "flows": [{"scheme": scheme, "route": ["l"]}],
    }
    flow = FlowFigures(scheme, goodput_mbps, 60.0, 80.0, 50.0, 0.01, 0.5, [10, 20])
    return GoldenRun("suite", scheme, parse(scenario, "s"), [flow])


def provenance(commit):
    return {
        "kernel": "6.1",
        "image_sha256": "00",
        "commit": commit,
        "date": "2026-11-21",
        "command": "python",
    }


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_golden_file_is_byte_for_byte_what_the_recorder_writes(path, tmp_path):
    golden.write(tmp_path / "again.json", golden.read(path))
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_golden_file_says_by_which_kernel_commit_and_command_it_was_recorded(path):
    told = golden.read(path).provenance
    while told is not None:
        assert set(told) - {"earlier"} == RECORDED
        assert re.fullmatch(r"[0-9a-f]{64}", told["image_sha256"])
        assert re.fullmatch(r"[0-9a-f]{40}", told["commit"])
        assert path.stem in told["command"].split()
        told = told.get("earlier")


def test_what_is_recorded_again_replaces_its_run_and_the_others_stay_with_their_provenance():
    older = Golden(provenance("a"), [run_of("cubic", 1), run_of("reno", 1), run_of("reno", 2)])
    newer = Golden(provenance("b"), [run_of("reno", 1, goodput_mbps=8.0), run_of("bbr", 1)])
    both = golden.renewed(older, newer)
    assert [(run.scheme, run.scenario.seed, run.flows[0].goodput_mbps) for run in both.runs] == [
        ("cubic", 1, 9.0), ("reno", 1, 8.0), ("reno", 2, 9.0), ("bbr", 1, 9.0),
    ]  # fmt: skip
    assert both.provenance == provenance("b") | {"earlier": provenance("a")}


def test_where_all_is_recorded_again_nothing_is_left_of_what_was():
    older = Golden(provenance("a") | {"earlier": provenance("0")}, [run_of("cubic", 1)])
    newer = Golden(provenance("b"), [run_of("cubic", 1), run_of("reno", 1)])
    assert golden.renewed(older, newer) == newer


def test_a_renewed_file_reads_back(tmp_path):
    older = Golden(provenance("a"), [run_of("cubic", 1)])
    both = golden.renewed(older, Golden(provenance("b"), [run_of("reno", 1)]))
    golden.write(tmp_path / "g.json", both)
    assert golden.read(tmp_path / "g.json") == both
