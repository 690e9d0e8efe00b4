"""Read the logs of a QUIC flow's ends.

Each end leaves a qlog of its connection in its working folder (draft-ietf-quic-qlog-main-schema: ``*.qlog``
or ``*.sqlog``, JSON text sequences). It may also leave ``progress``, a text with a line per record: the time
in ns of the monotonic clock, and the total of bytes that the receiver has given to its application, or that
the sender knows to be acknowledged. Without it, the bytes are those of the qlog's STREAM frames.

A qlog's clock is relative: the first packet that it says to be received is the first that came to this end.
"""

import heapq
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leogym.common.units import NS_PER_MS
from leogym.kernel_bridge.runner.run_log import FlowRecord
from leogym.kernel_bridge.runner.socket_log import Counts

PROGRESS = "progress"
_HEADERS_BYTES = 28
"""IPv4 and UDP."""
_RECORD_SEPARATOR = "\x1e"
_DATA = ("1RTT", "0RTT")
_METRICS = ("latest_rtt", "congestion_window", "bytes_in_flight", "pto_count", "pacing_rate")

Integers = NDArray[np.int64]
Event = tuple[int, str, Any]
"""Time from the run's start in ns, name without its category, and data."""


@dataclass(frozen=True)
class QuicSenderLog:
    """A QUIC sender's metrics, one record per change."""

    time_ns: Integers
    acks_in_total: Integers
    latest_rtt_ms: NDArray[np.float64]
    cwnd_bytes: Integers
    in_flight_bytes: Integers
    sent: Integers
    lost: Integers
    pacing_bps: NDArray[np.float64]
    ptos: int
    largest_bytes: int
    """The size of its largest UDP payload, which is a packet's in windows."""
    packet_bytes: float

    def acks(self) -> Integers:
        """Return the number of packets with ACKs since the previous record."""
        return np.diff(self.acks_in_total, prepend=0)

    def rtt_ms(self) -> NDArray[np.float64]:
        """Return the latest RTT sample."""
        return self.latest_rtt_ms

    def packets(self) -> tuple[Integers, Integers, Integers]:
        """Return packets sent, retransmitted and deemed lost.

        QUIC retransmits no packets, but sends the frames of lost packets again (RFC 9002, 3).
        """
        return self.sent, self.lost, self.lost

    def cwnd_packets(self) -> Integers:
        """Return the congestion window."""
        return self.cwnd_bytes // self.largest_bytes

    def in_flight_packets(self) -> Integers:
        """Return the packets in flight."""
        return -(-self.in_flight_bytes // self.largest_bytes)

    def pacing_mbps(self) -> NDArray[np.float64]:
        """Return the pacing rate; NaN if the stack does not log it."""
        return self.pacing_bps * 1e-6

    def timeouts(self) -> int:
        """Return the number of probe timeouts."""
        return self.ptos


@dataclass(frozen=True)
class Times:
    """Times of a flow's first packets, in ns from the run's start."""

    origin_ns: int
    """The run's start on the monotonic clock."""
    start_ns: int
    """When the first packet left the receiver, which opens the connection."""
    at_sender_ns: int
    """When the first packet came to the sender."""
    at_receiver_ns: int
    """When the first packet came to the receiver."""


def read_flow(
    sender: Path,
    receiver: Path,
    times: Times,
    transfer_bytes: int,
    rtt_unit: Literal["ms", "s"],
    pacing_unit: Literal["bit/s", "B/s"],
) -> FlowRecord:
    """Return the record of a flow.

    Args:
        sender: the working folder of its sender.
        receiver: that of its receiver.
        times: of its first packets.
        transfer_bytes: size of its transfer, or 0.
        rtt_unit: the unit of RTTs in the sender's qlog.
        pacing_unit: the unit of its pacing rates.

    Raises:
        RuntimeError: an end left no logs.
    """
    sent_events = _events(_qlog(sender), times.at_sender_ns)
    last_packet = None
    if (receiver / PROGRESS).exists():
        received = _progress(receiver, times.origin_ns)
        received_ns = _reached_ns(received, transfer_bytes)
    else:
        received, last_packet = _delivered(_events(_qlog(receiver), times.at_receiver_ns))
        received_ns = None if last_packet is None else int(received.time_ns[-1])
    if transfer_bytes:
        # HTTP/3's own frames are not the application's.
        received = Counts(received.time_ns, np.minimum(received.count, transfer_bytes))
    completed_ns = None
    if (sender / PROGRESS).exists():
        completed_ns = _reached_ns(_progress(sender, times.origin_ns), transfer_bytes)
    elif transfer_bytes and last_packet is not None:
        completed_ns = _acked_ns(sent_events, last_packet)
    if transfer_bytes and completed_ns is None:
        # A receiver that leaves once it has everything does not repeat a last packet that is lost.
        completed_ns = received_ns
    sent = _sender(sent_events, 1.0 if rtt_unit == "ms" else 1e3, 1.0 if pacing_unit == "bit/s" else 8.0)
    return FlowRecord(sent, received, start_ns=times.start_ns, completed_ns=completed_ns)


def _qlog(folder: Path) -> Path:
    files = sorted((*folder.glob("*.qlog"), *folder.glob("*.sqlog")))
    if len(files) != 1:
        raise RuntimeError(f"{len(files)} qlogs of its connection, not one")
    return files[0]


def _events(file: Path, first_ns: int) -> list[Event]:
    """Return the events; the first packet came at ``first_ns``."""
    events = []
    shift_ns = None
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            try:
                event = json.loads(line.lstrip(_RECORD_SEPARATOR))
            except ValueError:
                break  # the program was killed
            if "name" in event:
                # Drafts of qlog name the metrics in two ways.
                name = event["name"].rpartition(":")[2].removeprefix("recovery_")
                at_ns = round(event["time"] * NS_PER_MS)
                events.append((at_ns, name, event["data"]))
                if shift_ns is None and name == "packet_received":
                    shift_ns = first_ns - at_ns
    if shift_ns is None:
        raise RuntimeError(f"{file.name}: no packet was received")
    return [(at_ns + shift_ns, name, data) for at_ns, name, data in events]


def _progress(folder: Path, origin_ns: int) -> Counts:
    rows = np.array((folder / PROGRESS).read_text().split(), dtype=np.int64).reshape(-1, 2)
    return Counts(rows[:, 0] - origin_ns, rows[:, 1])


def _reached_ns(counts: Counts, transfer_bytes: int) -> int | None:
    """Return when a transfer's bytes were complete, or None."""
    if not transfer_bytes or not len(counts.count) or counts.count[-1] < transfer_bytes:
        return None
    return int(counts.time_ns[np.searchsorted(counts.count, transfer_bytes)])


def _sender(events: list[Event], rtt_scale: float, pacing_scale: float) -> QuicSenderLog:
    """Return the log of a sender, which writes its metrics, or those that change, after each packet.

    ``rtt_scale`` converts its RTTs to ms, ``pacing_scale`` its pacing rates to bit/s.
    """
    metrics: dict[str, float] = dict.fromkeys(_METRICS, 0) | {"pacing_rate": np.nan}
    acks = sent = lost = ptos = sent_bytes = largest_bytes = 0
    has_acks = False
    rows: list[tuple[float, ...]] = []
    for at_ns, name, data in events:
        if name == "packet_sent":
            has_acks = False
            sent += 1
            length = _length(data)
            sent_bytes += length + _HEADERS_BYTES
            largest_bytes = max(largest_bytes, length)
        elif name == "packet_received":
            # Some stacks log no frames.
            frames = data.get("frames")
            has_acks = frames is None or any(frame["frame_type"] == "ack" for frame in frames)
        elif name == "packet_lost":
            lost += 1
        elif name == "metrics_updated":
            before = metrics["pto_count"]
            metrics |= {key: data[key] for key in _METRICS if key in data}
            ptos += max(0, round(metrics["pto_count"] - before))
            # quiche counts lost packets here.
            lost += data.get("cf_lost_packets", {"delta": 0})["delta"]
            # Before the first packet, the RTT is a guess.
            acks += has_acks and sent > 0 and "latest_rtt" in data
            has_acks = False
            rows.append((at_ns, acks, sent, lost, *metrics.values()))
    if not rows:
        raise RuntimeError("the sender's qlog has no metrics")
    table = np.array(rows)
    time_ns, acked, sent_total, lost_total, rtt_ms, cwnd, in_flight, _, pacing = table.T
    integers = [
        column.astype(np.int64) for column in (time_ns, acked, cwnd, in_flight, sent_total, lost_total)
    ]
    time_ns, acked, cwnd, in_flight, sent_total, lost_total = integers
    return QuicSenderLog(
        time_ns,
        acked,
        rtt_ms * rtt_scale,
        cwnd,
        in_flight,
        sent_total,
        lost_total,
        pacing * pacing_scale,
        ptos,
        largest_bytes,
        sent_bytes / sent,
    )


def _length(data: Any) -> int:
    """Return the size of a packet, which drafts of qlog have in two places."""
    return int(data.get("raw", {}).get("length") or data["header"].get("length") or 0)


def _delivered(events: list[Event]) -> tuple[Counts, int | None]:
    """Return the in-order bytes of the stream with most bytes, and the packet that completed it.

    The second is None if the stream's end did not arrive.
    """
    pieces: dict[int, list[tuple[int, int, int, int, bool]]] = {}
    for at_ns, name, data in events:
        if name == "packet_received" and data["header"]["packet_type"] in _DATA:
            for frame in data.get("frames", ()):
                if frame["frame_type"] == "stream":
                    piece = (
                        at_ns,
                        data["header"]["packet_number"],
                        frame["offset"],
                        frame["length"],
                        bool(frame.get("fin")),
                    )
                    pieces.setdefault(frame["stream_id"], []).append(piece)
    if not pieces:
        return Counts(np.zeros(0, np.int64), np.zeros(0, np.int64)), None
    stream = max(pieces.values(), key=lambda pieces: sum(piece[3] for piece in pieces))
    waiting: list[tuple[int, int]] = []
    times, counts = [], []
    in_order = end = 0
    for at_ns, number, offset, length, is_last in stream:
        if is_last:
            end = offset + length
        heapq.heappush(waiting, (offset, offset + length))
        before = in_order
        while waiting and waiting[0][0] <= in_order:
            in_order = max(in_order, heapq.heappop(waiting)[1])
        if in_order > before or is_last:
            times.append(at_ns)
            counts.append(in_order)
        if end and in_order == end:
            return Counts(np.array(times), np.array(counts)), number
    return Counts(np.array(times), np.array(counts)), None


def _acked_ns(events: list[Event], number: int) -> int | None:
    """Return when a sender received the acknowledgement of a packet.

    A receiver that has everything may close the connection instead.
    """
    for at_ns, name, data in events:
        if name == "packet_received" and data["header"]["packet_type"] in _DATA:
            for frame in data.get("frames", ()):
                if frame["frame_type"] == "connection_close" or (
                    frame["frame_type"] == "ack"
                    and any(span[0] <= number <= span[-1] for span in frame["acked_ranges"])
                ):
                    return at_ns
    return None
