"""BBR's model as Linux reports it: `tcp_bbr_info` (linux/inet_diag.h), which ``ss -i`` prints."""

import numpy as np
from numpy.typing import NDArray

INFO = np.dtype(
    [
        ("bw_lo", "<u4"),
        ("bw_hi", "<u4"),
        ("min_rtt_us", "<u4"),
        ("pacing_gain", "<u4"),
        ("cwnd_gain", "<u4"),
    ]
)
UNIT = 256
"""Gains are multiples of 1 / 256 (BBR_UNIT)."""
STARTUP, DRAIN, DOWN, CRUISE, _REFILL, UP, PROBE_RTT = range(1, 8)
HIGH_GAIN, PROBE_BW_CWND_GAIN = 739, 512
"""bbr_high_gain and bbr_cwnd_gain."""
UNKNOWN_RTT = 2**32 - 1


def states(pacing_gain: NDArray[np.int64], cwnd_gain: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the run log's numbers of BBRv1's states, which its gains determine, from gains times `UNIT`."""
    state = np.select(
        [
            (pacing_gain >= HIGH_GAIN),
            (cwnd_gain >= HIGH_GAIN),
            (cwnd_gain < PROBE_BW_CWND_GAIN),
            (pacing_gain > UNIT),
            (pacing_gain < UNIT),
        ],
        [STARTUP, DRAIN, PROBE_RTT, UP, DOWN],
        CRUISE,
    )
    return state.astype(np.uint32)


def series(
    flow: int, info: NDArray[np.void], info_ns: NDArray[np.int64], row_ns: NDArray[np.int64]
) -> dict[str, NDArray[np.float64] | NDArray[np.uint32]]:
    """Return a flow's rows of ``bbr_series`` at ``row_ns`` from samples of `INFO` at ``info_ns``.

    Linux does not report the count of rounds and the estimated ACK aggregation; version 1 has no bounds.
    """
    at = info[np.maximum(np.searchsorted(info_ns, row_ns, side="right") - 1, 0)]
    bytes_per_s = at["bw_lo"].astype(np.float64) + at["bw_hi"].astype(np.float64) * 2**32
    min_rtt = at["min_rtt_us"]
    unbounded = np.full(len(row_ns), np.inf)
    return {
        "time_s": row_ns / 1e9,
        "flow": np.full(len(row_ns), flow, dtype=np.uint32),
        "state": states(at["pacing_gain"].astype(np.int64), at["cwnd_gain"].astype(np.int64)),
        "bw_mbps": bytes_per_s * 8e-6,
        "bw_shortterm_mbps": unbounded,
        "min_rtt_ms": np.where(min_rtt == UNKNOWN_RTT, np.nan, min_rtt / 1e3),
        "pacing_gain": at["pacing_gain"] / UNIT,
        "cwnd_gain": at["cwnd_gain"] / UNIT,
        "inflight_longterm_packets": unbounded,
        "inflight_shortterm_packets": unbounded,
    }
