"""A flow's measurements in a monitor interval, with names and units, and the command that follows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

MIN_CWND_PACKETS, MAX_CWND_PACKETS = 4, 20_000
MAX_PACING_MBPS = 32_000.0
WINDOW_RTTS = 2.0
"""RTTs of the rate that may be in flight if a program sets only a rate: the rate then limits the flow."""
HEADER_BYTES = 52
"""Headers of a packet: IP (20), TCP (20), timestamps (12)."""
BYTES_PER_S = 125e3
"""Bytes/s in 1 Mbit/s."""


class FlowReport(NamedTuple):
    """A flow's measurements in a monitor interval, and its state at the interval's end.

    Rates count TCP payload. RTTs are above 0: the first report comes after the first RTT sample.
    """

    time_s: float
    """End of the interval, since the start of the run."""
    interval_ms: float
    """Length of the interval."""
    rtt_ms: float
    """Mean RTT; without a sample in the interval, the smoothed RTT."""
    min_rtt_ms: float
    """Smallest RTT since the flow's start."""
    smoothed_rtt_ms: float
    """Smoothed RTT (RFC 6298)."""
    rtt_deviation_ms: float
    """RTT variation (RFC 6298)."""
    rtt_slope: float
    """Growth of the RTT within the interval, in seconds per second."""
    rtt_samples: float
    """Number of RTT samples."""
    delivered_packets: float
    """Packets newly acknowledged."""
    sent_packets: float
    """Packets sent, retransmissions included."""
    lost_packets: float
    """Packets newly marked lost."""
    goodput_mbps: float
    """``delivered_packets`` as a rate."""
    send_mbps: float
    """``sent_packets`` as a rate."""
    loss_mbps: float
    """``lost_packets`` as a rate."""
    delivery_rate_mbps: float
    """Mean of the delivery-rate samples, as BBR takes them; 0 without a sample."""
    max_delivery_rate_mbps: float
    """Largest ``delivery_rate_mbps`` since the flow's start."""
    cwnd_packets: float
    """Congestion window."""
    in_flight_packets: float
    """Packets sent and neither acknowledged nor marked lost."""
    retransmissions_in_flight: float
    """Retransmitted packets in flight."""
    pacing_mbps: float
    """Pacing rate; 0: the flow is not paced."""
    packet_bytes: float
    """Payload of a full packet."""

    @classmethod
    def of(cls, fields: Mapping[str, float]) -> FlowReport:
        """Convert a raw report, whose fields ``leosim.Batch.report_fields`` and leo-bridge name."""
        packet_bytes = max(fields["mss_bytes"], 1.0)
        rate = 8e3 / max(fields["interval_ns"], 1.0)
        delivered, sent, lost = fields["delivered_bytes"], fields["sent_bytes"], fields["lost_bytes"]
        return cls(
            time_s=fields["time_ns"] / 1e9,
            interval_ms=fields["interval_ns"] / 1e6,
            rtt_ms=(fields["avg_rtt_us"] or fields["srtt_us"]) / 1e3,
            min_rtt_ms=fields["min_rtt_us"] / 1e3,
            smoothed_rtt_ms=fields["srtt_us"] / 1e3,
            rtt_deviation_ms=fields["rttvar_us"] / 1e3,
            rtt_slope=fields["rtt_slope"],
            rtt_samples=fields["rtt_samples"],
            delivered_packets=delivered / packet_bytes,
            sent_packets=sent / packet_bytes,
            lost_packets=lost / packet_bytes,
            goodput_mbps=delivered * rate,
            send_mbps=sent * rate,
            loss_mbps=lost * rate,
            delivery_rate_mbps=fields["avg_throughput_bytes_per_s"] / BYTES_PER_S,
            max_delivery_rate_mbps=fields["max_throughput_bytes_per_s"] / BYTES_PER_S,
            cwnd_packets=fields["cwnd_packets"],
            in_flight_packets=fields["packets_out"],
            retransmissions_in_flight=fields["retrans_out"],
            pacing_mbps=fields["pacing_rate_bytes_per_s"] / BYTES_PER_S,
            packet_bytes=packet_bytes,
        )


PATH_FIELDS = ("base_rtt_ms", "capacity_mbps")
"""Quantities that no sender can measure: the RTT without queueing, and the bottleneck's capacity."""


def command(report: FlowReport, cwnd_packets: float | None, pacing_mbps: float | None) -> tuple[int, int]:
    """Return window in packets and pacing rate in bytes/s (0: unpaced) from a window, a rate, or both.

    A window alone is paced over the smoothed RTT. A rate alone gets a window of `WINDOW_RTTS`.

    Raises:
        ValueError: both are None, or a value is negative or not finite.
    """
    if cwnd_packets is None and pacing_mbps is None:
        raise ValueError("names neither cwnd_packets nor pacing_mbps")
    for name, value in (("cwnd_packets", cwnd_packets), ("pacing_mbps", pacing_mbps)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name}: {value:g}: must be a finite number of at least 0")
    if cwnd_packets is None:
        assert pacing_mbps is not None
        bytes_per_rtt = pacing_mbps * BYTES_PER_S * report.smoothed_rtt_ms / 1e3
        cwnd_packets = math.ceil(WINDOW_RTTS * bytes_per_rtt / report.packet_bytes)
    window = int(min(max(cwnd_packets, MIN_CWND_PACKETS), MAX_CWND_PACKETS))
    if pacing_mbps is not None:
        return window, round(min(pacing_mbps, MAX_PACING_MBPS) * BYTES_PER_S)
    # Counts headers, but pacing charges only payload: so the rate exceeds a window per RTT.
    whole_bytes = (int(report.packet_bytes) + HEADER_BYTES) * max(window, int(report.in_flight_packets))
    return window, whole_bytes * 1_000_000 // max(round(report.smoothed_rtt_ms * 1e3), 1)
