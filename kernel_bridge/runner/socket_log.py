"""Reads the logs of flows' ends: samples of the kernel's tcp_info, and counts of bytes or datagrams.

`tcp_info` (linux/tcp.h) only grows at its end, so field offsets are stable. A kernel lacks the fields beyond
the size that it reports.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from leogym.kernel_bridge.runner import bbr_model
from leogym.kernel_bridge.runner.plan import PACKET_BYTES

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


class SenderLog(Protocol):
    """What a flow's sender measured, as arrays of one length; counts are cumulative."""

    @property
    def time_ns(self) -> NDArray[np.int64]:
        """The time of each record, in ns from the run's start."""
        ...

    @property
    def packet_bytes(self) -> float:
        """The mean size of sent IP packets."""
        ...

    def acks(self) -> NDArray[np.int64]:
        """Return the number of ACKs since the previous record."""
        ...

    def rtt_ms(self) -> NDArray[np.float64]:
        """Return the RTT; 0 before the first sample."""
        ...

    def packets(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return packets sent, retransmitted and deemed lost."""
        ...

    def cwnd_packets(self) -> NDArray[np.int64]:
        """Return the congestion window."""
        ...

    def in_flight_packets(self) -> NDArray[np.int64]:
        """Return the packets in flight."""
        ...

    def pacing_mbps(self) -> NDArray[np.float64]:
        """Return the pacing rate; NaN if unpaced or unknown."""
        ...

    def timeouts(self) -> int:
        """Return the number of retransmission timeouts."""
        ...


@dataclass(frozen=True)
class Samples:
    """A TCP sender's samples; times in ns from the run's start."""

    time_ns: NDArray[np.int64]
    info: NDArray[np.void]
    """Structured by `_FIELDS`. Units not in a name are bytes, packets or bytes/s."""
    has_timeouts: bool
    """Whether the kernel has ``total_rto``."""
    packet_bytes: float = PACKET_BYTES
    bbr: NDArray[np.void] | None = None
    """BBR's model, structured by `bbr_model.INFO`; None for other schemes."""

    def acks(self) -> NDArray[np.int64]:
        """Return the number of ACKs since the previous sample."""
        return np.diff(self._counts("segs_in"), prepend=0)

    def rtt_ms(self) -> NDArray[np.float64]:
        """Return the kernel's smoothed RTT."""
        return self.info["rtt_us"] / 1e3

    def packets(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return packets sent, retransmitted and deemed lost.

        The kernel has no total of packets deemed lost. It is the retransmitted packets, minus those that a
        duplicate SACK showed to be spurious, plus those waiting for retransmission.
        """
        again = self._counts("total_retrans")
        waiting = np.maximum(self._counts("lost") - self._counts("retrans"), 0)
        lost = np.maximum.accumulate(np.maximum(again - self._counts("dsack_dups") + waiting, 0))
        return self._counts("data_segs_out"), again, lost

    def cwnd_packets(self) -> NDArray[np.int64]:
        """Return the congestion window."""
        return self._counts("snd_cwnd")

    def in_flight_packets(self) -> NDArray[np.int64]:
        """Return the packets in flight, as in the kernel's tcp_packets_in_flight."""
        return (
            self._counts("unacked") - self._counts("sacked") - self._counts("lost") + self._counts("retrans")
        )

    def pacing_mbps(self) -> NDArray[np.float64]:
        """Return the pacing rate; NaN if unpaced."""
        rate = self.info["pacing_rate"]
        return np.where(rate == UNPACED, np.nan, rate * 8e-6)

    def _counts(self, name: str) -> NDArray[np.int64]:
        return self.info[name].astype(np.int64)

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
    has_timeouts = bool(len(rows)) and int(rows["info_bytes"].min()) >= end
    size = bbr_model.INFO.itemsize
    is_bbr = bool(len(rows)) and bool((rows["cc_bytes"] == size).all())
    bbr = np.ascontiguousarray(rows["cc"][:, :size]).view(bbr_model.INFO)[:, 0] if is_bbr else None
    return Samples(rows["time_ns"], rows["info"], has_timeouts, bbr=bbr)


def read_counts(path: Path) -> Counts:
    """Read the log of a receiver or udp sender."""
    rows = np.fromfile(path, dtype=_COUNT)
    return Counts(rows["time_ns"], rows["count"])
