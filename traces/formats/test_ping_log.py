"""Lines that ping writes, in any language, and the time and number of its probes."""

import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.formats import ping_log, plausible, probes
from leogym.traces.formats.tally import Tally

START_S = 1_700_000_000
UNTIMED = "1 of 3 probes has an answer without a readable time=: not measured (line 3)"
ERROR = "1 of 3 probes has an error of a router or the host for an answer: lost"
TWICE = "1 of 3 probes is answered twice: the first answer counts (line 4)"
CLOCK = "1 line warns that the time of day goes back (line 3)"
TOO_FAST = "1 of 3 probes has an RTT below the 4.54 ms that light needs: not measured (line 3)"
CORRUPTED = "1 of 3 probes has an answer with a wrong checksum: lost (line 3)"
TOO_LONG = "1 of 3 probes has an RTT above 19998 ms: not measured (line 3)"
HEAD = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n"


def _answer(sequence, at_s, rtt_ms="20.0", remark=""):
    """Return the line of an answer; ``at_s`` is when the probe was sent."""
    at = f"{START_S + at_s + float(rtt_ms.replace(',', '.')) / 1000:.6f}"
    return f"[{at}] 64 bytes from 192.0.2.1: icmp_seq={sequence} ttl=63 time={rtt_ms} ms{remark}\n"


def _read(tmp_path, text, floor_ns=0.0):
    file, tally = tmp_path / "ping.txt", Tally("probes")
    file.write_text(text)
    measured = ping_log.read(file, tally, floor_ns)
    return measured, tally.notes("log")


def _lost(measured):
    return "".join(
        "x" if lost else "?" if np.isnan(rtt) else "."
        for lost, rtt in zip(measured.lost, measured.rtt_ns, strict=True)
    )


def test_probes_lost_before_the_first_and_after_the_last_answer_count(tmp_path):
    waits = "[{}.0] no answer yet for icmp_seq={}\n".format
    text = HEAD + waits(START_S + 2, 1) + waits(START_S + 3, 2) + _answer(3, 3) + _answer(4, 4)
    text += "".join(waits(START_S + number + 1, number) for number in range(5, 8))
    tail = "\n--- 192.0.2.1 ping statistics ---\n9 packets transmitted, 2 received, time 8012ms\n"
    for end, pattern in (("", "xx..xxx"), (tail, "xx..xxxxx")):
        measured, _ = _read(tmp_path, text + end)
        assert _lost(measured) == pattern
        assert measured.time_ns / NS_PER_S == pytest.approx(range(len(pattern)), abs=0.001)
    series = probes.binned(measured, 100 * NS_PER_MS, 100.0, "log")
    assert series.period_ns == 9 * NS_PER_S
    assert np.flatnonzero(series.up.connected).tolist() == [*range(20, 40)]


def test_without_its_beginning_a_log_does_not_tell_of_probes_before(tmp_path):
    tail = "--- 192.0.2.1 ping statistics ---\n65541 packets transmitted, 4 received\n"
    sent = _answer(65534, 0) + _answer(65535, 1) + _answer(0, 2) + _answer(1, 3)
    measured, _ = _read(tmp_path, sent + tail)
    # 65,541 is 5 after the numbers wrapped.
    assert _lost(measured) == "....xxxx"


def test_lost_probes_without_any_time_are_sent_at_the_summarys_interval(tmp_path):
    tail = (
        "--- 192.0.2.1 ping statistics ---\n4 packets transmitted, 1 received, 75% packet loss, time 600ms\n"
    )
    measured, _ = _read(tmp_path, HEAD + _answer(2, 0) + tail)
    assert _lost(measured) == "x.xx"
    assert (measured.time_ns / NS_PER_MS).tolist() == [0, 200, 400, 600]


@pytest.mark.parametrize("step_s", [3600.0, -3600.0, -0.5])
def test_steps_of_the_clock_do_not_count(tmp_path, step_s):
    sent = [(number, number / 10 + (step_s if number > 5 else 0)) for number in range(1, 13) if number != 6]
    measured, notes = _read(tmp_path, HEAD + "".join(_answer(*probe) for probe in sent))
    assert _lost(measured) == ".....x......"
    if abs(step_s) > 1:
        assert measured.time_ns / NS_PER_MS == pytest.approx(100 * np.arange(12), abs=0.01)
        assert notes == [
            f"log: the clock steps by {step_s:+,.3f} s between icmp_seq 5 and 7: "
            "left out, the time follows icmp_seq"
        ]
    else:
        # As small a step may be a late probe; the order of the probes stays.
        assert (np.diff(measured.time_ns) >= 0).all()


def test_a_probe_on_its_way_when_the_clock_steps_is_not_measured(tmp_path):
    step = _answer(3, 0.2, "5020.0") + "".join(
        _answer(number, 5 + (number - 1) / 10) for number in range(4, 9)
    )
    measured, notes = _read(tmp_path, HEAD + _answer(1, 0) + _answer(2, 0.1) + step)
    assert _lost(measured) == "..?....."
    assert measured.time_ns / NS_PER_MS == pytest.approx(100 * np.arange(8), abs=0.01)
    assert notes[1] == "log: 1 of 8 probes was under way when the clock stepped: not measured"


def test_numbers_that_wrap_during_an_outage_are_told_by_the_time(tmp_path):
    # RTTs vary by more than an interval.
    first = [_answer(number, number / 100, f"{20 + 17 * (number % 3)}.0") for number in range(1, 31)]
    # 65,536 + 40,000 numbers later.
    later = 30 + 65_536 + 40_000
    text = HEAD + "".join(first) + _answer(later % 65_536, later / 100)
    measured, _ = _read(tmp_path, text)
    assert len(measured.lost) == later
    assert measured.time_ns[-1] / NS_PER_S == pytest.approx(later / 100 - 0.01, abs=0.001)


@pytest.mark.parametrize(
    ("line", "pattern", "note"),
    [
        (_answer(2, 1, "20,0"), "...", ""),
        (_answer(2, 1, remark=" (DIFFERENT ADDRESS!)"), "...", ""),
        (_answer(2, 1, "0.000"), ".?.", "1 of 3 probes has an RTT of 0: not measured (line 3)"),
        (_answer(2, 1, "3.5"), ".?.", TOO_FAST),
        (_answer(2, 1, "3600020"), ".?.", TOO_LONG),
        (_answer(2, 1, remark=" (BAD CHECKSUM!)"), ".x.", CORRUPTED),
        (_answer(2, 1) + _answer(2, 1, "25.0", " (DUP!)"), "...", TWICE),
        (_answer(2, 1) + _answer(2, 1, "25.0", " (DUP!) (DIFFERENT ADDRESS!)"), "...", TWICE),
        (_answer(2, 1).replace("time=20.0 ms", "(truncated)"), ".?.", UNTIMED),
        (_answer(2, 1).replace("64 bytes from", "64 Bytes von").replace("time", "Zeit"), "...", ""),
        (
            _answer(2, 1).replace("192.0.2.1:", "192.0.2.1 :").replace("time=20.0 ms", "temps=20,0 ms"),
            "...",
            "",
        ),
        (_answer(2, 1).replace("time=20.0 ms", "時間=20.0ミリ秒"), "...", ""),
        (_answer(2, 1, remark=" (FALSCHE PRÜFSUMME!)"), ".?.", UNTIMED),
        (_answer(2, 1).replace("192.0.2.1:", "one.example (2001:db8::1):"), "...", ""),
        (_answer(2, 1).replace("192.0.2.1:", "fe80::1%eth0:").replace("icmp_seq=", "icmp_req="), "...", ""),
        (
            f"[{START_S}.5] From 192.0.2.9: icmp_seq=2 Redirect Host(New nexthop: 192.0.2.7)\n"
            + _answer(2, 1),
            "...",
            "",
        ),
        (f"[{START_S}.5] From 192.0.2.9 icmp_seq=2 Time to live exceeded\n", ".x.", ERROR),
        (f"[{START_S}.5] From 192.0.2.9 icmp_seq=2 Frag needed and DF set (mtu = 1400)\n", ".x.", ERROR),
        (f"[{START_S}.5] From 2001:db8::9: icmp_seq=2 Packet too big: mtu=1400\n", ".x.", ERROR),
        (f"[{START_S}.5] Von 192.0.2.9 icmp_seq=2 Zielnetz nicht erreichbar\n", ".x.", ERROR),
        (f"[{START_S}.5] From 192.0.2.9: Source Quench\n", ".x.", ""),
        ("ping: sendmsg: Network is unreachable\n", ".x.", ""),
        ("ping: local error: message too long, mtu=1400\n", ".x.", ""),
        ("Warning: time of day goes back (-12us), taking countermeasures.\n", ".x.", CLOCK),
        ("ping: Warning: time of day goes back (-12us), taking countermeasures\n", ".x.", CLOCK),
        (
            _answer(2, 1) + "wrong data byte #16 should be 0x10 but was 0x11\n#16\t10 11 12 \n#48\t30 31 \n",
            "...",
            "3 lines are of a dump of wrong data: left out (the first in line 4)",
        ),
        (
            _answer(2, 1) + "RR: \t192.0.2.1\n\t192.0.2.2\t(same route)\n",
            "...",
            "1 line is none of ping -D: left out (line 5)",
        ),
        ("\r2/3 packets, 33% loss, min/avg/ewma/max = 20.000/20.000/20.000/20.000 ms\n\n", ".x.", ""),
        ("nohup: ignoring input\n", ".x.", "1 line is none of ping -D: left out (line 3)"),
        (_answer(2, 1)[:-16] + "\n", ".?.", UNTIMED),
    ],
)
def test_every_line_that_ping_writes_is_read_or_counted(tmp_path, line, pattern, note):
    floor_ns = plausible.least_rtt_ns(plausible.STARLINK_KM)
    measured, notes = _read(tmp_path, HEAD + _answer(1, 0) + line + _answer(3, 2), floor_ns)
    assert _lost(measured) == pattern
    assert set(measured.rtt_ns[np.isfinite(measured.rtt_ns)].tolist()) == {20.0 * NS_PER_MS}
    assert notes == ([f"log: {note}"] if note else [])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "64 bytes from 192.0.2.1: seq=0 ttl=57 time=12.3 ms\n",
            r":1: line: has no \[time\]: log with ping -D",
        ),
        ("Reply from 192.0.2.1: bytes=32 time=12ms TTL=57\n", r":1: line: has no \[time\]: log with ping -D"),
        ("12:00:00.1 64 bytes from a: icmp_seq=0 ttl=57 time=9 ms\n", r":1: line: has no \[time\]"),
        (_answer(1, 0) + HEAD + _answer(1, 9), r":2: line: another run of ping begins: import each run"),
        (_answer(1, 0) + _answer(2, 1) + _answer(1, 9), r":3: icmp_seq: 1 again: another run of ping begins"),
        (_answer(1, 0) + "--- a ---\n1 sent, 1 received\n" + _answer(2, 9), r":4: line: another run of ping"),
        (_answer(1, 0, "0.000"), r":1: file: has no answer with an RTT: 1 of 1 probes has an RTT of 0"),
        ("[1.5] no answer yet for icmp_seq=1\n", r":1: file: has no answer with an RTT$"),
        ("a,b\n1,2\n", r":1: line: must be a line of ping -D: .* \(log with LC_ALL=C ping -D\)"),
        (_answer(1, 0) + "[1.5] pong\n" * 2, r":2: line: must be a line of ping -D"),
    ],
)
def test_what_is_no_log_of_one_run_is_refused_by_line_and_rule(tmp_path, text, error):
    with pytest.raises(InputError, match=error):
        _read(tmp_path, text)
