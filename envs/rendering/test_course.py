import numpy as np
import pytest

from leogym import traces
from leogym.configs.scenario import Scenario, parse
from leogym.envs.rendering.course import REROUTE, Course, course
from leogym.traces.path import handover

ORBIT = {"trace": "sd-ny-bp", "offset_s": 5700.0, "rate_mbps": 100.0}


def scenario(**changes: object) -> Scenario:
    data = {
        "duration_s": 60.0,
        "links": {"orbit": ORBIT},
        "flows": [{"scheme": "agent", "route": ["orbit"]}],
        **changes,
    }
    return parse(data, "test")


def course_of(case: Scenario) -> Course:
    return course(case, traces.load_all(case.traces))


def test_events_are_at_their_times_of_the_episode_and_go_on_after_the_traces_end():
    trace = traces.load("sd-ny-bp")
    period_s = trace.period_ns / 1e9
    assert ORBIT["offset_s"] + 60 > period_s, "the episode wraps"
    kinds = np.array([event.partition("(")[0] for event in trace.event])
    events = course_of(scenario()).event_s
    for kind in (handover.HARD, handover.SOFT):
        at_s = trace.time_ns[kinds == kind] / 1e9 - ORBIT["offset_s"]
        expected = [time_s for time_s in (*at_s, *(at_s + period_s)) if 0 <= time_s < 60]
        assert expected
        assert events[kind].tolist() == pytest.approx(expected)


def test_the_base_rtt_is_twice_the_traces_delay_and_the_access():
    trace = traces.load("sd-ny-bp")
    flows = [
        {"scheme": "agent", "route": ["orbit"]},
        {"scheme": "cubic", "route": ["orbit"]},
        {"scheme": "agent", "route": ["orbit"], "extra_delay_ms": 7.0},
    ]
    result = course_of(scenario(flows=flows))
    at_s = (np.arange(600) * 0.1 + ORBIT["offset_s"]) % (trace.period_ns / 1e9)
    row = np.searchsorted(trace.time_ns / 1e9, at_s + 1e-6, side="right") - 1
    assert result.base_rtt_ms[0] == pytest.approx(2 * trace.delay_ns[row] / 1e6)
    assert result.base_rtt_ms[1] - result.base_rtt_ms[0] == pytest.approx(np.full(600, 14.0))


def test_an_outage_takes_its_share_of_the_capacity():
    result = course_of(scenario())
    assert len(result.outage_s) > 0
    lost_s = np.diff(result.outage_s).sum()
    assert result.capacity_mbps.mean() == pytest.approx(100 * (1 - lost_s / 60))
    assert result.capacity_mbps.max() == pytest.approx(100)


def test_the_capacity_is_that_of_the_narrowest_link_of_the_route_taken():
    links = {
        "wide": {"rate_mbps": 50, "delay_ms": 5},
        "narrow": {"rate_mbps": 8, "delay_ms": 1},
        "slow": {"rate_mbps": 20, "delay_ms": 40},
    }
    flows = [{"scheme": "agent", "route": ["wide", "narrow"]}]
    events = [{"at_s": 1.0, "reroute": {"flows": [0], "route": ["slow"]}}]
    result = course_of(scenario(links=links, flows=flows, events=events, duration_s=2.0))
    assert result.capacity_mbps.tolist() == pytest.approx([8.0] * 10 + [20.0] * 10)
    assert result.base_rtt_ms[0].tolist() == pytest.approx([12.0] * 10 + [80.0] * 10)
    assert result.event_s[REROUTE].tolist() == [1.0]
    assert result.route(0.99) == ["wide", "narrow"]
    assert result.route(1.0) == ["slow"]
