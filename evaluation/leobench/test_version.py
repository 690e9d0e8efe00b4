import json
from collections.abc import Callable
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.evaluation.leobench import __main__ as command
from leogym.evaluation.leobench import freezing, scoring, split, version
from leogym.evaluation.leobench.version import PARTS
from leogym.evaluation.runs import inputs
from leogym.kernel_bridge.lab import image
from tests.support import tiny_benchmark


@pytest.mark.parametrize("name", version.names())
def test_a_version_is_whole(name):
    found = version.load(name)
    assert found.name == name
    assert len(set(found.description.paths)) == len(found.description.paths)
    for suite in found.suites:
        assert set(found.measures(suite.name)) <= set(PARTS)
        assert version.values_of(suite)


def test_the_canonical_runs_of_v1_have_not_moved_and_neither_have_their_paths():
    benchmark = version.load("v1")
    frozen, rule = freezing.read(benchmark), benchmark.description
    suites = split._with_paths(benchmark, rule.paths, {})
    short = tuple(freezing._shortened(suite, rule.behaviour.duration_s) for suite in suites)
    public = split.Split("dev", rule.dev_seed, short, inputs.load_traces(short))
    assert benchmark.files == frozen.files
    assert len(public.traces) > 1
    assert freezing.trace_digests(public).items() <= frozen.traces.items()
    assert freezing.behaviour(benchmark, public) == frozen.behaviour


@pytest.mark.soak  # builds all paths: two minutes
def test_nothing_of_v1_has_moved():
    assert freezing.moved(version.load("v1")) == []


def test_v1_runs_18_paths_and_ten_suites():
    found = version.load("v1")
    assert len(found.description.paths) == 18
    assert {suite.name for suite in found.suites} == {
        *("leo-single", "leo-pair", "responsiveness", "handover", "starlink"),
        *("startup", "fairness", "coexistence", "geo", "static"),
    }


def test_a_frozen_version_tells_what_moved_and_is_never_frozen_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(version, "FOLDER", tmp_path)
    _lab_runs(monkeypatch, "6.1")
    folder = tiny_benchmark.write(tmp_path / "tiny")
    with pytest.raises(InputError, match="tiny: is a draft"):
        command.run(["check", "tiny"])
    assert command.run(["freeze", "tiny"]) == 0
    assert version.load("tiny").status == "frozen"
    assert command.run(["check", "tiny"]) == 0
    with pytest.raises(InputError, match="tiny is frozen: a change needs a new version"):
        command.run(["freeze", "tiny"])

    # A change of the simulator's results: the queue of one suite is larger than its file says.
    original: Callable[..., dict[str, str]] = freezing.behaviour
    two = (folder / "two.yaml").read_text()
    (folder / "two.yaml").write_text(two.replace("bdp: 1.0", "bdp: 2.0"))
    changed = split.dev(version.load("tiny"))
    (folder / "two.yaml").write_text(two)
    monkeypatch.setattr(freezing, "behaviour", lambda found, _: original(found, changed))
    capsys.readouterr()
    assert command.run(["check", "tiny"]) == 1
    assert capsys.readouterr().out == "behaviour: two/20 ms/cubic: moved\n"
    monkeypatch.undo()
    monkeypatch.setattr(version, "FOLDER", tmp_path)

    # A comment changes a file, but no number.
    (folder / "two.yaml").write_text("# a comment\n" + two)
    assert freezing.moved(version.load("tiny")) == ["files: two.yaml: moved"]
    frozen = json.loads((folder / "frozen.json").read_text())
    assert frozen["lab_kernel"] == "6.1"
    assert list(frozen["behaviour"]) == ["alone/sd-ny-isl/cubic", "transfer/30 kB/cubic", "two/20 ms/cubic"]
    assert list(frozen["traces"]) == ["sd-ny-isl"]


def _lab_runs(monkeypatch: pytest.MonkeyPatch, linux: str) -> None:
    monkeypatch.setattr(image, "latest", lambda: image.Image(Path("k"), Path("i"), {"kernel": linux}))


def test_a_lab_with_another_kernel_than_the_frozen_versions_is_told(tmp_path, monkeypatch):
    tiny_benchmark.write(tmp_path)
    found = version.load(tmp_path)
    assert freezing.another_kernel(found) is None
    frozen = freezing.Frozen(files={}, traces={}, behaviour={}, lab_kernel="6.1")
    (tmp_path / version.FROZEN).write_text(frozen.model_dump_json())
    _lab_runs(monkeypatch, "6.1")
    assert freezing.another_kernel(found) is None
    _lab_runs(monkeypatch, "6.12")
    assert freezing.another_kernel(found) == (
        "the lab runs Linux 6.12, tiny was frozen with 6.1: they are not compared"
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("dev_seed: 1", "dev_seed: -1", "version.yaml: dev_seed: "),
        ("1 / delay_inflation", "1 / delay", "alone.yaml: delay: delay is neither a metric nor a value"),
        ("1 / delay_inflation", "__import__('os')", "alone.yaml: delay: .* may contain only numbers"),
        ('{startup: "min(1, 0.1 / completion_s)"}', "{delay: power}", "suites: none measures startup"),
        ("file: two.yaml", "file: alone.yaml", "two are called alone"),
        ("file: two.yaml", "file: two.yaml\n    paths: true", "two.yaml: has no grid key path"),
        ("suite: transfer", "suite: moved", "real.2.suite: moved is no suite of this version"),
        ("suite: transfer", "suite: two", "real: two samples are of two"),
        ("rtt_ms: [40]", "rtt_ms: [41]", "real.1.grid.rtt_ms: two has not all of these values"),
        ("{suite: alone,", "{suite: alone, spread: [0],", "real.0.spread: alone has 0 cases"),
    ],
)
def test_a_wrong_version_is_refused_by_file_field_and_rule(tmp_path, old, new, told):
    folder = tiny_benchmark.write(tmp_path)
    text = (folder / "version.yaml").read_text()
    (folder / "version.yaml").write_text(text.replace(old, new))
    with pytest.raises(InputError, match=told):
        version.load(folder)


def test_the_score_is_the_geometric_mean_of_parts_that_weigh_suites_equally():
    values = {
        "efficiency": {"a": [0.9, 0.9, 0.9, 0.1], "b": [0.5]},
        "robustness": {"a": [0.9, 0.9, 0.9, 0.1]},
    }
    found = scoring.parts(values)
    assert found["efficiency"].mean == pytest.approx((0.9 + 0.5) / 2)
    assert found["robustness"].mean == pytest.approx(0.1)
    assert scoring.score(values).mean == pytest.approx(100 * (0.7 * 0.1) ** 0.5)
    assert scoring.suites(values)["b"] == {"efficiency": 0.5}
    nothing = {**values, "fairness": {"a": [0.0, 0.0]}}
    assert scoring.score(nothing).mean == 0.0


def test_a_run_counts_its_flows_mean_and_nothing_where_a_metric_is_undefined():
    rows = [{"goodput_ratio": 0.5, "completion_s": 2.0}, {"goodput_ratio": 0.7, "completion_s": None}]
    measures = {"fairness": "goodput_ratio", "startup": "ideal_s / completion_s", "delay": "2 * ideal_s"}
    found = scoring.values_of_run(rows, measures, {"ideal_s": 1.0})
    assert found == {"fairness": pytest.approx(0.6), "startup": 0.0, "delay": 1.0}
    assert scoring.values_of_run(rows[:1], measures, {"ideal_s": 1.0})["startup"] == 0.5
