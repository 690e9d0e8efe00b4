"""Steps of clocks and clocks that differ, in irtt's files and in CSV."""

import json

import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.formats import clocks, irtt, plausible, starlink_csv
from leogym.traces.formats.tally import Tally

START_NS = 1_700_000_000 * NS_PER_S


def test_a_step_of_two_seconds_is_told_from_late_probes():
    sequence = np.arange(50)
    late_ms = np.where(sequence % 7 == 3, 400, 0)
    sent_ns = sequence * NS_PER_S + late_ms * NS_PER_MS
    assert len(clocks.without_steps(sequence, sent_ns).before) == 0
    stepped = clocks.without_steps(sequence, sent_ns + np.where(sequence > 20, 2 * NS_PER_S, 0))
    assert stepped.before.tolist() == [20]
    assert stepped.time_ns == pytest.approx(sent_ns, abs=NS_PER_S / 2)


def test_a_clock_that_is_set_twice_leaves_each_part_with_the_same_least_delays():
    up, down = np.full(30, 25e6) + np.arange(30) % 3 * 1e6, np.full(30, 15e6)
    ahead = np.where(np.arange(30) < 10, 0, np.where(np.arange(30) < 20, 5e12, -3e9))
    down[25] = np.nan  # lost on the way down
    aligned = clocks.aligned(up - ahead, down + ahead)
    assert aligned.steps == 2
    assert not aligned.drifting
    assert aligned.up_ns == pytest.approx(up - 5e6, abs=2000)
    assert aligned.down_ns[:25] == pytest.approx(down[:25] + 5e6, abs=2000)


def _trip(number, wall_s, rtt_ms=40.0, ahead_ms=0.0, *, monotonic_s=None, **changes):
    """Return a round trip whose server's clock is ahead."""
    wall_ns = START_NS + round(wall_s * 1e9)
    monotonic_ns = 0 if monotonic_s is None else round(monotonic_s * 1e9)
    delay = {"rtt": rtt_ms, "send": rtt_ms / 2 + ahead_ms, "receive": rtt_ms / 2 - ahead_ms}
    return {
        "seqno": number,
        "lost": "false",
        "timestamps": {"client": {"send": {"wall": wall_ns, "monotonic": monotonic_ns}}},
        "delay": {name: round(ms * 1e6) for name, ms in delay.items()},
        **changes,
    }


def _irtt(tmp_path, trips, floor_ns=0.0):
    file, tally = tmp_path / "x.json", Tally("probes")
    file.write_text(json.dumps({"round_trips": trips}, indent=1))
    return irtt.read(file, tally, floor_ns), tally.notes("log")


@pytest.mark.parametrize("monotonic", [True, False])
def test_a_step_of_irtts_wall_clock_does_not_count(tmp_path, monotonic):
    # The client's clock goes back by a minute: it gets the server ahead.
    trips = [
        _trip(
            number,
            number / 100 - (60 if number >= 50 else 0),
            ahead_ms=7 + (60_000 if number >= 50 else 0),
            monotonic_s=3 + number / 100 if monotonic else None,
        )
        for number in range(100)
    ]
    measured, notes = _irtt(tmp_path, trips)
    assert measured.time_ns / NS_PER_MS == pytest.approx(10.0 * np.arange(100))
    assert measured.start_ns == START_NS
    assert measured.uplink_ns / NS_PER_MS == pytest.approx(np.full(100, 20.0))
    remark = (
        "the wall clock is -60.000 s off at seqno 50: the time follows the monotonic clock"
        if monotonic
        else "the clock steps by -60.000 s between seqno 49 and 50: left out, the time follows seqno"
    )
    assert notes == [
        f"log: {remark}",
        "log: a wall clock was set once: one-way delays are aligned anew after each",
    ]


def test_irtts_one_way_delays_across_a_step_of_a_clock_are_unknown(tmp_path):
    trips = [_trip(number, number / 100, monotonic_s=1 + number / 100) for number in range(9)]
    # The client's clock is set ahead by 5 s between sending and the answer.
    trips[4]["delay"]["receive"] += 5 * NS_PER_S
    measured, notes = _irtt(tmp_path, trips)
    assert np.flatnonzero(np.isnan(measured.uplink_ns)).tolist() == [4]
    assert set(measured.rtt_ns.tolist()) == {40e6}
    assert notes == ["log: 1 of 9 probes was under way when a wall clock was set: one-way delays unknown"]


def test_irtts_clocks_that_drift_apart_leave_half_the_round_trip(tmp_path):
    trips = [_trip(number, number, ahead_ms=number - 50, monotonic_s=1 + number) for number in range(100)]
    measured, notes = _irtt(tmp_path, trips)
    assert np.isnan(measured.uplink_ns).all()
    assert "the two wall clocks drift apart" in notes[0]


def test_irtts_impossible_and_missing_values_are_not_measured(tmp_path):
    nothing = {"rtt": None, "send": "", "receive": None}
    trips = [
        _trip(0, 0.0),
        _trip(1, 0.01, rtt_ms=0),
        _trip(2, 0.02, rtt_ms=-0.5),
        _trip(3, 0.03, rtt_ms=3.0),
        _trip(4, 0.04, delay=nothing),
        _trip(5, 0.05, delay={"rtt": 41_000_000, "send": None, "receive": 5}),
        _trip(6, 0.06, lost="true", delay={}),
        _trip(7, 0.07, lost=True, delay=None),
    ]
    measured, notes = _irtt(tmp_path, trips, plausible.least_rtt_ns(340))
    assert measured.rtt_ns[[0, 5]].tolist() == [40e6, 41e6]
    assert np.isnan(measured.rtt_ns[[1, 2, 3, 4, 6, 7]]).all()
    assert measured.lost.tolist() == [False] * 6 + [True] * 2
    assert np.flatnonzero(np.isfinite(measured.uplink_ns)).tolist() == [0]
    [note] = notes
    for kind in ("an RTT of 0", "an RTT below 0", "an RTT below the 4.54 ms that light needs", "no RTT"):
        assert f"1 of 8 probes has {kind}: not measured (line " in note


def _csv(tmp_path, text, floor_ns=0.0, columns="", delay_ms=None):
    file, tally = tmp_path / "x.csv", Tally()
    file.write_text(text)
    mapping = starlink_csv.parse_mapping(columns) if columns else {}
    series, _ = starlink_csv.read(file, mapping, delay_ms, 80.0, tally=tally, floor_ns=floor_ns)
    return series, tally.notes("log")


def _delays_ms(series):
    return (series.up.delay_ns / 1e6).tolist(), (series.down.delay_ns / 1e6).tolist()


def test_one_way_delays_of_two_clocks_are_moved_and_minus_one_stays_lost(tmp_path):
    text = "time_ms,uplink_ms,downlink_ms\n0,-0.5,30\n100,-1,30\n200,1.5,32\n300,0.5,-1\n"
    series, notes = _csv(tmp_path, text)
    assert _delays_ms(series) == ([14.75, 14.75, 16.75, 15.75], [14.75, 14.75, 16.75, 16.75])
    assert series.up.connected.tolist() == [True, False, True, True]
    assert series.down.connected.tolist() == [True, True, True, False]
    assert notes == [
        "log: 1 of 4 samples has a negative one-way delay: the two clocks differ; one way is moved by "
        "-15.25 ms, the other back, so that both have the same least delay, 14.75 ms",
        "log: 2 of 4 samples are lost (the first in line 3)",
    ]


@pytest.mark.parametrize("field", ["uplink_ms", "delay_ms"])
def test_a_negative_delay_of_one_direction_alone_is_refused(tmp_path, field):
    with pytest.raises(
        InputError, match=rf"x\.csv:3: {field}: -0\.4 is negative and not -1 \(lost\): the clocks"
    ):
        _csv(tmp_path, f"time_s,{field}\n0,20\n1,-0.4\n")
    series, notes = _csv(tmp_path, f"time_s,{field}\n0,20\n1,-1\n")
    assert series.up.connected.tolist() == [True, False]
    assert notes == ["log: 1 of 2 samples is lost (line 3)"]


def test_lens_one_way_delays_below_0_are_no_lost_probes(tmp_path):
    rows = ["0,40,10488.2,-10448.2", "10000000,41,10489,-10448", "20000000,0,-1,0", "30000000,-1,0,0"]
    series, notes = _csv(tmp_path, "timestamp,rtt,uplink,downlink\n" + "\n".join(rows) + "\n")
    assert series.down.loss.tolist() == [pytest.approx(1 / 3)]
    assert series.up.loss.tolist() == [0.5]
    assert _delays_ms(series) == ([20.25], [20.25])
    assert notes == ["log: 2 of 4 samples are lost (the first in line 4)"]


def test_impossible_and_missing_values_of_a_csv_hold_the_last_ones(tmp_path):
    rows = ["0,,10,", "1,30,,0.1", "2,0,20,", "3,2,nan,0", "4,-1,,0", "5,40,30,1", "6,50,40,0"]
    text = "time_s,rtt_ms,downlink_mbps,loss\n" + "\n".join(rows) + "\n"
    series, notes = _csv(tmp_path, text, plausible.least_rtt_ns(340))
    assert _delays_ms(series)[0] == [15, 15, 15, 15, 15, 15, 25]
    assert (series.down.bps / 1e6).tolist() == [10, 10, 20, 20, 20, 30, 40]
    assert series.up.connected.tolist() == [True, True, True, True, False, False, True]
    assert series.up.loss.tolist() == [0, 0.1, 0, 0, 0, 0, 0]
    assert notes == [
        "log: 2 of 7 samples are lost (the first in line 6); "
        "1 of 7 samples has no RTT: not measured (line 2); "
        "1 of 7 samples has an RTT of 0: not measured (line 4); "
        "1 of 7 samples has an RTT below the 4.54 ms that light needs: not measured (line 5)"
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("time_s,rtt_ms\n0,0\n1,0\n", r"rtt_ms: nothing is measured: 2 of 2 samples have an RTT of 0"),
        ("time_s,rtt_ms\n0,\n1,-1\n", r"rtt_ms: nothing is measured: .* 1 of 2 samples has no RTT"),
        ("time_s,rtt_ms,uplink_mbps\n0,20,\n", r"uplink_mbps: has no value in any row"),
        ("time_s,rtt_ms\n5,20\n6,20\n1700000000,20\n", r":4: time_s: 1\.7e\+09 s after the row before"),
        ("time_s,loss_percent\n0,100\n1,100\n", r"x\.csv: loss: every probe was lost"),
        ("time_s,rtt_ms\n,20\n", r":2: time_s: must be a time, not ''"),
        ("time_utc,rtt_ms\nnoon,20\n", r":2: time_utc: must be ISO 8601, such as"),
        (
            "time_s,rtt_ms\n5,20\n4,20\n",
            r":3: time_s: time runs backwards: .* split the file where its",
        ),
    ],
)
def test_a_csv_without_measurements_is_refused(tmp_path, text, error):
    with pytest.raises(InputError, match=error):
        _csv(tmp_path, text, delay_ms=None if "_ms" in text else 20.0)


def test_a_pause_of_a_csv_is_told(tmp_path):
    text = "time_s,rtt_ms\n" + "".join(f"{at},20\n" for at in (0, 1, 2, 3602, 3603))
    assert _csv(tmp_path, text)[1] == [
        "log: once there is no sample for long, at most for 3,600 s before line 5 (a pause, or the clock was "
        "set): the values before hold"
    ]


def test_the_dishs_history_gives_rtts_and_drops(tmp_path):
    head = "datetimestamp_utc,pop_ping_drop_rate,pop_ping_latency_ms,downlink_throughput_bps,snr\n"
    rows = [
        "2024-05-01T12:00:00,0.0,36,99.5,",
        "2024-05-01T12:00:01,1.0,,0,",
        "2024-05-01T12:00:02,0.05,34,9,",
    ]
    series, notes = _csv(tmp_path, head + "\n".join(rows) + "\n", plausible.least_rtt_ns(340))
    assert _delays_ms(series)[0] == [18, 18, 17]
    assert series.up.connected.tolist() == [True, False, True]
    assert series.up.loss.tolist() == [0, 0, 0.05]
    assert notes == ["log: 1 of 3 samples is lost (line 3)"]
