"""Helpers of the bridge's tests: names, agents and waiting for states."""

import contextlib
import itertools
import os
import threading
import time
from pathlib import Path

import pytest

from leogym.kernel_bridge.bridge.client import Bridge, BridgeError, Report
from leogym.kernel_bridge.bridge.process import missing
from tests.support.veth import PORT

LACK = missing()
needs_bridge = pytest.mark.skipif(LACK is not None, reason=LACK or "")
POLICY = Path(__file__).parents[2] / "core/control/tests/fixtures/perceptron"
SCHEME = f"leo_t{os.getpid() % 100_000}"
"""Unique to this process, so several may run."""
LIMIT_S = 60
MSS = 1448


def congestion_controls():
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


class Steering(threading.Thread):
    """Answers every report of an offered scheme's flows with the same window and rate."""

    def __init__(self, address, cwnd, pacing_bytes_per_s=0, interval_ms=20):
        super().__init__(daemon=True)
        self.bridge = Bridge(address)
        self.bridge.subscribe(SCHEME, interval_ms=interval_ms)
        self.command = (cwnd, pacing_bytes_per_s)
        self.reports = []
        self.steered = threading.Event()
        self.over = threading.Event()
        self.start()

    def run(self):
        """Answer until the test or the bridge ends: some tests kill it."""
        with contextlib.suppress(BridgeError):
            while not self.over.is_set():
                message = self.bridge.message(0.1)
                if isinstance(message, Report):
                    self.reports.append(message)
                    self.bridge.command(message.flow, *self.command)
                    if len(self.reports) > 3:
                        self.steered.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
        self.bridge.close()


class Collecting(threading.Thread):
    """Collects a client's reports during the ``with`` block."""

    def __init__(self, client, reports):
        super().__init__(daemon=True)
        self.client, self.reports = client, reports
        self.over = threading.Event()

    def run(self):
        while not self.over.is_set():
            message = self.client.message(0.1)
            if isinstance(message, Report):
                self.reports.append(message)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


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


def steered_flow(client, cwnd, because=lambda flow: True):
    """Return that flow once the agent's window is in force and ``because`` holds.

    If the machine stalls for longer than an agent may be silent, the flow briefly falls back to Cubic.
    """
    return eventually(
        lambda: flow_of(client),
        "flow",
        lambda flow: flow and (flow.mode, flow.cwnd_packets) == ("steered", cwnd) and because(flow),
    )


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
