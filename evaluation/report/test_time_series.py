import base64
import gzip
import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest

from leogym.evaluation.recorded.results import Results, Series
from leogym.evaluation.report import packing, time_series
from leogym.evaluation.report.packing import Part, placed
from tests.support.sample_results import sample_results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("series")
    return sample_results(folder, ["leo-single", "leo-pair"], ["cubic", "astraea"], 1)


def unpacked(data: str) -> dict[str, Any]:
    return json.loads(gzip.decompress(base64.b64decode(data)))


def test_a_line_is_the_mean_of_its_steps_and_a_step_without_a_sample_is_a_gap():
    time_s = np.array([1.1, 1.2, 1.3, 1.4, 1.9, 2.0])
    values = np.array([1.0, 3.0, np.nan, 5.0, np.nan, 1234.0])
    assert time_series._stepped(time_s, values, 0.2) == (5, [2, 5, None, None, 1230])
    assert time_series._stepped(np.empty(0), np.empty(0), 0.2) == (0, [])


def test_every_scenario_and_scheme_is_there_with_its_own_flows(results):
    found = time_series.explorers(results)
    single, pair = (unpacked(found[name].data)["scenarios"] for name in ("leo-single", "leo-pair"))
    assert [one["name"] for one in single] == results.scenarios("leo-single")
    assert all(one["together"] for one in single)
    assert not any(one["together"] for one in pair)
    for scenario in (*single, *pair):
        assert [one["name"] for one in scenario["runs"]] == ["cubic", "astraea"]
    assert [flow["name"] for flow in pair[0]["runs"][0]["flows"]] == ["cubic 1", "cubic 2"]
    # The second flow starts later; each line has one value per step from its start on.
    first, second = pair[0]["runs"][0]["flows"]
    assert first["first"] == 0 < second["first"]
    assert len(second["goodput"]) == len(second["ratio"]) == len(second["cwnd"]) <= time_series.MOST_POINTS


def test_changes_of_the_path_and_outages_are_those_of_the_series(results):
    scenario = unpacked(time_series.explorers(results)["leo-single"].data)["scenarios"][0]
    run = scenario["runs"][0]
    # Made-up paths change their base RTT every 15 s, after an outage.
    assert run["changes"] == [15.0, 30.0, 45.0, 60.0]
    assert run["outages"] == [15.0, 30.0, 45.0, 60.0]


def test_many_flows_are_drawn_as_the_mean_of_each_scheme(results):
    series = results.first_series("leo-single", results.scenarios("leo-single")[0], "cubic")
    assert series is not None
    flows = pl.concat(
        [
            series.flows.with_columns(
                flow=pl.lit(index, pl.UInt32),
                flow_scheme=pl.lit(["cubic", "astraea"][index % 2]),
                goodput_mbps=pl.lit(float(index)),
            )
            for index in range(20)
        ]
    )
    run = time_series.run(results, "cubic+astraea", Series(0, 0.0, flows, series.links), 100)
    assert [flow["name"] for flow in run["flows"]] == ["cubic, mean of 10", "astraea, mean of 10"]
    assert [set(flow["goodput"]) for flow in run["flows"]] == [{9}, {10}]


def test_lines_are_thinned_and_scenarios_left_out_until_there_is_room(results, monkeypatch):
    full = time_series.explorers(results)
    assert (full["leo-single"].scenarios, full["leo-single"].of_scenarios) == (6, 6)
    monkeypatch.setattr(time_series, "ROOM_BYTES", 6_000)
    few = time_series.explorers(results)
    assert few["leo-single"].scenarios < few["leo-single"].of_scenarios == 6
    assert sum(len(one.data) for one in few.values()) < 10_000
    [flow] = unpacked(few["leo-single"].data)["scenarios"][0]["runs"][0]["flows"]
    assert len(flow["goodput"]) <= time_series.FEWEST_POINTS


def test_the_first_parts_of_a_page_are_plain_and_the_others_packed(monkeypatch):
    monkeypatch.setattr(packing, "PLAIN_BYTES", 5_000)
    texts = [letter * 4_000 for letter in "abc"]
    plain, *others = placed([Part(text) for text in texts], room_bytes=100_000)
    assert plain == texts[0]
    for text, found in zip(texts[1:], others, strict=True):
        [data] = re.findall(r'<script type="application/gzip">(.*?)</script>', found)
        assert gzip.decompress(base64.b64decode(data)).decode() == text


def test_the_largest_parts_give_way_where_a_page_has_no_room():
    parts = [Part("a" * 900, "A"), Part("b" * 3_000, "B"), Part("c" * 2_000)]
    assert placed(parts, room_bytes=3_000) == ["a" * 900, "B", "c" * 2_000]
    assert placed(parts, room_bytes=2_100) == ["A", "B", "c" * 2_000]


def test_a_suite_whose_figures_show_nothing_over_time_has_a_few_scenarios(results):
    config = results.description["config"]
    suites = [{**one, "figures": ["tradeoff"]} for one in config["suites"]]
    plain = Results(results.folder, {"config": {**config, "suites": suites}}, results.runs)
    found = time_series.explorers(plain)["leo-single"]
    assert (found.scenarios, found.of_scenarios) == (3, 6)
    none = [{**one, "figures": []} for one in suites]
    bare = Results(results.folder, {"config": {**config, "suites": none}}, results.runs)
    assert time_series.explorers(bare) == {}
