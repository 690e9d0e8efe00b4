from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from leogym.common.errors import InputError
from leogym.configs import suite, suite_table

LINK = {"rate_mbps": 10, "delay_ms": 5}
MINIMAL: dict[str, Any] = {
    "name": "mine",
    "title": "Mine",
    "scenario": {"duration_s": 1, "links": {"a": LINK}, "flows": [{"scheme": "$scheme", "route": ["a"]}]},
}


def write(folder: Path, name: str, data: Any) -> str:
    path = folder / name
    path.write_text(yaml.safe_dump(data))
    return str(path)


@pytest.mark.parametrize("name", suite.shipped())
def test_every_spot_check_can_be_read_back_as_a_suite(name: str) -> None:
    found = suite.load(name)
    if found.spot is not None:
        spot = found.as_spot()
        assert suite.Suite.model_validate(spot.model_dump(mode="json")).schemes == spot.schemes


@pytest.mark.parametrize("name", suite.shipped())
def test_every_shipped_suite_expands_to_valid_scenarios_in_full_and_quick(name: str) -> None:
    loaded = suite.load(name)
    assert loaded.name == name
    full = [case.scenario for case in loaded.cases("reno")]
    quick = [case.scenario for case in loaded.as_quick().cases("reno")]
    assert [one.name for one in full] == [one.name for one in quick]
    assert len({one.name for one in full}) == len(full)
    assert sum(one.duration_s for one in quick) < sum(one.duration_s for one in full)


def test_leo_single_is_one_flow_for_300_s_at_100_mbps_and_1_bdp_on_each_path() -> None:
    scenarios = [case.scenario for case in suite.load("leo-single").cases("cubic")]
    paths = ["sd-ny-isl", "sd-ny-bp", "sea-ny-isl", "sea-ny-bp", "ny-ldn-isl", "sd-sha-isl"]
    assert [one.name for one in scenarios] == paths
    for one in scenarios:
        assert one.duration_s == 300
        assert [flow.scheme for flow in one.flows] == ["cubic"]
        [link] = one.links.values()
        assert (link.trace, link.rate_mbps, link.queue.bdp) == (one.name, 100, 1.0)


def test_leo_pair_runs_both_flows_for_300_s_and_counts_the_last_100() -> None:
    loaded = suite.load("leo-pair")
    for case in loaded.cases("reno"):
        assert [flow.start_s for flow in case.scenario.flows] == [0, 100]
        assert case.scenario.duration_s - case.scenario.flows[1].start_s == 300
        assert case.fairness_last_s == 100


def test_the_fairness_suites_give_flows_2000_round_trips_and_count_the_last_500() -> None:
    for name in ("intra-rtt", "inter-rtt"):
        for case in suite.load(name).cases("cubic"):
            [link] = case.scenario.links.values()
            assert link.delay_ms is not None
            rtts_s = [(2 * link.delay_ms + 2 * flow.extra_delay_ms) / 1000 for flow in case.scenario.flows]
            assert rtts_s[1] == pytest.approx(case.values["rtt_ms"] / 1000)
            assert rtts_s[0] == pytest.approx(rtts_s[1] if name == "intra-rtt" else 0.02)
            assert case.scenario.duration_s == pytest.approx(2000 * rtts_s[1])
            assert case.scenario.flows[1].start_s == case.fairness_last_s == pytest.approx(500 * rtts_s[1])


def test_a_flow_whose_count_comes_out_as_0_is_left_out() -> None:
    cases = list(suite.load("static-grid").cases("cubic"))
    assert len(cases) == 3 * 3 * 4
    for case in cases:
        starts_s = [flow.start_s for flow in case.scenario.flows]
        assert starts_s == [0, 5, 10, 15, 20][: int(case.values["flows"])]


def test_a_placeholder_alone_keeps_the_type_of_its_value_and_within_a_text_becomes_text() -> None:
    assert suite.substitute({"a": ["$x"], "b": "n-${x}-$y"}, {"x": 3, "y": 0.5}) == {"a": [3], "b": "n-3-0.5"}


def test_a_grid_of_two_values_each_gives_four_scenarios() -> None:
    data = {**MINIMAL, "grid": {"rate": [1, 2], "delay": [3, 4]}}
    links = {"a": {"rate_mbps": "$rate", "delay_ms": "$delay"}}
    data["scenario"] = {**MINIMAL["scenario"], "name": "$rate-$delay", "links": links}
    names = [case.scenario.name for case in suite.parse(data, "here").cases("cubic")]
    assert names == ["1-3", "1-4", "2-3", "2-4"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"grid": {"scheme": ["a"]}}, "grid.scheme: is already the scheme under test"),
        ({"parameters": {"x": 1}, "grid": {"x": [1]}}, "grid.x: is already in parameters"),
        ({"quick": {"parameters": {"y": 1}}}, "quick.parameters.y: is not in parameters"),
        (
            {"scenario": {"name": "$other"}},
            "$other is neither scheme nor in parameters, grid, spread or derived",
        ),
        ({"headline": ["speed"]}, "headline.0"),
        ({"derived": {"y": "2 * x"}}, "derived.y: x must be in parameters, grid, spread or"),
        ({"parameters": {"x": 1}, "derived": {"x": "2"}}, "derived.x: is already in parameters"),
        ({"derived": {"y": "2 **"}}, "derived.y: 2 **: is not an arithmetic expression"),
        ({"fairness_last_s": "$y"}, "fairness_last_s: $y is not in parameters, grid or derived"),
        ({"x": "rate"}, "x: rate is not in grid"),
        ({"figures": ["curve"]}, "figures: curve needs x, a key of grid"),
        ({"repeats": 0}, "repeats"),
        ({"compare": {"ratio_of": 0, "apart": True}}, "give one of ratio_of and apart"),
        ({"compare": {"every_s": 5, "first_s": 6}}, "first_s: must be above 0 and at most every_s"),
        ({"in_turn": True, "vary_offset": False}, "in_turn: needs vary_offset"),
        ({"repeat": 3}, "repeat: unknown key (nearest: repeats"),
        ({"quick": {"parameter": {}}}, "quick.parameter: unknown key (nearest: parameters)"),
    ],
)
def test_a_fault_in_a_suite_is_one_line_with_file_field_and_rule(change: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as raised:
        suite.parse({**MINIMAL, **change}, "mine.yaml")
    assert str(raised.value).startswith("mine.yaml: ")
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("compare", "flow", "told"),
    [
        ({"ratio_of": 1}, {}, "compare.ratio_of: there are only 1 flows"),
        ({"apart": True}, {"count": 2}, "compare: needs flows without count"),
        ({"ratio_of": 0}, {"transfer_bytes": 9}, "compare: needs flows without count"),
    ],
)
def test_a_comparison_of_single_flows_needs_them_to_be_there(
    compare: dict[str, Any], flow: dict[str, Any], told: str
) -> None:
    flows = [{"scheme": "$scheme", "route": ["a"], **flow}]
    data = {**MINIMAL, "compare": compare, "scenario": {**MINIMAL["scenario"], "flows": flows}}
    with pytest.raises(InputError, match=told):
        list(suite.parse(data, "mine.yaml").cases("cubic"))


def test_an_unknown_suite_is_told_with_the_nearest_ones() -> None:
    with pytest.raises(InputError, match=r"leo-sngle: no suite has this name \(nearest: leo-single"):
        suite.load("leo-sngle")


def test_a_scenario_file_becomes_a_suite_whose_first_repeat_is_as_written(tmp_path: Path) -> None:
    loaded = suite.load(write(tmp_path, "two.yaml", MINIMAL["scenario"]))
    assert (loaded.name, loaded.first_as_written, loaded.vary_offset) == ("two", True, True)
    assert loaded.tests_schemes
    assert [case.scenario.flows[0].scheme for case in loaded.cases("reno")] == ["reno"]


def test_a_scenario_file_that_gives_an_offset_keeps_it(tmp_path: Path) -> None:
    data = {**MINIMAL["scenario"], "links": {"a": {"trace": "sd-ny-bp", "offset_s": 7}}}
    assert not suite.load(write(tmp_path, "two.yaml", data)).vary_offset


def test_a_file_with_the_key_scenario_is_a_suite(tmp_path: Path) -> None:
    assert suite.load(write(tmp_path, "any.yaml", MINIMAL)).name == "mine"


def test_a_fault_in_a_scenario_file_is_told_with_that_file(tmp_path: Path) -> None:
    path = write(tmp_path, "bad.yaml", {**MINIMAL["scenario"], "duration_s": -1})
    with pytest.raises(InputError) as raised:
        suite.load(path)
    assert str(raised.value).startswith(f"{path}: duration_s: ")


@pytest.mark.parametrize("text", ["- 1\n", "3\n", ""])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(InputError, match="must be a mapping"):
        suite.load(str(tmp_path / "x.yaml"))


def test_every_metric_and_figure_that_a_suite_may_ask_for_exists() -> None:
    from leogym.evaluation.figures import figure_module
    from leogym.results.metrics import METRICS

    assert set(get_args(suite.Metric)) == set(METRICS)
    for kind in get_args(suite.Figure):
        assert figure_module(kind).TITLE


def test_a_spread_is_of_values_that_belong_together_and_each_meets_all_of_the_grid() -> None:
    template = {**MINIMAL["scenario"], "name": "$rate-$kind", "duration_s": "$length"}
    data = {**MINIMAL, "grid": {"kind": ["a", "b"]}, "scenario": template}
    found = suite.parse(data | {"spread": [{"rate": 1, "length": 2}, {"rate": 3, "length": 4}]}, "mine.yaml")
    told = [(one.scenario.name, one.scenario.duration_s) for one in found.cases("cubic")]
    assert told == [("1-a", 2), ("1-b", 2), ("3-a", 4), ("3-b", 4)]
    with pytest.raises(InputError, match=r"spread\.1: must have the keys of the first"):
        suite.parse(data | {"spread": [{"rate": 1, "length": 2}, {"rate": 3}]}, "mine.yaml")
    with pytest.raises(InputError, match=r"spread\.0\.kind: is already in grid"):
        suite.parse(data | {"spread": [{"kind": 1}]}, "mine.yaml")


def test_a_scheme_may_belong_to_a_part_of_the_grid() -> None:
    data = {
        "name": "s",
        "title": "s",
        "schemes": ["cubic", "reno"],
        "grid": {"rtt_ms": [10, 20]},
        "spread": [{"side": "a"}, {"side": "b"}],
        "scenario": {
            "name": "$side $rtt_ms",
            "duration_s": 1,
            "links": {"l": {"rate_mbps": 1, "delay_ms": "$rtt_ms"}},
            "flows": [{"scheme": "$scheme", "route": ["l"]}],
        },
    }
    read = suite.parse({**data, "only": {"reno": {"rtt_ms": [20], "side": ["b"]}}}, "s")
    places = {
        scheme: [case.scenario.name for case in read.cases(scheme) if read.has(scheme, case.values)]
        for scheme in read.schemes
    }
    assert places == {"cubic": ["a 10", "a 20", "b 10", "b 20"], "reno": ["b 20"]}
    for only, rule in (
        ({"bbr": {}}, "only.bbr: is not in schemes"),
        ({"reno": {"rtt": [10]}}, "only.reno.rtt: is neither in grid nor in spread"),
        ({"reno": {"rtt_ms": [30]}}, "only.reno.rtt_ms: 30 is not one of its values"),
    ):
        with pytest.raises(InputError, match=rule):
            suite.parse({**data, "only": only}, "s")


DOCS = Path(__file__).resolve().parents[1] / "docs/suites.md"


def test_the_docs_have_the_table_of_the_shipped_suites() -> None:
    assert DOCS.read_text() == suite_table.page(), "python -m configs.suite_table docs/suites.md"
