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
)
"""Keys of ``info``, in order."""

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


class ReportReader:
    """Reads `FIELDS` from raw interval reports, whose fields ``leosim.Batch.report_fields`` names.

    A field without a measurement in the interval (no RTT sample, no pacing) is 0.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._columns = [names.index(name) for name in _SOURCES]
        self._interval = names.index("interval_ns")
        self._divisors = np.array(_DIVISORS)
        self._wanted = [*self._columns, self._interval]
        self._picked = itemgetter(*self._wanted)

    def one(self, report: NDArray[np.float64]) -> dict[str, float]:
        """Return `FIELDS` of one raw report (fields,)."""
        return _named(self._picked(report.tolist()))

    def table(self, reports: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `FIELDS` of raw reports (n, fields) as a new array (n, 8)."""
        table = reports[:, self._columns] / self._divisors
        table[:, _RATES] *= (8e3 / np.maximum(reports[:, self._interval], 1.0))[:, None]
        return table

    def many(self, reports: NDArray[np.float64]) -> list[dict[str, float]]:
        """Return `FIELDS` of raw reports (n, fields), one dictionary per report."""
        return [_named(values) for values in reports[:, self._wanted].tolist()]


def _named(values: Sequence[float]) -> dict[str, float]:
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
    }
