"""Reads the logs of flows' ends: samples of the kernel's tcp_info, and counts of bytes or datagrams.

`tcp_info` (linux/tcp.h) only grows at its end, so field offsets are stable. A kernel lacks the fields beyond
the size that it reports.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

INFO_BYTES = 280
CC_BYTES = 24

_FIELDS: dict[str, tuple[str, int]] = {
    # name: (type, offset in struct tcp_info)
    "state": ("u1", 0),
    "ca_state": ("u1", 1),
    "snd_mss": ("<u4", 16),
    "unacked": ("<u4", 24),
    "sacked": ("<u4", 28),
    "lost": ("<u4", 32),
    "retrans": ("<u4", 36),
    "rtt_us": ("<u4", 68),
    "rttvar_us": ("<u4", 72),
    "snd_ssthresh": ("<u4", 76),
    "snd_cwnd": ("<u4", 80),
    "total_retrans": ("<u4", 100),
    "pacing_rate": ("<u8", 104),
    "bytes_acked": ("<u8", 120),
    "bytes_received": ("<u8", 128),
    "segs_in": ("<u4", 140),
    "notsent_bytes": ("<u4", 144),
    "min_rtt_us": ("<u4", 148),
    "data_segs_out": ("<u4", 156),
    "delivery_rate": ("<u8", 160),
    "rwnd_limited_us": ("<u8", 176),
    "sndbuf_limited_us": ("<u8", 184),
    "delivered": ("<u4", 192),
    "bytes_sent": ("<u8", 200),
    "dsack_dups": ("<u4", 216),
    "total_rto": ("<u2", 240),
}
UNPACED = 2**64 - 1
"""The pacing rate of an unpaced socket."""
CA_LOSS = 4
"""``ca_state`` after a retransmission timeout (TCP_CA_Loss)."""
_NEEDED_BYTES = 220
"""Size up to dsack_dups, which exists since Linux 4.19; total_rto came with 6.7."""

INFO = np.dtype(
    {
        "names": list(_FIELDS),
        "formats": [kind for kind, _ in _FIELDS.values()],
        "offsets": [offset for _, offset in _FIELDS.values()],
        "itemsize": INFO_BYTES,
    }
)
_SAMPLE = np.dtype(
    [
        ("time_ns", "<i8"),
        ("info_bytes", "<u4"),
        ("cc_bytes", "<u4"),
        ("info", INFO),
        ("cc", "u1", (CC_BYTES,)),
    ]
)
_COUNT = np.dtype([("time_ns", "<i8"), ("count", "<i8")])


@dataclass(frozen=True)
class Samples:
    """A TCP sender's samples; times in ns from the run's start."""

    time_ns: NDArray[np.int64]
    info: NDArray[np.void]
    """Structured by `_FIELDS`. Units not in a name are bytes, packets or bytes/s."""
    has_timeouts: bool
    """Whether the kernel has ``total_rto``."""

    def timeouts(self) -> int:
        """Return the number of retransmission timeouts; on old kernels, of those that samples show."""
        if not len(self.time_ns):
            return 0
        if self.has_timeouts:
            return int(self.info["total_rto"][-1])
        in_loss = self.info["ca_state"] == CA_LOSS
        return int(in_loss[0]) + int((in_loss[1:] & ~in_loss[:-1]).sum())


@dataclass(frozen=True)
class Counts:
    """A running count; times in ns from the run's start."""

    time_ns: NDArray[np.int64]
    count: NDArray[np.int64]

    def at(self, time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the count at each time."""
        before = np.concatenate(([0], self.count))
        return before[np.searchsorted(self.time_ns, time_ns, side="right")]


def read_samples(path: Path) -> Samples:
    """Read a TCP sender's log.

    Raises:
        RuntimeError: the kernel's tcp_info is too old.
    """
    rows = np.fromfile(path, dtype=_SAMPLE)
    if len(rows) and rows["info_bytes"].min() < _NEEDED_BYTES:
        raise RuntimeError("tcp_info: this kernel lacks needed fields; use Linux 4.19 or later")
    end = _FIELDS["total_rto"][1] + 2
    return Samples(rows["time_ns"], rows["info"], bool(len(rows)) and int(rows["info_bytes"].min()) >= end)


def read_counts(path: Path) -> Counts:
    """Read the log of a receiver or udp sender."""
    rows = np.fromfile(path, dtype=_COUNT)
    return Counts(rows["time_ns"], rows["count"])
