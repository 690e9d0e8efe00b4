from typing import Any

import numpy as np
import polars as pl
import pytest

from leogym.configs import scenario
from leogym.results.metrics import PAYLOAD_SHARE
from leogym.traces.path import cache
from studies.papers.course import Course
from studies.papers.of_scenarios import OF_SCENARIOS
from studies.papers.over_time import OVER_TIME

CAPACITY = 100.0
ALL = CAPACITY * PAYLOAD_SHARE


def course(goodputs: list[Any], joined_s: float = 0.0, **columns: Any) -> Course:
    """Return flows with these goodputs, one value per 0.1 s from 0 on."""
    parts = []
    for flow, goodput in enumerate(goodputs):
        count = len(goodput)
        made = {"time_s": np.arange(1, count + 1) / 10, "goodput_mbps": np.asarray(goodput, dtype=float)}
        defaults = {"base_rtt_ms": 50.0, "cwnd_packets": 100, "in_flight_packets": 100, "lost_packets": 0}
        for name, value in (defaults | columns).items():
            made[name] = np.broadcast_to(value, count)
        parts.append(pl.DataFrame(made).with_columns(flow=pl.lit(flow)))
    time_s = parts[0]["time_s"]
    links = pl.DataFrame({"time_s": time_s, "capacity_mbps": np.full(len(time_s), CAPACITY)})
    return Course(pl.concat(parts), links, 0.0, float(time_s[-1]), joined_s)


def value(name: str, run: Course) -> float:
    found = OVER_TIME[name].of(run)
    assert found is not None
    return found


def test_recovery_is_the_time_until_capacity_is_used_for_three_seconds():
    low, high = np.full(40, 0.3 * ALL), np.full(60, ALL)
    # The single high second does not last.
    assert value("recovery_s", course([np.concatenate([np.full(10, ALL), low, high])])) == 5.0
    assert value("recovery_s", course([np.full(100, 0.5 * ALL)])) == 10.0


def test_recovery_after_a_rise_counts_from_each_sharp_rise_until_the_base_rtt_changes_again():
    # Up at 15 s: used after 5 s. Up by half at 30 s is not sharp. Up at 45 s: never used, so 15 s.
    base = np.repeat([20.0, 60.0, 90.0, 250.0], 150)
    low, high = np.full(50, 0.3 * ALL), np.full(100, ALL)
    goodput = np.concatenate([high, low, low, high, low, high, np.full(150, 0.3 * ALL)])
    assert value("rise_recovery_s", course([goodput], base_rtt_ms=base)) == pytest.approx(
        (5 + 15) / 2, abs=0.2
    )
    steady = course([goodput], base_rtt_ms=np.full(600, 20.0))
    assert OVER_TIME["rise_recovery_s"].of(steady) is None
    short = np.repeat([20.0, 60.0, 20.0], 50)
    assert OVER_TIME["rise_recovery_s"].of(course([goodput[:150]], base_rtt_ms=short)) is None


def test_a_goodput_ratio_that_alternates_deviates_by_half_its_range():
    first, second = np.full(100, 50.0), np.where(np.arange(100) % 20 < 10, 50.0, 25.0)
    assert value("ratio_deviation", course([first, second])) == pytest.approx(0.25)
    assert value("ratio_deviation", course([first, first])) == 0.0
    assert OVER_TIME["ratio_deviation"].of(course([first])) is None


def test_convergence_counts_from_the_last_flow_s_start():
    first = np.concatenate([np.full(100, ALL), np.full(100, ALL / 2)])
    second = np.concatenate([np.zeros(100), np.full(100, ALL / 2)])
    even = course([first, second], joined_s=10.0)
    assert value("convergence_s", even) == 0.0
    # The average is over 5 s, of which the first is already even.
    assert 3.0 <= value("convergence_s", course([first, second], joined_s=5.0)) <= 6.0
    assert value("convergence_s", course([first, np.zeros(200)], joined_s=5.0)) == 15.0


def test_goodput_that_stands_still_does_not_vary():
    steady, noisy = np.full(100, 50.0), np.where(np.arange(100) % 20 < 10, 40.0, 60.0)
    assert value("goodput_deviation", course([steady])) == 0.0
    assert value("goodput_deviation", course([noisy])) == pytest.approx(0.2)
    assert value("short_term_deviation", course([noisy])) > value("short_term_deviation", course([steady]))


def test_time_at_capacity_is_the_share_of_slots_that_are_full():
    run = course([np.concatenate([np.full(75, ALL), np.full(225, 0.8 * ALL)])])
    assert value("full_share", run) == pytest.approx(0.25)


def test_drops_every_fifteen_seconds_have_that_period():
    goodput = np.full(1200, ALL)
    goodput[np.arange(1200) % 150 < 4] = 0.0
    assert value("drop_period_s", course([goodput])) == pytest.approx(15.0)
    # Every second drop is deeper: a lag of 30 s is slightly more similar.
    goodput[np.arange(1200) % 300 < 4] = 0.2 * ALL
    assert value("drop_period_s", course([goodput])) == pytest.approx(15.0)


def test_a_slot_of_little_capacity_is_no_drop():
    goodput = np.full(1200, ALL)
    for slot, share in enumerate((1.0, 0.3, 0.2, 0.9, 1.0, 0.4, 0.8, 0.2)):
        goodput[150 * slot : 150 * (slot + 1)] *= share
    goodput[np.arange(1200) % 150 < 2] *= 0.4
    assert value("drop_period_s", course([goodput])) == pytest.approx(15.0)


def test_a_window_s_fall_over_several_steps_is_one_reduction():
    window = np.full(600, 100)
    window[100:] = 90  # a fall by a tenth does not count
    window[200:203] = (85, 75, 70)
    window[203:] = 70
    window[400:] = 40
    assert value("reductions_per_min", course([np.full(600, 1.0)], cwnd_packets=window)) == 2.0


def test_a_window_that_is_back_after_a_repair_was_not_reduced():
    window = np.full(600, 100)
    window[200:203] = (40, 20, 15)  # 0.3 s of repair
    window[400:410] = 40
    assert value("reductions_per_min", course([np.full(600, 1.0)], cwnd_packets=window)) == 1.0


def test_goodput_is_told_apart_by_the_base_rtt():
    base = np.concatenate([np.full(50, 20.0), np.full(50, 60.0)])
    goodput = np.concatenate([np.full(50, ALL), np.full(50, 0.3 * ALL)])
    run = course([goodput], base_rtt_ms=base)
    assert value("share_at_least_rtt", run) == pytest.approx(1.0)
    assert value("share_above_least_rtt", run) == pytest.approx(0.3)
    assert value("base_rtt_deviation_ms", run) == pytest.approx(20.0)


def test_lost_packets_of_all_flows_are_summed():
    lost = np.where(np.arange(100) == 50, 7, 0)
    assert value("lost_in_window", course([np.ones(100), np.ones(100)], lost_packets=lost)) == 14


def test_what_is_in_flight_is_told_in_megabytes():
    run = course([np.full(100, 1.0)], in_flight_packets=1000)
    assert value("in_flight_mb", run) == pytest.approx(1.448)


def test_changes_of_the_path_are_those_of_its_trace():
    flows = [{"scheme": "cubic", "route": ["a"]}]
    data = {"duration_s": 60, "links": {"a": {"trace": "sd-ny-isl", "rate_mbps": 10}}, "flows": flows}
    trace = cache.load("sd-ny-isl")
    expected = sum(
        event != "" and 100.0 <= time_ns / 1e9 < 160.0
        for event, time_ns in zip(trace.event, trace.time_ns, strict=True)
    )
    assert OF_SCENARIOS["changes_per_min"].of(scenario.parse(data, "test"), 100.0) == expected > 0
    static = data | {"links": {"a": {"rate_mbps": 10, "delay_ms": 5}}}
    assert OF_SCENARIOS["changes_per_min"].of(scenario.parse(static, "test"), 0.0) is None
