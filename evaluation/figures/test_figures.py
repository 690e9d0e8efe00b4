from pathlib import Path
from typing import Any

import polars as pl
import pytest

from leogym.configs import suite as suites
from leogym.evaluation.figures import boxes, cdf, completion, curve, distribution, efficiency, fairness
from leogym.evaluation.recorded.results import Results
from tests.support.sample_results import sample_results


def transfers(name: str, seconds: dict[str, float | None]) -> Results:
    """Return a transfer of each size by each scheme, which takes ``seconds`` per MB; None: it does not
    end."""
    suite = suites.load(name)
    rows: list[dict[str, Any]] = []
    for scheme, rate in seconds.items():
        for case in suite.cases(scheme):
            size = case.scenario.flows[0].transfer_bytes
            done = None if rate is None else rate * (size or 0) / 1e6
            row = {"suite": name, "scenario": case.scenario.name, "scheme": scheme, "run_scheme": scheme}
            rows.append(row | {"transfer_bytes": size, "completion_s": done})
    config = {"suites": [suite.model_dump(mode="json")], "schemes": dict.fromkeys(seconds), "scenarios": {}}
    found = Results(Path(), {"config": config}, pl.DataFrame(rows))
    found.__dict__["summary"] = found.runs
    return found


def test_completion_time_is_drawn_against_size_for_every_scheme_that_ended():
    results = transfers("starlink-short", {"cubic": 1.0, "bbr": 0.5, "vegas": None})
    [panel] = completion.panels(results, results.suites[0])
    assert "cubic 0.10 s at 100 KiB, 102.40 s at 100,000 KiB; bbr 0.05 s" in panel.label
    assert "vegas" not in panel.label
    [axes] = panel.figure.axes
    # For each scheme, its transfers and its medians.
    assert [len(line.get_xdata()) for line in axes.lines] == [18, 16, 18, 16]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return sample_results(tmp_path_factory.mktemp("figures"), ["leo-pair"], ["cubic", "astraea"], 1)


def test_a_box_has_a_value_for_each_flow_and_repeat(results):
    [suite] = results.suites
    panels = list(boxes.panels(results, suite))
    assert len(panels) == 2 * len(results.scenarios(suite.name))
    scenario = results.scenarios(suite.name)[0]
    mine = results.runs.filter((pl.col("scenario") == scenario) & (pl.col("scheme") == "cubic"))
    assert len(mine) == 2
    assert f"cubic {mine['goodput_mbps'].median():.4g}" in panels[0].label
    assert {panel.row for panel in panels[:2]} == {scenario}


def test_boxes_of_a_suite_with_workloads_show_what_users_feel_and_a_call_beside_each_scheme():
    suite = suites.load("qoe")
    [video, *_, call] = [case.scenario.name for case in suite.cases("cubic")]
    row = {"suite": "qoe", "run_scheme": "cubic", "qoe": None, "page_load_s": None, "delay_p95_ms": None}
    rows = [
        row | {"scenario": video, "scheme": "cubic", "workload": "video", "qoe": 3.5},
        row | {"scenario": call, "scheme": "gcc", "workload": "call", "delay_p95_ms": 70.0},
        row | {"scenario": call, "scheme": "cubic", "workload": None},
    ]
    config = {"suites": [suite.model_dump(mode="json")], "schemes": {"cubic": {}}, "scenarios": {}}
    found = Results(Path(), {"config": config}, pl.DataFrame(rows))
    found.__dict__["schemes"] = ["cubic"]
    labels = [panel.label for panel in boxes.panels(found, suite)]
    assert sorted(labels) == [
        f"{call}: median delay of a call, 95 % of flows: cubic 70",
        f"{video}: median quality of experience of flows: cubic 3.5",
    ]


def sized(name: str, **changes: Any) -> Results:
    """Return a suite's completion times: a second for each scenario, of one scheme."""
    suite = suites.load(name).model_copy(update=changes)
    means = [
        {"suite": name, "scenario": case.scenario.name, "scheme": "cubic", "metric": suite.headline[0]}
        | {"mean": 1.0, "ci_low": None, "ci_high": None, "n": 1}
        for case in suite.cases("cubic")
    ]
    config = {"suites": [suite.model_dump(mode="json")], "schemes": {"cubic": ""}, "scenarios": {}}
    results = Results(Path(), {"config": config}, pl.DataFrame(means))
    results.__dict__["summary"] = pl.DataFrame(means)
    return results


def test_a_curves_axes_and_title_have_quantities_with_units():
    results = sized("latency-jump", headline=["completion_s"])
    first, _ = curve.panels(results, results.suites[0])
    [axes] = first.figure.axes
    labels = (axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale())
    assert labels == ("jump 4,020 s", "before (s)", "Completion time (s)", "linear")
    assert first.name == "latency-jump-jump_s-4020--curve"
    assert curve.quantity("size_mb") == ("size", "MB")
    assert curve.quantity("flows") == ("flows", "")
    assert curve.quantity("buffer_bdp") == ("buffer", "BDP")
    assert curve.quantity("rtt_ms") == ("RTT", "ms")


def test_a_curve_over_two_decades_is_logarithmic_with_a_tick_for_zero():
    results = sized("startup-size")
    for panel in curve.panels(results, results.suites[0]):
        assert panel.figure.axes[0].get_xscale() == "log"
        assert list(panel.figure.axes[0].get_xticks()) == [100, 500, 2000, 5000, 20000]
    grid = {"size_kb": [0, 100, 20000]}
    results = sized("startup-size", grid=grid, derived={"size_bytes": "1000 * size_kb + 1"})
    [axes] = next(curve.panels(results, results.suites[0])).figure.axes
    assert axes.get_xscale() == "symlog"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "100", "20,000"]


def test_a_distribution_rises_from_none_to_all_of_the_time(results):
    [suite] = results.suites
    goodput, rtt, *_ = distribution.panels(results, suite)
    assert "median goodput (Mbit/s): cubic" in goodput.label
    for panel in (goodput, rtt):
        for line in panel.figure.axes[0].lines:
            shares = list(line.get_ydata())  # type: ignore[arg-type]
            assert shares == sorted(shares)
            assert (shares[0], shares[-1]) == (0.0, 1.0)


def test_dots_of_mixes_are_in_the_order_of_the_runs():
    suite = suites.load("geo-compete")
    mixes = [f"cubic+{other}" for other in ("bbr", "reno", "vegas", "yeah", "veno", "htcp", "bic")]
    rows = [
        {
            "suite": suite.name,
            "scenario": "one",
            "scheme": "cubic",
            "run_id": mix,
            "repeat": repeat,
            "jain": jain,
        }
        for jain, (mix, repeat) in enumerate((mix, repeat) for mix in mixes for repeat in (0, 1))
    ]
    dots = fairness._runs(Results(Path(), {}, pl.DataFrame(rows)), suite, "one", "cubic", "jain")
    assert dots == [*range(0, 14, 2), *range(1, 14, 2)]


def test_a_cdf_has_a_step_for_each_run_and_the_path_of_each_repeat():
    suite = suites.load("responsiveness")
    rows = [
        {"suite": suite.name, "scenario": "steps", "scheme": scheme, "run_scheme": scheme}
        | {"repeat": repeat, "rtt_mean_ms": 60.0}
        | {"goodput_mbps": share * capacity, "normalized_goodput": share, "base_rtt_mean_ms": 50.0 + repeat}
        for scheme, share in (("starved", 0.0), ("cubic", 0.9), ("bbr3", 0.5))
        for repeat, capacity in enumerate((80.0, 60.0, 70.0))
    ]
    config = {
        "suites": [suite.model_dump(mode="json")],
        "schemes": {"starved": "", "cubic": "", "bbr3": ""},
        "scenarios": {},
    }
    results = Results(Path(), {"config": config}, pl.DataFrame(rows))
    results.__dict__["summary"] = results.runs
    goodput, rtt = cdf.panels(results, suite)
    assert goodput.label == "steps: median of mean goodput (Mbit/s) over runs: starved 0; cubic 63; bbr3 35"
    lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in goodput.figure.axes[0].lines]  # type: ignore[arg-type]
    thirds = pytest.approx([1 / 3, 2 / 3, 1.0])
    assert lines == [
        ([0.0, 0.0, 0.0], thirds),
        (pytest.approx([54.0, 63.0, 72.0]), thirds),
        (pytest.approx([30.0, 35.0, 40.0]), thirds),
        (pytest.approx([60.0, 70.0, 80.0]), thirds),
    ]
    assert list(rtt.figure.axes[0].lines[-1].get_xdata()) == [50.0, 51.0, 52.0]  # type: ignore[arg-type]


def test_efficiency_has_a_mark_where_utilization_and_evenness_of_a_scheme_meet(results):
    [suite] = results.suites
    panels = list(efficiency.panels(results, suite))
    assert len(panels) == len(results.scenarios(suite.name))
    scenario = results.scenarios(suite.name)[0]
    rows = [results.interval(suite.name, scenario, "cubic", metric) for metric in ("jain", "utilization")]
    jain, used = (row["mean"] for row in rows if row is not None)
    assert f"cubic {used:.2f} at {jain:.2f}" in panels[0].label
    # The mark, then the ends of its intervals.
    mark = panels[0].figure.axes[0].lines[1]
    assert (list(mark.get_xdata()), list(mark.get_ydata())) == ([jain], [used])  # type: ignore[arg-type]
