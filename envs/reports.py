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
"""Keys of ``info``, in order. The last two describe the path; no sender can measure them."""

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
"""Sources in bytes per interval, to convert to rates: 8 bit / 1 ns = 8e3 Mbit/s."""


class ReportReader:
    """Reads `FIELDS` from raw interval reports, whose fields ``leosim.Batch.report_fields`` names.

    A field without a measurement in the interval (no RTT sample, no pacing) is 0. Capacity and base RTT come
    from ``leosim.Batch.paths``.
    """

    def __init__(self, names: Sequence[str]) -> None:
        columns = [names.index(name) for name in (*_SOURCES, "interval_ns")]
        self._columns = np.array(columns)
        self._divisors = np.array(_DIVISORS)[:, None]
        self._pick = itemgetter(*columns)

    def read(self, report: NDArray[np.float64], path: Sequence[float]) -> dict[str, float]:
        """Return `FIELDS` of one raw report (fields,) on a ``path`` of two numbers."""
        return _by_name(self._pick(report.tolist()), path)

    def read_columns(self, reports: NDArray[np.float64], paths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `FIELDS` of raw reports (n, fields) on ``paths`` (n, 2) as a new array (10, n)."""
        columns = np.empty((len(FIELDS), len(reports)))
        sources = reports.take(self._columns, axis=1).T
        np.divide(sources[: len(_SOURCES)], self._divisors, out=columns[: len(_SOURCES)])
        columns[_RATES] *= 8e3 / np.maximum(sources[len(_SOURCES)], 1.0)
        columns[len(_SOURCES) :] = paths.T
        return columns

    def read_rows(self, reports: NDArray[np.float64], paths: NDArray[np.float64]) -> list[dict[str, float]]:
        """Return `FIELDS` of raw reports (n, fields) on ``paths`` (n, 2), one dictionary per report."""
        rows = zip(reports[:, self._columns].tolist(), paths.tolist(), strict=True)
        return [_by_name(values, path) for values, path in rows]


def _by_name(values: Sequence[float], path: Sequence[float]) -> dict[str, float]:
    """Return `FIELDS` from a raw report's `_SOURCES` and ``interval_ns``, as in `ReportReader.read_columns`.

    A literal dictionary takes half the time of a dictionary from pairs, at every step.
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
        "capacity_mbps": path[0],
        "base_rtt_ms": path[1],
    }
