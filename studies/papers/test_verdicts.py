from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars as pl
import pytest

from leogym.common.errors import InputError
from leogym.configs import suite as suites
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report import page as report
from studies.papers import paper, region, table
from studies.papers.section import make_section
from studies.papers.verdicts import Verdict, verdict, verdicts
from tests.support.sample_results import sample_results

SUITE = suites.parse(
    {
        "name": "made-up",
        "title": "Made up",
        "grid": {"rtt_ms": [20, 40, 60], "bdp": [1, 4]},
        "scenario": {
            "name": "${rtt_ms} ms, $bdp BDP",
            "duration_s": 1,
            "links": {"a": {"rate_mbps": 10, "delay_ms": 5}},
            "flows": [{"scheme": "$scheme", "route": ["a"]}],
        },
    },
    "made-up",
)
TOGETHER = suites.parse(
    {
        **SUITE.model_dump(mode="json"),
        "grid": {"bdp": [1, 4]},
        "spread": [{"load": "one", "rtt_ms": 20}, {"load": "two", "rtt_ms": 40}],
    },
    "together",
)
OF_PAIR: dict[str, Any] = {
    "suite": "leo-pair-leoem",
    "scenarios": {"path": "sd-ny-bp"},
    "schemes": ["cubic"],
}
NOISE = np.array([-0.02, -0.01, 0.0, 0.01, 0.02])


def results(mean: dict[str, Any], repeats: int = 5, suite: suites.Suite = SUITE) -> Results:
    """Return results in which a scheme's goodput is a constant or a function of the suite's values."""
    rows = []
    for scheme, value in mean.items():
        for case in suite.cases(scheme):
            at = value(case.values) if callable(value) else value
            rows += [
                {
                    "suite": "made-up",
                    "scenario": case.scenario.name,
                    "scheme": scheme,
                    "run_scheme": scheme,
                    "backend": "simulator",
                    "repeat": repeat,
                    "run_id": f"{scheme}-{case.scenario.name}-{repeat}",
                    "flow": 0,
                    "goodput_mbps": float(at + NOISE[repeat]),
                    "loss_rate": 0.01,
                    "offset_s": 0.0,
                }
                for repeat in range(repeats)
            ]
    config = {"suites": [suite.model_dump(mode="json")], "scenarios": {}, "schemes": dict.fromkeys(mean, "")}
    return Results(Path("nowhere"), {"config": config}, pl.DataFrame(rows))


def told(found: Results, margin: float = 0.0, **claim: Any) -> Verdict:
    unit = {"unit": "Mbit/s"} if claim["kind"] in ("value", "bound") and "metric" not in claim else {}
    data = {"id": "one", "where": "IV", "says": "So it is.", "suite": "made-up", "metric": "goodput_mbps"}
    about = {"name": "p", "title": "T", "authors": "A", "venue": "V", "margin": margin}
    read = paper.parse({**about, "claims": [data | unit | claim]}, "p")
    return verdict(found, read, read.claims[0], "simulator")


@pytest.mark.parametrize(
    ("value", "tolerance", "outcome"), [(5, 0.1, "agrees"), (5.2, 0.1, "differs"), (5.1, 0.1, "undecided")]
)
def test_a_value_agrees_where_the_intervals_lie_within_its_tolerance(value, tolerance, outcome):
    found = told(results({"a": 5}), kind="value", schemes=["a"], value=value, tolerance=tolerance)
    assert found.outcome == outcome
    assert len(found.ours) == 6
    assert found.ours[0].text.startswith("5.0 [")


def test_a_margin_is_relative_to_the_effect_and_not_to_the_level():
    # 5.2 is 0.2 below a full link: a tenth of that is no tenth of 5.2.
    value = {"kind": "value", "schemes": ["a"], "value": 5.2, "tolerance": 0.0}
    assert told(results({"a": 5.5}), 0.1, **value).outcome == "agrees"
    ours = {"in the paper's place": 5.2, "half as far": 5.27, "a third as far": 5.34, "beyond": 5.5}
    outcomes = [told(results({"a": mean}), 0.1, **value, no_effect=5.4).outcome for mean in ours.values()]
    assert outcomes == ["agrees", "undecided", "differs", "differs"]


def test_an_interval_with_no_effect_in_it_does_not_agree_and_a_reversed_one_differs():
    sides = {"kind": "ratio", "of": {"scheme": "a"}, "to": {"scheme": "b"}}
    for mean, outcome in ((5.1, "agrees"), (5.0, "undecided"), (4.9, "differs")):
        found = told(unequal_noise({"a": mean, "b": 5}), **sides, at_least=1)
        assert found.outcome == outcome
    near = {"value": 0.99, "tolerance": 0.005}
    for mean, outcome in ((4.95, "agrees"), (5.05, "differs")):
        assert told(results({"a": mean, "b": 5}), 0.1, **sides, **near).outcome == outcome


def unequal_noise(mean: dict[str, Any]) -> Results:
    """Return results in which the second scheme's noise is that of the first reversed."""
    found = results(mean)
    second = list(mean)[-1]
    turned = pl.when(pl.col("scheme") == second).then(2 * mean[second] - pl.col("goodput_mbps"))
    return Results(
        found.folder,
        found.description,
        found.runs.with_columns(turned.otherwise(pl.col("goodput_mbps")).alias("goodput_mbps")),
    )


@pytest.mark.parametrize(
    ("claim", "rule"),
    [
        ({"kind": "ratio", "at_least": 0.85}, "reaches 1, no effect"),
        ({"kind": "ratio", "value": 1, "tolerance": 0.1}, "reaches 1, no effect"),
        ({"kind": "ratio", "at_least": 0.85, "little": True}, "little: needs at_least and at_most"),
        ({"kind": "ratio", "at_least": 2, "at_most": 3, "little": True}, "little: does not reach 1"),
        ({"kind": "bound", "metric": "jain", "at_least": 0.9}, "reaches 1, no effect"),
        ({"kind": "value", "metric": "jain", "value": 0.98, "tolerance": 0.05}, "reaches 1, no effect"),
    ],
)
def test_only_a_claim_of_little_effect_has_a_region_that_reaches_no_effect(claim, rule):
    sides = {"of": {"scheme": "a"}, "to": {"scheme": "b"}} if claim["kind"] == "ratio" else {"schemes": ["a"]}
    with pytest.raises(InputError, match=rule):
        told(results({"a": 5, "b": 5}), **sides, **claim)


def test_a_paper_s_margin_widens_a_number_that_is_rounded_more_finely():
    for margin, outcome in ((0.0, "differs"), (0.1, "agrees")):
        found = told(results({"a": 5}), margin, kind="value", schemes=["a"], value=5.2, tolerance=0.05)
        assert found.outcome == outcome


def test_a_share_that_is_shown_in_percent_is_compared_in_percent():
    for value, outcome in ((1, "agrees"), (0.01, "differs")):
        found = told(
            results({"a": 5}),
            kind="value",
            metric="loss_rate",
            unit="%",
            schemes=["a"],
            value=value,
            tolerance=0.01,
        )
        assert found.outcome == outcome


@pytest.mark.parametrize(("at_least", "outcome"), [(4.9, "agrees"), (5.1, "differs"), (5.0, "undecided")])
def test_a_bound_agrees_where_all_intervals_lie_on_its_side(at_least, outcome):
    assert told(results({"a": 5}), kind="bound", schemes=["a"], at_least=at_least).outcome == outcome
    mirrored = {"agrees": "differs", "differs": "agrees"}.get(outcome, outcome)
    assert told(results({"a": 5}), kind="bound", schemes=["a"], at_most=at_least).outcome == mirrored


def with_one_far_off(found: Results) -> Results:
    """Return the results with a goodput of 50 in the last repeat."""
    far = pl.when(pl.col("repeat") == 4).then(50.0).otherwise(pl.col("goodput_mbps"))
    return Results(found.folder, found.description, found.runs.with_columns(far.alias("goodput_mbps")))


def test_a_median_over_repeats_does_not_follow_one_run_and_is_called_so():
    found = with_one_far_off(results({"a": 5}))
    claim = {"kind": "value", "schemes": ["a"], "value": 5, "tolerance": 0.1}
    assert told(found, **claim).ours[0].text.startswith("14.0 [")
    ours = told(found, centre="median", **claim).ours[0]
    assert ours.text.startswith("5.0 [")
    assert ours.label.endswith(", median")


@pytest.mark.parametrize(("b", "outcome"), [(4, "agrees"), (4.999, "agrees"), (6, "differs"), (5, "differs")])
def test_an_order_agrees_where_one_is_above_the_other_in_every_repeat(b, outcome):
    found = told(results({"a": 5, "b": b, "c": 1}), kind="ordering", order=["a", ["b", "c"]])
    assert found.outcome == outcome
    assert len(found.ours) == 18
    if outcome == "differs":
        assert found.why.startswith("of 12: agrees in 6, differs in 6 (a > b, 20 ms, 1 BDP;")


@pytest.mark.parametrize(("value", "outcome"), [(2, "agrees"), (3, "differs"), (2.0105, "undecided")])
def test_a_ratio_is_of_the_same_scenario_and_repeat(value, outcome):
    ours = results({"a": lambda at: at["rtt_ms"], "b": lambda at: at["rtt_ms"] / 2})
    sides = {"of": {"scheme": "a"}, "to": {"scheme": "b"}, "scenarios": {"rtt_ms": 20}}
    found = told(ours, kind="ratio", **sides, value=value, tolerance=0.01)
    assert found.outcome == outcome
    assert [one.label for one in found.ours] == ["a / b, 20 ms, 1 BDP", "a / b, 20 ms, 4 BDP"]


def test_a_ratio_of_scenarios_pairs_those_that_are_otherwise_alike():
    ours = results({"a": lambda at: at["rtt_ms"] * at["bdp"]})
    sides = {"of": {"scenarios": {"bdp": 4}}, "to": {"scenarios": {"bdp": 1}}}
    found = told(ours, kind="ratio", schemes=["a"], **sides, value=4, tolerance=0.1)
    assert (found.outcome, len(found.ours)) == ("agrees", 3)
    mean = told(ours, kind="ratio", schemes=["a"], over="mean", **sides, at_least=4.1)
    assert (mean.outcome, len(mean.ours)) == ("differs", 1)


def test_values_of_a_suite_that_belong_together_are_one_choice():
    ours = results({"a": lambda at: at["rtt_ms"] * at["bdp"]}, suite=TOGETHER)
    sides = {"of": {"scenarios": {"load": "two"}}, "to": {"scenarios": {"load": "one"}}}
    ratio = told(ours, kind="ratio", schemes=["a"], **sides, value=2, tolerance=0.1)
    assert (ratio.outcome, len(ratio.ours)) == ("agrees", 2)
    trend = told(ours, kind="trend", schemes=["a"], along="rtt_ms", direction="rises")
    assert (trend.outcome, [one.interval.mean for one in trend.ours]) == ("agrees", pytest.approx([20, 80]))


@pytest.mark.parametrize(
    ("outcomes", "outcome"),
    [
        (["agrees"] * 4 + ["undecided"], "agrees"),
        (["agrees"] * 3 + ["undecided"], "undecided"),
        (["agrees"] * 19 + ["differs"], "agrees"),
        (["agrees"] * 18 + ["differs"], "differs"),
        (["undecided"] * 3 + ["differs"], "differs"),
    ],
)
def test_chance_is_allowed_one_in_twenty_and_doubt_one_in_five(outcomes, outcome):
    assert region.together(outcomes) == outcome


@pytest.mark.parametrize(("share", "outcome"), [(0.001, "differs"), (0.1, "undecided")])
def test_values_of_no_order_differ_from_one_where_they_are_as_good_as_equal(share, outcome):
    ours = results({"a": 5, "b": 5})
    wobble = pl.when((pl.col("scheme") == "b") & (pl.col("repeat") % 2 == 0)).then(5 * share).otherwise(0.0)
    runs = ours.runs.with_columns(pl.col("goodput_mbps") + wobble - 5 * share / 2 * (pl.col("scheme") == "b"))
    wobbly = Results(Path("nowhere"), ours.description, runs)
    assert told(wobbly, kind="ordering", order=["a", "b"]).outcome == outcome


@pytest.mark.parametrize(
    ("slope", "direction", "outcome"),
    [
        (0.1, "rises", "agrees"),
        (0.1, "falls", "differs"),
        (-0.1, "falls", "agrees"),
        (-0.1, "rises", "differs"),
        (0.1, "flat", "differs"),
        (0.01, "flat", "agrees"),
    ],
)
def test_a_trend_is_the_change_of_the_line_through_the_values(slope, direction, outcome):
    ours = results({"a": lambda at: 5 + slope * at["rtt_ms"]})
    by = {"by": 0.5} if direction == "flat" else {}
    found = told(ours, kind="trend", schemes=["a"], along="rtt_ms", direction=direction, **by)
    assert found.outcome == outcome
    assert [one.interval.mean for one in found.ours] == pytest.approx([40 * slope] * 2)


def test_a_trend_that_noise_covers_is_undecided():
    runs = results({"a": 5}).runs
    turn = pl.when(pl.col("scenario").str.starts_with("60")).then(pl.col("goodput_mbps") * -1 + 10)
    noisy = Results(
        Path("nowhere"),
        results({"a": 5}).description,
        runs.with_columns(turn.otherwise(pl.col("goodput_mbps")).alias("goodput_mbps")),
    )
    assert told(noisy, kind="trend", schemes=["a"], along="rtt_ms", direction="rises").outcome == "undecided"


def test_of_several_scenarios_the_mean_the_highest_or_the_lowest_may_be_meant():
    ours = results({"a": lambda at: at["rtt_ms"]})
    for over, value, where in (
        ("max", 60, "highest, in 60 ms"),
        ("min", 20, "lowest, in 20 ms"),
        ("mean", 40, "mean of 6"),
    ):
        found = told(ours, kind="value", schemes=["a"], over=over, value=value, tolerance=0.1)
        assert found.outcome == "agrees"
        assert where in found.ours[0].label
    chosen = told(
        ours,
        kind="value",
        schemes=["a"],
        scenarios={"rtt_ms": {"at_least": 30, "at_most": 50}, "bdp": [4]},
        value=40,
        tolerance=0.1,
    )
    assert (chosen.outcome, [one.label for one in chosen.ours]) == ("agrees", ["a"])


def test_one_run_decides_nothing():
    found = told(results({"a": 5}, repeats=1), kind="bound", schemes=["a"], at_least=1)
    assert (found.outcome, found.why) == ("undecided", "one run has no interval")
    assert (
        told(results({"a": 5, "b": 1}, repeats=1), kind="ordering", order=["a", "b"]).outcome == "undecided"
    )


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ({"schemes": ["b"]}, "no run of b"),
        ({"schemes": ["sage"]}, "sage's authors' weights did not run"),
        ({"suite": "another"}, "no run of the suite another"),
        ({"scenarios": {"rtt_ms": 30}}, "made-up has no scenario with rtt_ms 30"),
        ({"scenarios": {"rate": 1}}, "made-up has no rate"),
        ({"metric": None, "needs": "a count of frogs"}, "no measure of it: a count of frogs"),
    ],
)
def test_what_is_lacking_is_not_run_and_says_so(claim, why):
    bound = {"kind": "bound", "schemes": ["a"], "at_least": 1, "unit": "Mbit/s"}
    found = told(results({"a": 5}), **(bound | claim))
    assert (found.outcome, found.why, found.ours) == ("not run", why, ())


def test_learned_schemes_are_judged_by_their_authors_weights_only():
    bound = {"kind": "bound", "schemes": ["astraea"], "at_most": 2}
    ours = told(results({"astraea": 1}), **bound)
    assert (ours.outcome, ours.why) == ("not run", "astraea's authors' weights did not run")
    theirs = told(results({"astraea": 5, "astraea-authors": 1}), **bound)
    assert (theirs.outcome, theirs.ours[0].label) == ("agrees", "astraea-authors, 20 ms, 1 BDP")


def test_a_suite_that_was_changed_has_no_claims(tmp_path):
    ours = sample_results(tmp_path, ["leo-single-leoem"], ["cubic"], 2)
    assert verdicts(ours)
    config = ours.description["config"]
    [suite] = config["suites"]
    for change, judged in ({"title": "Another"}, True), ({"fairness_last_s": 10.0}, False):
        other = {**ours.description, "config": {**config, "suites": [{**suite, **change}]}}
        assert bool(verdicts(Results(ours.folder, other, ours.runs))) is judged


def test_a_part_of_a_run_is_read_from_its_series(tmp_path):
    ours = sample_results(tmp_path, ["leo-pair-leoem"], ["cubic"], 3)
    common: dict[str, Any] = {
        "suite": "leo-pair-leoem",
        "scenarios": {"path": "sd-ny-bp"},
        "schemes": ["cubic"],
    }
    common["window_s"] = [30, 60]
    series = pl.read_parquet(tmp_path / "series" / "flows" / "leo-pair-leoem--sd-ny-bp--cubic--0.parquet")
    inside = series.filter((pl.col("time_s") > 30) & (pl.col("time_s") <= 60))
    mbps = inside.group_by("flow").agg(pl.col("goodput_mbps").mean()).sort("flow")["goodput_mbps"].to_list()
    ratio = told(ours, **common, kind="ratio", of={"flows": [1]}, to={"flows": [0]}, at_least=1)
    assert ratio.outcome == "agrees"
    assert ratio.ours[0].interval.mean == pytest.approx(mbps[1] / mbps[0], rel=0.02)
    summed = {"metric": "total_goodput_mbps", "unit": "Mbit/s", "value": sum(mbps), "tolerance": 2}
    assert told(ours, **common, kind="value", **summed).outcome == "agrees"
    for metric in ("rtt_mean_ms", "delay_inflation", "jain", "goodput_ratio"):
        part = {"metric": metric, "window_s": [20, 40]}
        same = told(
            ours, **common, kind="ratio", of=part, to={"metric": metric}, at_least=0.5, at_most=2, little=True
        )
        assert same.outcome == "agrees"
    too_late = {"window_s": [70, 90], "kind": "bound", "at_least": 1, "unit": "Mbit/s"}
    found = told(ours, **common | too_late)
    assert found.outcome == "not run"
    assert found.why == "no goodput_mbps of cubic in leo-pair-leoem, sd-ny-bp from 70 to 90 s"


def test_results_are_compared_with_the_claims_of_their_suites_backend_by_backend(tmp_path):
    ours = sample_results(tmp_path, ["leo-single-leoem"], ["cubic", "reno"], 2)
    found = verdicts(ours)
    assert found
    assert {one.claim.suite for one in found} == {"leo-single-leoem"}
    both = Results(
        ours.folder, ours.description, pl.concat([ours.runs, ours.runs.with_columns(backend=pl.lit("lab"))])
    )
    of_cubic = [one.backend for one in verdicts(both) if one.claim.id == "single.cubic-sd-ny-bp"]
    assert of_cubic == ["lab", "simulator"]


def test_claims_csv_and_the_report_show_claim_paper_ours_verdict_and_reason(tmp_path):
    page = report.write(
        sample_results(tmp_path, ["leo-single-leoem"], ["cubic", "satcp"], 3), make_section
    ).read_text()
    rows = pl.read_csv(tmp_path / "claims.csv")
    assert rows.columns == list(pandas.read_csv(tmp_path / "claims.csv").columns) == list(table.SCHEMA)
    assert set(rows["verdict"]) <= {"agrees", "differs", "undecided", "not run"}
    [row] = rows.filter(pl.col("claim") == "single.cubic-inflation").rows(named=True)
    assert row["stated"] == "2.11 ×"
    assert row["verdict"] == "differs"
    assert row["ci_low"] <= row["mean"] <= row["ci_high"]
    section = page[page.index('<section id="leo-single-leoem"') : page.index('<section id="papers">')]
    assert section[section.index("claims") :].count('<tr class="row">') == len(rows)
    assert "Cubic inflates delay by up to 2.11 times." in section
    assert 'href="#papers"' in page
    for word in ("Claim", "Paper", "Ours", "Verdict", "Reason"):
        assert f'<th scope="col">{word}</th>' in section


def test_a_reason_goes_before_what_was_counted(tmp_path, monkeypatch):
    read = paper.load("learning-cc-for-leo")
    claims = [one.model_copy(update={"reason": "A run has shown why."}) for one in read.claims]
    explained = read.model_copy(update={"claims": claims})
    monkeypatch.setattr("studies.papers.verdicts.load", lambda name: explained)
    monkeypatch.setattr("studies.papers.verdicts.shipped", lambda: ["learning-cc-for-leo"])
    section = make_section(sample_results(tmp_path, ["leo-single-leoem"], ["cubic"], 2))
    assert section is not None
    assert '<td data-label="Reason">A run has shown why.</td>' in section.in_suites["leo-single-leoem"]


def test_results_that_no_paper_is_about_have_no_section(tmp_path):
    (tmp_path / "claims.csv").write_text("left from before")
    page = report.write(sample_results(tmp_path, ["fidelity-aqm"], ["cubic"], 1), make_section).read_text()
    assert "Paper beside ours" not in page
    assert not (tmp_path / "claims.csv").exists()


def test_a_window_may_count_from_the_run_s_end(tmp_path):
    ours = sample_results(tmp_path, ["leo-pair-leoem"], ["cubic"], 3)
    common: dict[str, Any] = {
        "suite": "leo-pair-leoem",
        "scenarios": {"path": "sd-ny-bp"},
        "schemes": ["cubic"],
    }
    stop_s = float(ours.runs["stop_s"].max())  # type: ignore[arg-type]
    same = told(
        ours,
        **common,
        kind="ratio",
        of={"window_s": [-20, -5]},
        to={"window_s": [stop_s - 20, stop_s - 5]},
        value=1,
        tolerance=1e-9,
        little=True,
    )
    assert same.outcome == "agrees"
    reach = told(ours, **common, kind="bound", metric="recovery_s", unit="s", window_s=[-15, 0], at_most=15)
    assert reach.outcome == "agrees"


def test_the_window_that_a_suite_counts_is_the_end_of_its_runs(tmp_path):
    ours = sample_results(tmp_path, ["leo-pair-leoem"], ["cubic"], 3)
    [suite] = ours.suites
    counted_s = next(iter(suite.cases("cubic"))).fairness_last_s
    assert counted_s is not None
    common: dict[str, Any] = {
        "suite": "leo-pair-leoem",
        "scenarios": {"path": "sd-ny-bp"},
        "schemes": ["cubic"],
    }
    same = told(
        ours,
        **common,
        kind="ratio",
        of={"window_s": "counted", "flows": [0]},
        to={"window_s": [-counted_s, 0], "flows": [0]},
        value=1,
        tolerance=1e-9,
        little=True,
    )
    assert same.outcome == "agrees"
    whole = told(
        ours,
        **common,
        kind="ratio",
        of={"window_s": "counted", "flows": [0]},
        to={"flows": [0]},
        at_least=1.01,
    )
    assert whole.ours[0].interval.mean != pytest.approx(1.0)


def test_how_much_a_value_varies_from_run_to_run_has_a_sample_a_scenario():
    ours = results({"a": 5})
    found = told(ours, kind="bound", schemes=["a"], over="deviation", at_most=0.02)
    assert found.outcome == "agrees"
    assert found.ours[0].interval.n == 6
    assert found.ours[0].interval.mean == pytest.approx(np.std(NOISE, ddof=1))
