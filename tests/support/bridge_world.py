"""Helpers of the bridge's tests: names, agents and waiting for states."""

import contextlib
import itertools
import os
import threading
import time
from pathlib import Path

import pytest

from leogym.kernel_bridge import mahimahi
from leogym.kernel_bridge.bridge.client import Bridge, BridgeError, Report
from leogym.kernel_bridge.bridge.process import missing
from tests.support.veth import PORT

LACK = missing()
needs_bridge = pytest.mark.skipif(LACK is not None, reason=LACK or "")
needs_mahimahi = pytest.mark.skipif(mahimahi.missing() is not None, reason=mahimahi.missing() or "")
POLICY = Path(__file__).parents[2] / "core/control/tests/fixtures/perceptron"
SCHEME = f"leo_t{os.getpid() % 100_000}"
"""Unique to this process, so several may run."""
LIMIT_S = 60
MSS = 1448


def congestion_controls():
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


class Listening(threading.Thread):
    """Passes messages of a client of its own to ``hear`` during the ``with`` block."""

    def __init__(self, address, hear, interval_ms=None):
        super().__init__(daemon=True)
        self.bridge, self.hear = Bridge(address), hear
        self.bridge.subscribe(SCHEME, interval_ms=interval_ms)
        self.over = threading.Event()

    def run(self):
        """Listen until the test or the bridge ends: some tests kill it."""
        with contextlib.suppress(BridgeError):
            while not self.over.is_set():
                if (message := self.bridge.message(0.1)) is not None:
                    self.hear(message)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
        self.bridge.close()


class Steering(Listening):
    """Answers every report of an offered scheme's flows with the same window and rate."""

    def __init__(self, address, cwnd, pacing_bytes_per_s=0, interval_ms=20):
        super().__init__(address, self.answer, interval_ms)
        self.command = (cwnd, pacing_bytes_per_s)
        self.reports = []
        self.steered = threading.Event()

    def answer(self, message):
        if isinstance(message, Report):
            self.reports.append(message)
            self.bridge.command(message.flow, *self.command)
            if len(self.reports) > 3:
                self.steered.set()


def iperf3(shells, seconds):
    """Send with the scheme for some seconds through mahimahi's shells."""
    finished = mahimahi.run(
        shells,
        ["sh", "-c", f"exec iperf3 -c $MAHIMAHI_BASE -C {SCHEME} -t {seconds}"],
        servers=[mahimahi.Server(["iperf3", "--server", "--one-off"], 5201)],
        timeout_s=LIMIT_S,
    )
    assert finished.status == 0, finished.stdout + finished.stderr


def over_12_mbps(folder):
    """Return shells of 12 Mbit/s, an RTT of 50 ms and a queue of 60 packets."""
    trace = folder / "12.trace"
    trace.write_text("1\n")  # an opportunity a millisecond
    queue = mahimahi.Queue("droptail", {"packets": 60})
    return [mahimahi.Delay(25), mahimahi.Link(trace, trace, queue, queue)]


def eventually(read, of, accept):
    """Poll `read()` until `accept` holds for its result; return the result."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        value = read()
        if accept(value):
            return value
        assert time.monotonic() < deadline, f"{of}: still {value}"
        time.sleep(0.01)


def flow_of(client):
    sending = [flow for flow in client.flows() if flow.scheme == SCHEME and flow.remote.endswith(f":{PORT}")]
    return sending[0] if sending else None


def flow_when(client, accept):
    """Return that flow once ``accept`` holds for it."""
    return eventually(lambda: flow_of(client), "flow", lambda flow: flow and accept(flow))


def steered_flow(client, cwnd, because=lambda flow: True):
    """Return that flow once the agent's window is in force and ``because`` holds.

    If the machine stalls for longer than an agent may be silent, the flow briefly falls back to Cubic.
    """
    is_steered = ("steered", cwnd)
    return flow_when(client, lambda flow: (flow.mode, flow.cwnd_packets) == is_steered and because(flow))


def intervals_ended(reports, interval_ms):
    """Return the number of interval ends between reports, which must be whole.

    Interval ends lie on a grid even if the daemon is late; a report has its lateness.
    """
    lengths_us = [
        after["interval_ns"] / 1e3 - after.late_us + before.late_us
        for before, after in itertools.pairwise(reports)
    ]
    assert all(length_us % (1e3 * interval_ms) == 0 for length_us in lengths_us), lengths_us
    return [length_us / (1e3 * interval_ms) for length_us in lengths_us]
