import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_MS
from leogym.traces.formats import importing, irtt, ping_log, probes
from leogym.traces.formats.format import Options

START_S = 1_700_000_000


def _ping(tmp_path, answers, head="PING 1.1.1.1 (1.1.1.1) 56(84) bytes of data.\n", tail=""):
    """Write a log of (sequence number, seconds of sending, RTT in ms)."""
    file = tmp_path / "ping-10ms.txt"
    file.write_text(
        head
        + "".join(
            f"[{START_S + at_s + rtt / 1000:.6f}] 64 bytes from a: icmp_seq={seq} ttl=63 time={rtt:g} ms\n"
            for seq, at_s, rtt in answers
        )
        + tail
    )
    return file


def _trip(at_ms, rtt_ms=None, lost="false", up_ms=0.0, ahead_ms=0.0):
    """Return a round trip as irtt writes it; the server's clock is ahead by ``ahead_ms``."""
    stamps = {"client": {"send": {"wall": START_S * 10**9 + round(at_ms * 1e6), "monotonic": 1}}}
    trip = {"seqno": 0, "lost": lost, "timestamps": stamps, "delay": {}, "ipdv": {}}
    if rtt_ms is not None:
        ns = {"rtt": rtt_ms, "send": up_ms + ahead_ms, "receive": rtt_ms - up_ms - ahead_ms}
        trip["delay"] = {key: round(value * 1e6) for key, value in ns.items()}
    return trip


def _irtt(tmp_path, trips, indent=4):
    file = tmp_path / "irtt.json"
    about = {"version": {"irtt": "0.9.1"}, "stats": {"rtt": {"n": 5}}, "round_trips": trips}
    file.write_text(json.dumps(about, indent=indent))
    return file


def test_a_ping_log_has_the_times_of_answers_and_leaves_out_the_lost_probes(tmp_path):
    sent = [(1, 0.00, 40.0), (2, 0.01, 41.0), (5, 0.04, 50.0), (4, 0.03, 80.0)]
    tail = "\n--- a ping statistics ---\n5 packets transmitted, 4 received, time 40ms\nrtt min/avg\n"
    found = ping_log.read(_ping(tmp_path, sent, tail=tail))
    assert found.time_ns / NS_PER_MS == pytest.approx([0, 10, 20, 30, 40], abs=0.01)
    assert found.lost.tolist() == [False, False, True, False, False]
    assert found.rtt_ns[~found.lost] / NS_PER_MS == pytest.approx([40, 41, 80, 50])
    assert found.start_ns == pytest.approx(START_S * 10**9, abs=10**4)


def test_sequence_numbers_of_pings_wrap_and_repeated_answers_do_not_count(tmp_path):
    head = "ping: Warning: source address might be selected on device other than: eth0\n"
    tail = (
        f"[{START_S}.1] 64 bytes from 1.1.1.1: icmp_seq=1 ttl=63 time=9 ms (DUP!)\n"
        f"[{START_S}.2] no answer yet for icmp_seq=4\n"
        f"[{START_S}.3] From 192.168.1.1 icmp_seq=5 Destination Host Unreachable\n"
    )
    sent = [(65535, 0, 20), (0, 0.01, 21), (1, 0.02, 22), (3, 0.04, 23)]
    found = ping_log.read(_ping(tmp_path, sent, head, tail))
    # Probes that a line names after the last answer are lost, too.
    assert found.lost.tolist() == [False, False, False, True, False, True, True]
    assert np.nanmax(found.rtt_ns) == 23 * NS_PER_MS


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "64 bytes from 1.1.1.1: icmp_seq=1 ttl=63 time=9 ms\n",
            r"x\.txt:1: line: has no \[time\]: log with ping -D",
        ),
        ("\n[1.5] pong\n", r"x\.txt:2: line: must be a line of ping -D"),
        (
            "[1.5] 64 bytes from a: icmp_seq=70000 ttl=63 time=9 ms\n",
            r"x\.txt:1: icmp_seq: must be an integer",
        ),
        ("[1.5] 64 bytes from a: icmp_seq=7 ttl=63 time=99999 ms\n", r"x\.txt:1: rtt: must be a number"),
        ("[1.2.3] 64 bytes from a: icmp_seq=7 ttl=63 time=9 ms\n", r"x\.txt:1: time: must be a number"),
        ("PING a\n", r"x\.txt:1: file: has no answer"),
    ],
)
def test_a_bad_ping_log_is_refused_by_line_and_rule(tmp_path, text, error):
    file = tmp_path / "x.txt"
    file.write_text(text)
    with pytest.raises(InputError, match=error):
        ping_log.read(file)


@pytest.mark.parametrize("indent", [4, None])
def test_irtts_one_way_delays_lose_the_difference_of_the_clocks(tmp_path, indent):
    trips = [
        _trip(0, 40, up_ms=25, ahead_ms=10_000),
        _trip(10, 46, up_ms=30, ahead_ms=10_000),
        _trip(20, lost="true_up"),
        _trip(30, lost="true_down"),
        _trip(40, lost="true"),
        _trip(50, 44, up_ms=29, ahead_ms=10_000),
    ]
    found = irtt.read(_irtt(tmp_path, trips, indent))
    assert (found.time_ns / NS_PER_MS).tolist() == [0, 10, 20, 30, 40, 50]
    assert found.lost.tolist() == [False, False, True, True, True, False]
    assert (found.lost_up.tolist().index(True), found.lost_down.tolist().index(True)) == (2, 3)
    assert found.lost_up.sum() == found.lost_down.sum() == 1
    # Least 25 up and 15 down: a clock cannot tell this from 20 and 20.
    assert found.uplink_ns[~found.lost] / NS_PER_MS == pytest.approx([20, 25, 24])
    assert found.downlink_ns[~found.lost] / NS_PER_MS == pytest.approx([20, 21, 20])
    assert found.uplink_ns + found.downlink_ns == pytest.approx(found.rtt_ns, nan_ok=True)


def test_irtts_times_of_one_end_alone_leave_the_ways_unknown(tmp_path):
    trip = _trip(0, 40)
    del trip["delay"]["send"], trip["delay"]["receive"]
    found = irtt.read(_irtt(tmp_path, [trip]))
    assert found.rtt_ns.tolist() == [40 * NS_PER_MS]
    assert np.isnan(found.uplink_ns).all()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[1]", r"x\.json:\d+: file: must be irtt's JSON"),
        ('{"round_trips": 3}', r"x\.json:1: file: must be irtt's JSON"),
        ('{"round_trips": []}', r"x\.json:1: round_trips: is empty"),
        ('{\n"round_trips": [\n{"lost": "maybe"}]}', r"x\.json:3: lost: must be one of false, true"),
        ('{"round_trips": [{"lost": "true"}]}', r"timestamps\.client\.send\.wall: must be an integer"),
        ('{"round_trips": [{"lost": "true"} 3', r"x\.json:1: lost|commas|wall"),
        ('{\n"round_trips": [{', r"x\.json:2: round_trips: must be an array of JSON objects"),
    ],
)
def test_a_bad_irtt_file_is_refused_by_line_and_rule(tmp_path, text, error):
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(InputError, match=error):
        irtt.read(file)


def test_lost_and_irregular_pings_come_into_the_slots_in_which_they_were_sent(tmp_path):
    # At 10 ms: one probe lost alone, four in a row, two in one slot, a slot without a probe.
    sent = [(seq, seq / 100, 40.0) for seq in range(100) if seq != 20 and not 50 <= seq < 54]
    sent[9:11] = [(9, 0.085, 44.0), (10, 0.1, 48.0)]
    series = probes.binned(ping_log.read(_ping(tmp_path, sent)), 10 * NS_PER_MS, 80.0, "x")
    assert len(series.time_ns) == 100
    assert np.flatnonzero(~series.up.connected).tolist() == [50, 51, 52, 53]
    assert series.event[50] == "unreachable"
    # The slot of the lost probe holds the delay; its loss is in the second around.
    assert series.up.delay_ns[[20, 51]].tolist() == [20 * NS_PER_MS] * 2
    assert series.up.delay_ns[10] == 24 * NS_PER_MS
    assert series.up.delay_ns[8] == 21 * NS_PER_MS  # two probes
    assert series.up.delay_ns[9] == 21 * NS_PER_MS  # none
    assert series.up.loss[20] == pytest.approx(1 / 67, abs=0.003)
    assert series.up.loss[50] == 0
    assert series.up.loss[99] == 0


def test_stamped_probes_give_each_direction_its_own_delay_loss_and_outages(tmp_path):
    # At 10 ms: 25 and later 30 ms up, 15 down; two lost alone on one way, four in a row on each way.
    lost = {20: "true_up", 25: "true_down", 25 + 1: "true_down"}
    lost |= dict.fromkeys(range(50, 54), "true_down") | dict.fromkeys(range(70, 74), "true_up")
    late_ms = [5 if n > 40 else 0 for n in range(100)]
    trips = [
        _trip(10 * n, lost=lost[n]) if n in lost else _trip(10 * n, 40 + more, up_ms=25 + more)
        for n, more in enumerate(late_ms)
    ]
    series = probes.binned(irtt.read(_irtt(tmp_path, trips)), 10 * NS_PER_MS, 80.0, "x")
    # The clocks only tell changes: both ways have the same least delay, 20 ms.
    assert (series.up.delay_ns[[0, 20, 99]] / NS_PER_MS).tolist() == [20, 20, 25]
    assert set(series.down.delay_ns.tolist()) == {20 * NS_PER_MS}
    assert np.flatnonzero(~series.up.connected).tolist() == [*range(70, 74)]
    assert np.flatnonzero(~series.down.connected).tolist() == [*range(50, 54), *range(70, 74)]
    assert [row for row, event in enumerate(series.event) if event] == [50, 70]
    assert series.up.loss[20] == pytest.approx(1 / 67, abs=0.003)
    assert series.down.loss[20] == pytest.approx(2 / 67, abs=0.003)


@given(st.lists(st.booleans(), min_size=2, max_size=60), st.integers(1, 40))
def test_no_probe_is_lost_twice_on_its_way_into_slots(lost, slot_ms):
    lost[0] = False
    rtt = np.where(lost, np.nan, 40e6)
    found = probes.of_round_trips(np.arange(len(lost)) * 10 * NS_PER_MS, rtt)
    (_, out), (_, out_down) = probes.losses(found)
    assert (out == out_down).all()
    assert (found.lost | ~out).all()
    series = probes.binned(found, slot_ms * NS_PER_MS, 80.0, "x")
    assert series.up.connected[np.unique(found.time_ns[~found.lost] // (slot_ms * NS_PER_MS))].all()
    assert (series.up.loss > 0).any() == (found.lost & ~out).any() or not series.up.connected.all()
    # An outage of three probes spans 30 ms: at least a slot of 10 ms is out.
    assert series.up.connected.all() <= (not out.any() or slot_ms > 10)


def test_a_recording_of_leoreplayer_is_pings_for_the_delay_and_packets_for_the_capacity(tmp_path):
    log = _ping(tmp_path, [(seq, seq / 100, 40.0) for seq in range(200)])
    down = tmp_path / "bw_1.txt"
    down.write_text("".join(f"{ms}\n" for ms in range(1, 2001) for _ in range(2)))
    series, job = importing.read(log, "ping", Options(downlink=down, capacity_mbps=8.0))
    assert len(series.time_ns) == 200
    # Two packets of 1,500 bytes a millisecond, towards the user, which is at "to": from → to.
    assert set(series.up.bps.tolist()) == {24_000_000}
    assert set(series.down.bps.tolist()) == {8_000_000}
    assert job.metadata["terminal_at"] == "to"
    assert "200 probes, 0 lost, 0 of them in outages; 0 of 200 slots of 10 ms have no probe" in job.notes
