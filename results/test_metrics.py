import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leogym.configs import scenario as scenarios
from leogym.configs.suite import Compare
from leogym.results.measurement import COLUMNS, Measurement, Window, step_mean
from leogym.results.metrics import (
    PAYLOAD_SHARE,
    flow_rows,
    goodput_ratio,
    jain,
    ratio_to_others,
    run_metrics,
    scheme_shares,
    shared_capacity_mbps,
    shared_window_s,
)
from tests.support.sample_results import sample_measurement

TWO_FLOWS = scenarios.parse(
    {
        "duration_s": 10,
        "links": {
            "narrow": {"rate_mbps": 10, "delay_ms": 1},
            "wide": {"rate_mbps": 100, "delay_ms": 1},
        },
        "flows": [
            {"scheme": "reno", "route": ["narrow", "wide"]},
            {"scheme": "reno", "start_s": 4, "route": ["narrow", "wide"]},
        ],
    },
    "two",
)


def two_flows(first: float, second: float, down_s: int = 0) -> Measurement:
    """Two flows of constant goodput on a 10 Mbit/s link that is out for its last ``down_s`` seconds."""
    time = np.arange(1.0, 11.0)
    flows = [
        {
            "flow": index,
            "scheme": "reno",
            "start_s": start_s,
            "stop_s": 10.0,
            **dict.fromkeys(["goodput_mbps", "capacity_mbps", "normalized_goodput", "rtt_mean_ms"], 1.0),
            **dict.fromkeys(["rtt_p95_ms", "base_rtt_mean_ms", "delay_inflation", "loss_rate"], math.nan),
            **dict.fromkeys(["retransmit_rate", "power"], math.nan),
            **dict.fromkeys(["sent_packets", "delivered_packets", "retransmitted_packets"], 0),
            **dict.fromkeys(["lost_packets", "rtos"], 0),
            **{name: None for name, kind in COLUMNS["flows"].items() if kind.startswith("Option")},
        }
        for index, start_s in enumerate([0.0, 4.0])
    ]
    flow_series = {
        "time_s": np.concatenate([time, time[4:]]),
        "flow": np.array([0] * 10 + [1] * 6),
        "goodput_mbps": np.array([first] * 10 + [second] * 6),
        "rtt_ms": np.array([60.0] * 10 + [30.0] * 5 + [math.nan]),
        "base_rtt_ms": np.full(16, 20.0),
    }
    link_series = {
        "time_s": np.concatenate([time, time]),
        "link": np.array([0] * 10 + [1] * 10),
        "capacity_mbps": np.concatenate([10.0 * (time <= 10 - down_s), [100.0] * 10]),
    }
    return Measurement(flows, [], flow_series, link_series, ["narrow", "wide"])


def test_the_shared_window_is_when_all_flows_run_and_can_be_cut_to_its_end():
    flows = [{"start_s": 0.0, "stop_s": 400.0}, {"start_s": 100.0, "stop_s": 390.0}]
    assert shared_window_s(flows, None) == (100.0, 390.0)
    assert shared_window_s(flows, 100.0) == (290.0, 390.0)
    assert shared_window_s(flows, 1000.0) == (100.0, 390.0)


def test_transfers_leave_the_shared_window_to_the_flows_without_end():
    endless = {"start_s": 0.0, "stop_s": 9.0, "transfer_bytes": None}
    transfer = {"start_s": 3.0, "stop_s": 3.4, "transfer_bytes": 1000}
    assert shared_window_s([endless, transfer], None) == (0.0, 9.0)
    assert shared_window_s([transfer, transfer], None) == (3.0, 3.4)


def test_transfers_count_in_the_utilization_for_the_time_they_run():
    measurement = two_flows(6.0, 3.0)
    measurement.flows[1]["transfer_bytes"] = 2_250_000
    metrics = run_metrics(measurement, TWO_FLOWS, (0.0, 10.0))
    # 6 Mbit/s throughout, 3 Mbit/s for 6 of 10 s.
    assert metrics["utilization"] == pytest.approx(0.78 / PAYLOAD_SHARE)
    assert metrics["jain"] is None


def test_flows_that_never_meet_share_no_window():
    flows = [{"start_s": 0.0, "stop_s": 5.0}, {"start_s": 5.0, "stop_s": 9.0}]
    assert shared_window_s(flows, None) is None


def test_goodput_ratio_is_the_lowest_over_the_highest():
    assert goodput_ratio([30.0, 60.0]) == goodput_ratio([60.0, 30.0]) == 0.5
    assert goodput_ratio([0.0, 60.0]) == 0.0
    assert goodput_ratio([0.0, 0.0]) is None
    assert goodput_ratio([1.0]) is None
    assert goodput_ratio([2.0, 1.0, 4.0]) == 0.25
    assert goodput_ratio([0.0, 0.0, 0.0]) is None


def test_one_flow_is_compared_with_the_best_of_the_others_and_may_beat_them():
    assert ratio_to_others([30.0, 60.0, 10.0], 0) == 0.5
    assert ratio_to_others([60.0, 30.0, 10.0], 0) == 2.0
    assert ratio_to_others([1.0, 0.0], 0) is None
    assert ratio_to_others([1.0], 0) is None
    metrics = run_metrics(two_flows(6.0, 3.0), TWO_FLOWS, (4.0, 10.0), compare=Compare(ratio_of=0))
    assert metrics["goodput_ratio"] == pytest.approx(2.0)


def test_jain_is_one_for_even_shares_and_one_over_n_for_a_monopoly():
    assert jain([5.0, 5.0, 5.0]) == pytest.approx(1.0)
    assert jain([9.0, 0.0, 0.0]) == pytest.approx(1 / 3)
    assert jain([3.0, 1.0]) == pytest.approx(16 / 20)
    assert jain([3.0]) is None
    assert jain([0.0, 0.0]) is None


def test_a_scheme_s_share_is_that_of_all_its_flows_where_several_schemes_meet():
    measured = two_flows(6.0, 2.0)
    assert scheme_shares(measured, (4.0, 10.0)) == {}
    mixed = [flow | {"scheme": name} for flow, name in zip(measured.flows, ("reno", "cubic"), strict=True)]
    measured = replace(measured, flows=mixed)
    assert scheme_shares(measured, (4.0, 10.0)) == {"reno": 0.75, "cubic": 0.25}
    assert scheme_shares(measured, None) == {}
    rows = flow_rows(measured, TWO_FLOWS, None)
    assert [row["share"] for row in rows] == [0.75, 0.25]


def test_run_metrics_count_the_window_the_narrowest_common_link_and_its_payload():
    metrics = run_metrics(two_flows(6.0, 3.0), TWO_FLOWS, (4.0, 10.0))
    assert metrics["goodput_ratio"] == pytest.approx(0.5)
    assert metrics["jain"] == pytest.approx(81 / 90)
    assert metrics["utilization"] == pytest.approx(0.9 / PAYLOAD_SHARE)


def test_flows_of_opposite_directions_share_no_bottleneck_and_backward_ones_the_reverse_link():
    measured = replace(two_flows(6.0, 3.0), link_names=["narrow", "narrow.reverse"])
    link = {"rate_mbps": 10, "delay_ms": 1, "reverse": {"rate_mbps": 100}}
    one_way = {"scheme": "reno", "route": ["narrow"]}
    other = {**one_way, "direction": "backward"}

    def capacity(*flows: dict[str, Any]) -> float | None:
        data = {"duration_s": 10, "links": {"narrow": link}, "flows": list(flows)}
        return shared_capacity_mbps(measured, scenarios.parse(data, "shared"), (4.0, 10.0))

    assert capacity(one_way, other) is None
    assert capacity(one_way, one_way) == pytest.approx(10.0)
    assert capacity(other, other) == pytest.approx(100.0)


def test_flows_apart_are_judged_by_their_own_bottlenecks_and_meet_when_one_is_rerouted():
    flows = [{"scheme": "reno", "route": ["narrow"]}, {"scheme": "reno", "start_s": 4, "route": ["wide"]}]
    events = [{"at_s": 7, "reroute": {"flows": [1], "route": ["narrow"]}}]
    links = {"narrow": {"rate_mbps": 10, "delay_ms": 1}, "wide": {"rate_mbps": 100, "delay_ms": 1}}
    data = {"duration_s": 10, "links": links, "flows": flows, "events": events}
    moved = scenarios.parse(data, "moved")
    before, after = (
        run_metrics(two_flows(6.0, 3.0), moved, window, compare=Compare(apart=True))
        for window in ((4.0, 7.0), (7.0, 10.0))
    )
    assert before["utilization"] == pytest.approx(9 / (110 * PAYLOAD_SHARE))
    assert (before["goodput_ratio"], before["jain"]) == (None, None)
    assert after["utilization"] == pytest.approx(9 / (10 * PAYLOAD_SHARE))
    assert after["goodput_ratio"] == pytest.approx(0.5)
    # Across the reroute, no link is crossed by both flows throughout.
    assert run_metrics(two_flows(6.0, 3.0), moved, (4.0, 10.0))["utilization"] is None


def test_the_windows_delay_inflation_is_the_mean_of_the_flows_that_have_samples():
    metrics = run_metrics(two_flows(6.0, 3.0), TWO_FLOWS, (4.0, 10.0))
    assert metrics["shared_delay_inflation"] == pytest.approx((60 / 20 + 30 / 20) / 2)
    last = run_metrics(two_flows(6.0, 3.0), TWO_FLOWS, (9.0, 10.0))
    assert last["shared_delay_inflation"] == pytest.approx(60 / 20)


def test_an_outage_leaves_no_capacity_to_use():
    metrics = run_metrics(two_flows(3.0, 3.0, down_s=3), TWO_FLOWS, (4.0, 10.0))
    assert metrics["utilization"] == pytest.approx(6.0 / (5.0 * PAYLOAD_SHARE))


def test_what_a_run_does_not_define_is_none_and_never_nan():
    rows = flow_rows(two_flows(1.0, 1.0), TWO_FLOWS, None)
    assert [row["rtt_p95_ms"] for row in rows] == [None, None]
    assert not any(isinstance(value, float) and math.isnan(value) for row in rows for value in row.values())


def test_every_flow_carries_the_metrics_of_its_run():
    rows = flow_rows(sample_measurement(TWO_FLOWS), TWO_FLOWS, 5.0)
    assert [row["flow"] for row in rows] == [0, 1]
    assert rows[0]["jain"] == rows[1]["jain"] is not None


def test_a_step_mean_weighs_each_step_by_its_time_in_the_window():
    end_s, values = np.array([1.0, 3.0, 4.0]), np.array([10.0, 20.0, 60.0])
    assert step_mean(end_s, values, (0.0, 4.0)) == pytest.approx((10 + 40 + 60) / 4)
    assert step_mean(end_s, values, (2.0, 3.5)) == pytest.approx((20 + 30) / 1.5)
    assert math.isnan(step_mean(end_s, values, (5.0, 6.0)))


def test_of_a_window_the_first_part_of_every_period_can_count():
    end_s, values = np.array([2.0, 5.0, 6.0, 12.0]), np.array([1.0, 2.0, 3.0, 4.0])
    # 1 to 2 and 5 to 7: periods count from the start, and the window cuts them.
    assert step_mean(end_s, values, Window(1.0, 9.0, 5.0, 2.0)) == pytest.approx((1 + 3 + 4) / 3)


def test_steps_without_a_value_are_left_out_of_the_mean():
    assert step_mean(np.array([1.0, 2.0]), np.array([math.nan, 4.0]), (0.0, 2.0)) == 4.0


@given(st.lists(st.floats(0.001, 1000), min_size=2, max_size=20))
def test_jain_lies_between_one_over_n_and_one(goodputs):
    index = jain(goodputs)
    assert index is not None
    assert 1 / len(goodputs) - 1e-9 <= index <= 1 + 1e-9
