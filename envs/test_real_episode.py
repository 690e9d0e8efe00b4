import time
from typing import Any

import pytest

from leogym.configs.scenario import parse
from leogym.envs.real_episode import Episode
from leogym.kernel_bridge.bridge.client import REPORT_FIELDS, Report
from leogym.kernel_bridge.runner.plan import plan

LINKS = {
    "a": {"rate_mbps": 40, "delay_ms": 10, "queue": {"packets": 70}},
    "b": {"rate_mbps": 12, "delay_ms": 15, "queue": {"bytes": 90_000}},
    "c": {"rate_mbps": 24, "delay_ms": 5, "queue": {"kind": "fq_codel"}},
}


class Planned:
    """A fake run that has a plan but never begins."""

    def __init__(self, *flows, duration_s=60):
        described = [{"scheme": "agent", **flow} for flow in flows]
        data = {"name": "t", "duration_s": duration_s, "links": LINKS, "flows": described}
        self.plan = plan(parse(data, "t"), {}, ["agent", "cubic"], "kernel")


def _episode(*flows, learners=(0,), elapsed_s=1.0, on_grid=True, **more):
    origin_ns = time.monotonic_ns() - round(elapsed_s * 1e9)
    planned: Any = Planned(*flows, **more)
    nobody: Any = None
    return Episode(planned, nobody, list(learners), origin_ns, 30.0, on_grid=on_grid)


@pytest.mark.parametrize(
    ("route", "expected"),
    [
        (["a"], (5e6, 20_000_000, 105_000)),
        (["a", "b"], (1.5e6, 50_000_000, 90_000)),
        # Linux's default size: 10,240 packets.
        (["c"], (3e6, 10_000_000, 10_240 * 1500)),
    ],
)
def test_the_path_is_the_bottlenecks_rate_and_buffer_and_all_links_delay(route, expected):
    path = _episode({"route": route, "extra_delay_ms": 7}).path(0)
    assert (path.world, path.bottleneck) == ((*expected, 1), route[-1])


def test_flows_that_share_a_path_are_counted_while_they_run():
    flows = [{"route": ["a"]}, {"route": ["a"], "scheme": "cubic", "start_s": 5, "stop_s": 9}]
    assert [_episode(*flows, elapsed_s=at_s).path(0).flows_on_path for at_s in (1, 6, 10)] == [1, 2, 1]


def test_a_path_has_the_flows_of_its_own_bottleneck():
    flows = [{"route": ["a"]}, {"route": ["b"]}, {"route": ["a", "b"], "scheme": "cubic"}]
    episode = _episode(*flows, learners=(0, 1))
    paths = [episode.path(slot) for slot in (0, 1)]
    assert [(path.capacity_bytes_per_s, path.flows_on_path) for path in paths] == [(5e6, 2), (1.5e6, 2)]
    assert [episode.crosses(slot, "a") for slot in (0, 1)] == [True, False]
    assert _episode(*flows[:2]).path(0).flows_on_path == 1


def test_slots_are_the_learning_flows_in_the_scenarios_order():
    flows = [{"route": ["a"], "scheme": "cubic"}, {"route": ["a"]}, {"route": ["a"], "count": 2}]
    episode = _episode(*flows, learners=(1, 2, 3))
    assert [episode.slot_of_port(5000 + number) for number in (1, 2, 3)] == [0, 1, 2]
    episode.open[2] = 99
    assert episode.slot_of(99) == 2
    assert episode.slot_of(98) is None


def test_an_episode_is_over_when_no_learning_flow_runs_or_will():
    flows = [{"route": ["a"]}, {"route": ["a"], "start_s": 5}]
    episode = _episode(*flows, learners=(0, 1))
    assert not episode.is_over()
    episode.open[0] = 7
    episode.closed.add(1)
    assert not episode.is_over(), "one runs"
    del episode.open[0]
    episode.closed.add(0)
    assert episode.is_over()
    assert _episode(*flows, learners=(0, 1), elapsed_s=61).is_over(), "the time is up"
    assert _episode(*flows, learners=(0, 1), elapsed_s=36).is_over(), "neither has connected in 30 s"


def _report(interval_us, late_us):
    values = [0.0] * len(REPORT_FIELDS)
    values[REPORT_FIELDS.index("interval_ns")] = 1e3 * interval_us
    return Report(7, tuple(values), late_us)


def test_every_interval_end_that_nobody_decided_for_is_counted_also_those_that_the_bridge_slept_through():
    episode = _episode({"route": ["a"]})
    assert episode.undecided(0, _report(30_400, 400)) == 0, "the first: there was nothing to decide on"
    episode.decided.add(0)
    assert episode.undecided(0, _report(29_700, 100)) == 0
    # There was no decision on that one.
    assert episode.undecided(0, _report(30_000, 100)) == 1
    # 105 ms late: three intervals had ended, after 30, 60 and 90 ms.
    episode.decided.add(0)
    assert episode.undecided(0, _report(135_000, 105_100)) == 3
    # The next end is 15 ms after that report.
    episode.decided.add(0)
    assert episode.undecided(0, _report(15_000, 100)) == 0


def test_where_each_interval_has_its_own_length_a_report_ends_one():
    episode = _episode({"route": ["a"]}, on_grid=False)
    assert episode.undecided(0, _report(30_400, 400)) == 0, "the first: there was nothing to decide on"
    episode.decided.add(0)
    assert episode.undecided(0, _report(12_000, 100)) == 0
    assert episode.undecided(0, _report(47_000, 35_000)) == 1, "nobody decided on the one before"
