"""Traces whose directions differ, through the simulator, beside slow references."""

import itertools
import pickle

import leosim
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leogym.traces.capacity.columns import COLUMNS, line
from tests.support.scenarios import path_trace, scenario

MS = 1_000_000


def two_ways(rows, period_ms):
    """Return a trace of (time_ms, (up_ms, down_ms), (up, down connected)) rows of 20 and 40 Mbit/s."""

    def row(at_ms, delays_ms, connected, event):
        values = zip(delays_ms, ("20", "40"), connected, strict=True)
        up, down = ((ms * MS, mbps, "0", on) for ms, mbps, on in values)
        return line(at_ms * MS, up, down, 0, event)

    text = "".join(row(*values, "" if all(values[2]) else "hard_handover") for values in rows)
    lines = path_trace(columns=COLUMNS, version=2)
    return leosim.PathTrace.parse(f"{lines}{text}{row(period_ms, *rows[-1][1:], '')}")


def run(trace, *flows, duration_s=4.0, series_ms=50.0, **link):
    links = {"l": {"trace": "t", "queue": {"packets": 100}, **link}}
    data = scenario(duration_s, links, *({"route": ["l"], **flow} for flow in flows), host_jitter_us=0)
    [log] = leosim.run([data.to_json()], {"t": trace}, {}, series_ms=series_ms)
    return log


@st.composite
def traces(draw):
    count = draw(st.integers(1, 6))
    starts = draw(st.lists(st.integers(1, 900), min_size=count - 1, max_size=count - 1, unique=True))
    rows = []
    for at_ms in [0, *sorted(starts)]:
        delays_ms = [draw(st.integers(1, 120)) for _ in range(2)]
        if rows:
            # Neither direction's delay may fall faster than time runs.
            last_ms, before, _ = rows[-1]
            delays_ms = [
                max(new, old - (at_ms - last_ms)) for new, old in zip(delays_ms, before, strict=True)
            ]
        rows.append((at_ms, tuple(delays_ms), (draw(st.booleans()), draw(st.booleans()))))
    rows[0] = (0, rows[0][1], (True, True))
    return rows, max(1000, rows[-1][0] + 200)


@settings(max_examples=20, deadline=None)
@given(traces(), st.integers(0, 1500), st.integers(0, 20))
def test_the_base_rtt_is_the_sum_of_both_directions_at_every_moment(drawn, offset_ms, extra_ms):
    rows, period_ms = drawn
    flow = {"scheme": "udp", "rate_mbps": 0.5, "extra_delay_ms": extra_ms}
    log = run(two_ways(rows, period_ms), flow, duration_s=2.0, offset_s=offset_ms / 1000)

    def slow_ms(at_ms):
        """Walk through the rows of as many periods as it takes."""
        left, found = at_ms + offset_ms, rows[0]
        while left >= period_ms:
            left -= period_ms
        for row in rows:
            if row[0] <= left:
                found = row
        return sum(found[1]) + 2 * extra_ms

    assert len(log.flow_series["time_s"]) == 40
    ends_ms = np.round(log.flow_series["time_s"] * 1000).astype(int).tolist()
    assert log.flow_series["base_rtt_ms"].tolist() == pytest.approx([slow_ms(at) for at in ends_ms])


@settings(max_examples=20, deadline=None)
@given(traces(), st.sampled_from(["forward", "backward"]))
def test_every_packet_of_both_directions_is_accounted_for(drawn, direction):
    rows, period_ms = drawn
    # TCP's data one way and its acknowledgements the other way, both with queues.
    flow = {"scheme": "cubic", "direction": direction}
    log = run(two_ways(rows, period_ms), flow, duration_s=3.0, reverse={"queue": {"packets": 50}})
    assert [link["link"] for link in log.links] == ["l", "l.reverse"]
    for link in log.links:
        fates = ("delivered", "dropped", "lost", "queued", "in_flight")
        assert link["offered_packets"] == sum(link[f"{fate}_packets"] for fate in fates)


def test_an_rtt_is_the_delay_up_when_the_packet_leaves_and_the_delay_down_when_its_answer_does():
    # At 1 s the way down gets 60 ms longer: answers of packets that left up to 40 ms before meet it. Waiting
    # for a second packet makes an answer 10 ms later.
    trace = two_ways([(0, (40, 10), (True, True)), (1000, (40, 70), (True, True))], 5000)
    flow = {"scheme": "reno", "rate_mbps": 1.2, "start_s": 0.5}
    log = run(trace, flow, duration_s=2.0, series_ms=20.0)
    rtts = dict(zip(np.round(log.flow_series["time_s"], 2), log.flow_series["rtt_ms"], strict=True))
    assert np.nanmax([rtt for at, rtt in rtts.items() if at < 1.04]) < 62
    # The first longer one left at 0.96 s and came back at 1.07 s.
    assert np.nanmin([rtt for at, rtt in rtts.items() if at > 1.1]) > 109
    assert 0 < log.flows[0]["rtt_mean_ms"] - log.flows[0]["base_rtt_mean_ms"] < 10


@pytest.mark.parametrize(("direction", "lost"), [("forward", "l"), ("backward", "l.reverse")])
def test_an_outage_of_one_direction_loses_what_goes_there_and_nothing_else(direction, lost):
    # Up is down from 1 to 1.3 s.
    trace = two_ways(
        [(0, (20, 30), (True, True)), (1000, (20, 30), (False, True)), (1300, (20, 30), (True, True))], 5000
    )
    flow = {"scheme": "udp", "rate_mbps": 1.2, "direction": direction}
    log = run(trace, flow, duration_s=3.0, reverse={"queue": {"packets": 50}}, outage="drop")
    losses = {link["link"]: link["lost_packets"] for link in log.links}
    # 100 packets a second for 0.3 s and those in flight.
    assert losses[lost] == (pytest.approx(32, abs=2) if direction == "forward" else 0)
    assert sum(losses.values()) == losses[lost]


@pytest.mark.parametrize("scheme", ["cubic", "bbr"])
def test_directions_that_are_alike_give_the_same_bytes_as_version_1(scheme):
    rows = [
        (0, 20.25, 0.001, 1, ""),
        (0.7, 21, 0, 0, "hard_handover"),
        (0.9, 22, 0, 1, ""),
        (2, 20.5, 0, 1, ""),
    ]
    one, two = path_trace(), path_trace(columns=COLUMNS, version=2)
    for at_s, delay, loss, up, event in [*rows, (3, 20.5, 0, 1, "")]:
        one += f"{at_s},{delay},40,10,{loss},{up},0,{event}\n"
        two += f"{at_s},{delay},{delay},40,10,{loss},{loss},{up},{up},0,{event}\n"
    logs = [
        run(leosim.PathTrace.parse(text), {"scheme": scheme}, {"scheme": scheme, "start_s": 1}, reverse={})
        for text in (one, two)
    ]
    first, second = logs
    assert repr((first.flows, first.links)) == repr((second.flows, second.links))
    for table in ("flow_series", "link_series"):
        for name, column in getattr(first, table).items():
            assert column.tobytes() == getattr(second, table)[name].tobytes(), name


def test_nobody_takes_one_direction_for_both():
    trace = two_ways([(0, (40, 10), (True, True)), (1000, (40, 40), (True, False))], 2000)
    for name, row in (("delay_ns", 0), ("connected", 1)):
        rule = f"path trace: {name}: the directions differ in row {row}: use up_{name} and down_{name}"
        with pytest.raises(leosim.InputError, match=rule):
            getattr(trace, name)
    assert trace.loss.tolist() == [0, 0]
    alike = two_ways([(0, (40, 40), (True, True))], 2000)
    assert alike.delay_ns.tolist() == alike.up_delay_ns.tolist() == alike.down_delay_ns.tolist()


def test_a_pickled_trace_keeps_its_version_and_its_directions():
    for trace in (
        two_ways([(0, (40, 10), (True, True)), (1000, (40, 40), (True, False))], 2000),
        leosim.PathTrace.parse(path_trace("0,5,1,2,0,1,0,", "1,5,1,2,0,1,0,")),
    ):
        again = pickle.loads(pickle.dumps(trace))
        ways = itertools.product(("up", "down"), ("delay_ns", "loss", "connected"))
        for name in ("version", *map("_".join, ways), "uplink_bps", "downlink_bps"):
            assert np.array_equal(getattr(again, name), getattr(trace, name))
