"""The real program with real packets: its link's effects, and its log and report."""

import json
import os
import subprocess
import sys

import pytest

from leogym.kernel_bridge.shell import missing, program
from leogym.traces.capacity.columns import COLUMNS
from tests.support import udp_server
from tests.support.lateness import Lateness
from tests.support.scenarios import path_trace

LIMIT_S = 60
"""Only guards against hangs."""
HEADERS_BYTES = 28
"""IP and UDP."""
LATE_MS = 10.0
"""An interface queues 500 packets for its reader: 25 ms at the smallest gap above 0 in these tests."""

LACK = missing() or (None if os.geteuid() == 0 else "mm-leo: its tests make namespaces as root")
pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(LACK is not None, reason=LACK or ""),
]

ASK = """
import json, os, socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
    asker.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
    asker.connect((os.environ["MAHIMAHI_BASE"], 9000))
    asker.settimeout(0.5)  # far above the delays of these tests
    asker.send(" ".join(sys.argv[1:]).encode())
    numbers = []
    try:
        while True:
            numbers.append(int.from_bytes(asker.recv(2000)[:4], "big"))
    except TimeoutError:
        print(json.dumps(numbers))
"""


def in_world(*command):
    """Run a command in its own namespaces, next to `udp_server`."""
    unshare = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
    return subprocess.run(
        [*unshare, sys.executable, "-I", udp_server.__file__, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def downloaded(tmp_path, options, *, count, payload, gap_us):
    """Return the numbers that arrive through the downlink, the log's lines and the report."""
    log, report = tmp_path / "log", tmp_path / "report"
    ask = [sys.executable, "-I", "-c", ASK, count, payload, gap_us]
    late = ["--max-late-ms=10000"]  # a busy machine changes departure times, which these tests do not check
    with Lateness(prompt=False) as lateness:
        done = in_world(program(), *options, *late, f"--log={log}", f"--report={report}", "--", *ask)
    assert done.returncode == 0, done.stderr
    summary = json.loads(report.read_text())
    if summary["downlink"]["offered"] < count:
        lateness.skip_above(LATE_MS)
    return json.loads(done.stdout), log.read_text().splitlines(), summary


def events(lines, way):
    """Return one direction's events: time in ns, kind, values."""
    rows = [line.split() for line in lines if not line.startswith("#")]
    return [(_ns(at), kind, values) for at, where, kind, *values in rows if where == way]


def _ns(ms):
    integer, fraction = ms.split(".")
    return int(integer) * 1_000_000 + int(fraction)


def conserved(direction):
    ended = sum(direction[fate] for fate in ("delivered", "dropped", "lost", "under_way"))
    return direction["offered"] == ended


MS = 1_000_000


def foretold(arrivals, rows, period):
    """Return number and time of each packet that arrives over a link of 100 Mbit/s.

    ``arrivals`` has times and bytes; ``rows`` have time in ms, delay in ms and whether the direction is up.
    """
    expected = []
    free = last = 0
    for number, (arrival, size) in enumerate(arrivals):
        begin = max(arrival, free)
        outage = next((index for index, (*_, up) in enumerate(rows) if not up), None)
        down_ns, up_ns = (
            (rows[outage][0] * MS, rows[outage + 1][0] * MS) if outage is not None else (period, period)
        )
        if down_ns <= begin % period < up_ns:
            begin += up_ns - begin % period
        free = begin + size * 8 * 10
        if begin % period < down_ns < free % period:
            free -= free % period - down_ns  # cut off while being sent
            continue
        row = max(index for index, (at, *_) in enumerate(rows) if at * MS <= (free - 1) % period)
        out = max(free + rows[row][1] * MS, last)
        if not free <= free - free % period + down_ns < out:
            expected.append((number, out))
        last = out
    return expected


def test_every_packet_leaves_at_the_nanosecond_that_the_trace_and_the_packets_before_it_ask_for(tmp_path):
    # The delay halves, which must not reorder; then an outage, then another delay; replay wraps at 400 ms.
    rows = [(0, 40, 1), (100, 20, 1), (200, 20, 0), (240, 60, 1), (400, 0, 1)]
    lines = (
        f"{at / 1000},{delay or 1},100,100,0,{up},0,{'' if up else 'hard_handover'}" for at, delay, up in rows
    )
    trace = tmp_path / "trace.csv"
    trace.write_text(path_trace(*lines))
    came_through, lines, report = downloaded(tmp_path, [trace], count=900, payload=1472, gap_us=1000)

    arrivals = [(at, int(size)) for at, kind, (size, *_) in events(lines, "d") if kind == "+"]
    departures = [(at, _ns(late)) for at, kind, (*_, late) in events(lines, "d") if kind == "-"]
    assert len(arrivals) == 900
    expected = foretold(arrivals, rows[:-1], 400 * MS)
    assert [number for number, _ in expected] == came_through
    assert [at - late for at, late in departures] == [out for _, out in expected]
    assert came_through == sorted(came_through)
    assert report["downlink"]["lost"] == 900 - len(came_through) > 0


def test_each_direction_has_the_delay_and_the_outages_that_the_trace_gives_it(tmp_path):
    up = [(0, 70, 1), (100, 60, 1), (200, 50, 1)]
    down = [(0, 12, 1), (100, 12, 0), (200, 25, 1)]
    ends = zip([*up, (400, 50, 1)], [*down, (400, 25, 1)], strict=True)
    lines = (
        f"{at / 1000},{there},{back},100,100,0,0,1,{connected},0,{'' if connected else 'hard_handover'}"
        for (at, there, _), (_, back, connected) in ends
    )
    trace = tmp_path / "trace.csv"
    trace.write_text(path_trace(*lines, columns=COLUMNS, version=2))
    came_through, lines, report = downloaded(tmp_path, [trace], count=500, payload=1472, gap_us=1000)
    for way, rows in (("u", up), ("d", down)):
        arrivals = [(at, int(size)) for at, kind, (size, *_) in events(lines, way) if kind == "+"]
        departures = [(at, _ns(late)) for at, kind, (*_, late) in events(lines, way) if kind == "-"]
        assert [at - late for at, late in departures] == [
            out for _, out in foretold(arrivals, rows, 400 * MS)
        ]
    assert report["uplink"]["lost"] == 0
    assert report["downlink"]["lost"] == 500 - len(came_through) > 0
    assert conserved(report["uplink"])
    assert conserved(report["downlink"])


def test_the_same_seed_loses_the_same_packets_and_another_seed_others(tmp_path):
    link = ["--rate-mbps=100", "--delay-ms=5", "--downlink-loss=0.2"]

    def run(seed):
        return downloaded(tmp_path, [*link, f"--seed={seed}"], count=1000, payload=100, gap_us=50)

    (first, _, report), (again, *_), (other, *_) = run(7), run(7), run(8)
    assert first == again
    assert first != other
    # 200 expected; four standard deviations are 51.
    assert abs(len(first) - 800) <= 51
    assert (
        report["downlink"] | {"offered": 1000, "lost": 1000 - len(first), "dropped": 0} == report["downlink"]
    )
    assert report["uplink"]["lost"] == 0
    assert conserved(report["downlink"])


def test_a_full_queue_drops_and_the_log_counts_every_packet(tmp_path):
    link = ["--rate-mbps=4", "--delay-ms=1", "--queue-packets=50"]
    numbers, lines, report = downloaded(tmp_path, link, count=300, payload=1472, gap_us=0)
    kinds = [kind for _, kind, _ in events(lines, "d")]
    dropped = sum(int(values[0]) for _, kind, values in events(lines, "d") if kind == "d")
    assert (kinds.count("+"), kinds.count("-")) == (300, len(numbers))
    assert report["downlink"]["dropped"] == dropped == 300 - len(numbers)
    assert numbers[:50] == list(range(50))
    assert numbers == sorted(numbers)
    assert report["downlink"]["gone_bytes"] == dropped * (1472 + HEADERS_BYTES)
    header = json.loads(lines[0].removeprefix("# "))
    assert header["format"] == "leogym-shell-log"
    assert header["at_start"]["downlink"]["queue_packets"] == 50
    assert json.loads(lines[-1].removeprefix("# ")) == report


@pytest.mark.parametrize("queue", ["head_drop", "codel", "fq_codel", "pie", "cake", "sfq", "dualpi2"])
def test_behind_every_discipline_packets_are_accounted_for_and_a_flow_keeps_its_order(tmp_path, queue):
    link = ["--rate-mbps=10", "--delay-ms=1", f"--queue={queue}", "--queue-packets=40"]
    numbers, _, report = downloaded(tmp_path, link, count=300, payload=1472, gap_us=0)
    assert conserved(report["downlink"])
    assert report["downlink"]["offered"] == 300
    assert report["downlink"]["dropped"] == 300 - len(numbers) > 0
    assert numbers == sorted(numbers)


def test_a_run_that_was_too_late_is_not_valid_and_fails_a_command_that_succeeded(tmp_path):
    log = tmp_path / "log"
    # No machine wakes up at the exact nanosecond.
    options = ["--rate-mbps=10", "--delay-ms=1", "--no-spin", "--max-late-ms=0", f"--log={log}"]
    ask = [sys.executable, "-I", "-c", ASK, 10, 100, 1000]
    done = in_world(program(), *options, "--", *ask)
    assert done.returncode == 75
    assert "mm-leo: this run is not valid: packets left " in done.stderr
    verdict, report = log.read_text().splitlines()[-2:]
    assert verdict.startswith("# valid: no: packets left ")
    assert json.loads(report.removeprefix("# "))["valid"] is False


# Hogs occupy every core once packets are in flight, so packets in the shell leave late.
BUSY = """
import os, socket, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
    asker.connect((os.environ["MAHIMAHI_BASE"], 9000))
    hogs, (held, hold) = [], os.pipe()
    for core in os.sched_getaffinity(0):
        hog = os.fork()
        if hog == 0:
            os.close(hold)
            os.sched_setaffinity(0, {core})
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
            os.read(held, 1)
            end = time.monotonic() + 0.8
            while time.monotonic() < end:
                pass
            os._exit(0)
        hogs.append(hog)
    asker.send(b"500 100 1000")
    asker.recv(2000)
    os.close(hold)  # starts all hogs
    assert [os.waitpid(hog, 0)[1] for hog in hogs] == [0] * len(hogs)
"""


def test_a_machine_whose_cores_are_all_busy_makes_a_run_not_valid(tmp_path):
    report = tmp_path / "report"
    options = ["--rate-mbps=10", "--delay-ms=200", "--no-realtime", f"--report={report}"]
    done = in_world(program(), *options, "--", sys.executable, "-I", "-c", BUSY)
    assert done.returncode == 75, done.stderr
    assert "this run is not valid: packets left " in done.stderr
    assert json.loads(report.read_text())["valid"] is False
