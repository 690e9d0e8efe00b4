import leosim
import numpy as np
import pytest

from tests.support.scenarios import one_link, path_trace, scenario

TRACE = path_trace(
    "0,10,8,1,0,1,0,", "1,12,4,1,0.5,1,0,", "1.5,12,4,1,0.5,0,1,hard_handover", "2,12,4,1,0.5,1,1,"
)


def _planned(duration_s, **link):
    traces = {"short": leosim.PathTrace.parse(TRACE, "short")}
    [schedule] = leosim.plan_links(one_link(duration_s, link, "cubic").to_json(), traces)
    return schedule


def _schedule(duration_s, **link):
    return _planned(duration_s, trace="short", **link)


def test_a_trace_starts_at_its_offset_and_wraps_at_its_period():
    schedule = _schedule(4.0, offset_s=1.75)
    assert (schedule.start_ns / 1e9).tolist() == [0, 0.25, 1.25, 1.75, 2.25, 3.25, 3.75]
    assert schedule.connected.tolist() == [False, True, True, False, True, True, False]
    assert schedule.rate_bps.tolist() == [4e6, 8e6, 4e6, 4e6, 8e6, 4e6, 4e6]
    assert schedule.varies


def test_capacity_is_what_the_spans_carry_and_outages_carry_nothing():
    schedule = _schedule(4.0)
    edges = np.array([0, 500_000_000, 1_250_000_000, 1_750_000_000, 2_500_000_000])
    assert schedule.capacity_bits(edges[:-1], edges[1:]).tolist() == pytest.approx([4e6, 5e6, 1e6, 4e6])
    assert schedule.stays_connected(edges[:-1], edges[1:]).tolist() == [True, True, False, False]
    assert schedule.delay_at(np.array([-5, 0, 999_999_999, 1_000_000_000])).tolist() == [
        10_000_000, 10_000_000, 10_000_000, 12_000_000
    ]  # fmt: skip


def test_an_outage_is_over_where_its_span_ends():
    schedule = _schedule(4.0)
    assert schedule.stays_connected(np.array([2_000_000_000]), np.array([2_100_000_000])).tolist() == [True]
    assert schedule.stays_connected(np.array([1_900_000_000]), np.array([2_000_000_000])).tolist() == [False]


def test_a_scenarios_rate_replaces_the_traces_and_its_loss_comes_on_top():
    schedule = _schedule(2.0, rate_mbps=100.0, loss=0.5)
    assert schedule.rate_bps.tolist() == [100_000_000] * 3
    assert schedule.loss.tolist() == pytest.approx([0.5, 0.75, 0.75])


def test_a_link_without_a_trace_never_changes():
    schedule = _planned(60.0, rate_mbps=10.0, delay_ms=2.5)
    assert not schedule.varies
    assert schedule.capacity_bits(np.array([0]), np.array([10**9])).tolist() == [1e7]
    assert schedule.delay_ns.tolist() == [2_500_000]


def test_a_queue_without_a_size_has_the_disciplines_default():
    sizes = {
        kind: _planned(1.0, rate_mbps=12.0, delay_ms=25.0, queue={"kind": kind})
        for kind in ("droptail", "head_drop", "codel", "fq_codel", "sfq", "cake", "dualpi2", "gateway")
    }
    limits = {kind: (link.limit_packets, link.limit_bytes) for kind, link in sizes.items()}
    assert limits == {
        "droptail": (50, None),
        "head_drop": (50, None),
        "codel": (1_000, None),
        "fq_codel": (10_240, None),
        "sfq": (127, None),
        "cake": (None, 4 << 20),
        "dualpi2": (10_000, None),
        "gateway": (None, 36_000_000),
    }


def test_rewards_see_the_slowest_link_and_the_propagation_of_all():
    links = {"wide": {"rate_mbps": 24, "delay_ms": 3}, "narrow": {"rate_mbps": 12, "delay_ms": 2}}
    flow = {"scheme": "cubic", "route": ["wide", "narrow"]}
    narrow, wide = leosim.plan_links(scenario(1, links, flow).to_json(), {})
    assert leosim.world([(wide, 1), (narrow, 1)], 0) == (1.5e6, 10_000_000, 10 * 1500, 1)
