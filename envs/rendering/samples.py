"""The last seconds of an episode's measurements."""

from collections import deque

import numpy as np
from numpy.typing import NDArray

SPAN_S = 20.0
"""The time that a frame shows: more than Starlink's 15 s between re-selections."""

FIELDS = ("goodput_mbps", "send_mbps", "rtt_ms", "cwnd_packets")


class Samples:
    """The measurements of an episode's flows over the last `SPAN_S`."""

    def __init__(self) -> None:
        self.time_s = 0.0
        """The time of the last sample."""
        self._rows: deque[tuple[float, NDArray[np.float64]]] = deque()

    def add(self, time_s: float, values: NDArray[np.float64]) -> None:
        """Add the measurements `FIELDS` (flows, 4) of an interval that ends at ``time_s``; NaN for none."""
        self.time_s = time_s
        self._rows.append((time_s, values))
        # The last row before the span starts the line at the frame's edge.
        while len(self._rows) > 1 and self._rows[1][0] < time_s - SPAN_S:
            self._rows.popleft()

    def table(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times (samples,) and measurements (samples, flows, 4)."""
        times, values = zip(*self._rows, strict=True)
        return np.array(times), np.stack(values)
