"""Report announced handovers to SaTCP flows; `kernel_bridge.runner.served_flows` computes their times.

Imports only the standard library and the bridge's client, because the lab's guest has nothing else.
"""

import threading
import time
from collections.abc import Mapping, Sequence

from leogym.kernel_bridge.bridge.client import Bridge, BridgeError, Closed, Opened

NS_PER_MS, NS_PER_S = 1_000_000, 1_000_000_000
MAX_LATE_NS = 100 * NS_PER_MS  # a later report makes the run invalid


class Announcer(threading.Thread):
    """Report handovers through a client that has subscribed to SaTCP, for as long as the bridge runs.

    ``reports`` has begin and end of each report, in ns from the run's start, by the flow's destination port;
    ``origin_ns`` is the run's start on the monotonic clock.
    """

    def __init__(
        self, client: Bridge, reports: Mapping[int, Sequence[tuple[int, int]]], origin_ns: int
    ) -> None:
        super().__init__(name="announcer", daemon=True)
        self._client = client
        self._origin_ns = origin_ns
        self._reports = reports
        self._open: dict[int, list[tuple[int, int]]] = {}
        self._over = threading.Event()
        self.worst_late_ns = 0
        self.reported = 0

    def run(self) -> None:
        """Report until `end` is called or the bridge ends."""
        try:
            while not self._over.is_set():
                due = [reports[0][0] for reports in self._open.values() if reports]
                wait_ns = min(due, default=self._now_ns() + NS_PER_S) - self._now_ns()
                message = self._client.message(min(0.1, max(0, wait_ns) / NS_PER_S))
                if isinstance(message, Opened):
                    port = int(message.flow.remote.rpartition(":")[2])
                    now_ns = self._now_ns()
                    # A report that began before the connection counts from now on.
                    remaining = [
                        (max(begin, now_ns), end) for begin, end in self._reports[port] if end > now_ns
                    ]
                    self._open[message.flow.id] = remaining
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
        """Return why reports were too late, or None."""
        if self.worst_late_ns <= MAX_LATE_NS:
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
