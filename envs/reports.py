"""Convert interval reports to the fields and units of ``info``."""

from collections.abc import Sequence
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

FIELDS = (
    "time_s",
    "goodput_mbps",
    "send_mbps",
    "loss_mbps",
    "rtt_ms",
    "min_rtt_ms",
    "cwnd_packets",
    "pacing_mbps",
    "capacity_mbps",
    "base_rtt_ms",
)
"""Keys of ``info``, in order. The last two are the path's, which no sender knows."""

_SOURCES = (
    "time_ns",
    "delivered_bytes",
    "sent_bytes",
    "lost_bytes",
    "avg_rtt_us",
    "min_rtt_us",
    "cwnd_packets",
    "pacing_rate_bytes_per_s",
)
_DIVISORS = (1e9, 1.0, 1.0, 1.0, 1e3, 1e3, 1.0, 125e3)
_RATES = slice(1, 4)
"""Columns in bytes per interval, to convert to rates: 8 bit / 1 ns = 8e3 Mbit/s."""


PATH = slice(9, 12, 2)
"""Entries of the global state about the path: one-way propagation / 500 ms, capacity / 500 Mbit/s."""
_CAPACITY_MBPS = 500.0
_RTT_MS = 2 * 500.0


class ReportReader:
    """Reads `FIELDS` from raw interval reports, whose fields ``leosim.Batch.report_fields`` names.

    A field without a measurement in the interval (no RTT sample, no pacing) is 0. The path's capacity and
    base RTT come from the global state's `PATH`, in single precision; a flow's access adds ``extra_rtt_ms``.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._columns = [names.index(name) for name in _SOURCES]
        self._interval = names.index("interval_ns")
        self._divisors = np.array(_DIVISORS)
        self._wanted = [*self._columns, self._interval]
        self._picked = itemgetter(*self._wanted)

    def one(
        self, report: NDArray[np.float64], path: Sequence[float], extra_rtt_ms: float
    ) -> dict[str, float]:
        """Return `FIELDS` of one raw report (fields,) on a ``path`` of two numbers."""
        return _named(self._picked(report.tolist()), path, extra_rtt_ms)

    def table(
        self, reports: NDArray[np.float64], paths: NDArray[np.float32], extra_rtt_ms: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return `FIELDS` of raw reports (n, fields) on ``paths`` (n, 2) as a new array (n, 10)."""
        table = np.empty((len(reports), len(FIELDS)))
        measured = table[:, : len(_SOURCES)]
        np.divide(reports[:, self._columns], self._divisors, out=measured)
        measured[:, _RATES] *= (8e3 / np.maximum(reports[:, self._interval], 1.0))[:, None]
        np.multiply(paths[:, 1], _CAPACITY_MBPS, out=table[:, -2], dtype=np.float64)
        np.multiply(paths[:, 0], _RTT_MS, out=table[:, -1], dtype=np.float64)
        table[:, -1] += extra_rtt_ms
        return table

    def many(
        self, reports: NDArray[np.float64], paths: NDArray[np.float32], extra_rtt_ms: NDArray[np.float64]
    ) -> list[dict[str, float]]:
        """Return `FIELDS` of raw reports (n, fields) on ``paths`` (n, 2), one dictionary per report."""
        rows = zip(reports[:, self._wanted].tolist(), paths.tolist(), extra_rtt_ms.tolist(), strict=True)
        return [_named(values, path, extra) for values, path, extra in rows]


def _named(values: Sequence[float], path: Sequence[float], extra_rtt_ms: float) -> dict[str, float]:
    """Return `FIELDS` from a raw report's `_SOURCES` and ``interval_ns``, equal to `ReportReader.table`.

    A literal dictionary takes half the time of one from pairs, at every step.
    """
    time_ns, delivered, sent, lost, rtt_us, min_rtt_us, cwnd, pacing, interval_ns = values
    rate = 8e3 / (interval_ns if interval_ns > 1.0 else 1.0)
    return {
        "time_s": time_ns / 1e9,
        "goodput_mbps": delivered * rate,
        "send_mbps": sent * rate,
        "loss_mbps": lost * rate,
        "rtt_ms": rtt_us / 1e3,
        "min_rtt_ms": min_rtt_us / 1e3,
        "cwnd_packets": cwnd,
        "pacing_mbps": pacing / 125e3,
        "capacity_mbps": path[1] * _CAPACITY_MBPS,
        "base_rtt_ms": path[0] * _RTT_MS + extra_rtt_ms,
    }
