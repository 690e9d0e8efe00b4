"""Telling SaTCP flows of the handovers that their paths announce, as the simulator's SaTCP knows of them.

A report comes T_err = 0.6 s before its handover is expected, about 90 % of predictions being within that
(SaTCP, INFOCOM 2023, section V-B), and holds for 2 T_err + TCP_RTO_MIN + 0.1 s = 1.5 s (section V-C).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping

import leosim

from kernel_bridge.client import Bridge, BridgeError, Closed, Opened
from kernel_bridge.run.plan import Plan, PlannedFlow, PlannedLink
from kernel_bridge.run.schedule import NS_PER_MS, NS_PER_S

REPORT_ERROR_NS = 600 * NS_PER_MS
INHIBITION_NS = 2 * REPORT_ERROR_NS + 200 * NS_PER_MS + 100 * NS_PER_MS
LATE_NS = 100 * NS_PER_MS
"""A report that comes later than this is not the one asked for."""


def expected_ns(link: PlannedLink, duration_ns: int) -> list[int]:
    """Return when a link's handovers are expected within a run, in ns from its start."""
    if link.csv is None:
        return []
    metadata = json.loads(leosim.PathTrace.parse(link.csv.decode(), link.name).metadata or "{}")
    offset_ns = round(link.spec.offset_s * NS_PER_S) % link.period_ns
    rounds = (duration_ns + offset_ns) // link.period_ns + 1
    times = (
        number * link.period_ns + max(0, round(one["predicted_s"] * NS_PER_S)) - offset_ns
        for number in range(rounds)
        for one in metadata.get("handovers", [])
    )
    return sorted(time_ns for time_ns in times if 0 <= time_ns < duration_ns)


def reports_ns(expected: Iterable[int]) -> list[tuple[int, int]]:
    """Return from when to when reports of handovers hold, those that overlap as one."""
    merged: list[tuple[int, int]] = []
    for time_ns in sorted(expected):
        begin = max(0, time_ns - REPORT_ERROR_NS)
        end = begin + INHIBITION_NS
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((begin, end))
    return merged


class Announcer(threading.Thread):
    """Reports to flows as long as the bridge runs.

    Args:
        client: a connection that has subscribed to the flows' scheme.
        plan: what is run.
        ports: the flows, each by the port that it goes to.
        origin_ns: the run's start, on the monotonic clock.
    """

    def __init__(self, client: Bridge, plan: Plan, ports: Mapping[int, PlannedFlow], origin_ns: int) -> None:
        super().__init__(name="announcer", daemon=True)
        self._client = client
        self._origin_ns = origin_ns
        self._reports = {
            port: reports_ns(
                time for link in plan.links_of(flow) for time in expected_ns(link, plan.duration_ns)
            )
            for port, flow in ports.items()
        }
        self._open: dict[int, list[tuple[int, int]]] = {}
        self._over = threading.Event()
        self.worst_late_ns = 0
        self.reported = 0
        """Reports that were made."""

    def run(self) -> None:
        """Report until `end`, or until the bridge goes."""
        try:
            while not self._over.is_set():
                due = [reports[0][0] for reports in self._open.values() if reports]
                wait_ns = min(due, default=self._now_ns() + NS_PER_S) - self._now_ns()
                message = self._client.message(min(0.1, max(0, wait_ns) / NS_PER_S))
                if isinstance(message, Opened):
                    port = int(message.flow.remote.rpartition(":")[2])
                    now_ns = self._now_ns()
                    # Of reports from before the connection, what is left of them.
                    left = [(max(begin, now_ns), end) for begin, end in self._reports[port] if end > now_ns]
                    self._open[message.flow.id] = left
                elif isinstance(message, Closed):
                    self._open.pop(message.flow, None)
                self._report()
        except BridgeError:
            return

    def end(self) -> None:
        """Stop."""
        self._over.set()
        self.join()

    def fault(self) -> str | None:
        """Say that reports were too late to count, or None."""
        if self.worst_late_ns <= LATE_NS:
            return None
        return f"satcp: a handover was reported {self.worst_late_ns / NS_PER_MS:.0f} ms late"

    def _report(self) -> None:
        for flow, reports in self._open.items():
            while reports and reports[0][0] <= (now_ns := self._now_ns()):
                begin, end = reports.pop(0)
                self.worst_late_ns = max(self.worst_late_ns, now_ns - begin)
                if end > now_ns:
                    self._client.freeze(flow, (end - now_ns) / NS_PER_MS)
                    self.reported += 1

    def _now_ns(self) -> int:
        return time.monotonic_ns() - self._origin_ns
