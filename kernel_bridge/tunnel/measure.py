"""Convert the logs of both ends of a tunnel to a run log: one flow, in the simulator's columns and units.

Packets of one end's egress log and the other end's ingress log match by their number. The ends' clocks may
differ: an RTT is the delay of a data packet plus the delay of the latest packet that had come back when it
was sent. The difference of the clocks cancels. A tunnel cannot measure the capacity, which is NaN. It cannot
detect retransmissions, which count as goodput.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.kernel_bridge.runner.plan import PACKET_BYTES
from leogym.kernel_bridge.runner.run_log import weighted_quantile
from leogym.kernel_bridge.tunnel.tunnel_log import TunnelLog, read_log
from leogym.results.measurement import Measurement, ordered

HEADER_BYTES = 52
"""IP and TCP headers with timestamps."""
TAIL_NS = NS_PER_S
"""Missing packets that were sent within this time of the last arrival may be in flight: they are not lost."""

Column = NDArray[Any]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Logs:
    """The four logs of a tunnel. Data go from the sender to the receiver, ACKs go back."""

    sender_egress: TunnelLog
    receiver_ingress: TunnelLog
    receiver_egress: TunnelLog
    sender_ingress: TunnelLog

    @staticmethod
    def read(sender: Path, receiver: Path) -> Logs:
        """Read ``ingress.log`` and ``egress.log`` in the folders of both ends.

        Raises:
            InputError: a log cannot be read or is of the other direction, or the folders are swapped: more
                bytes left the receiver than the sender.
        """
        logs = [
            _directed(folder / f"{direction}.log", direction)
            for folder, direction in (
                (sender, "egress"),
                (receiver, "ingress"),
                (receiver, "egress"),
                (sender, "ingress"),
            )
        ]
        read = Logs(*logs)
        there, back = (int(log.size_bytes.sum()) for log in (read.sender_egress, read.receiver_egress))
        if back > there:
            raise InputError(
                f"{sender}: belongs to the receiver ({there:,} bytes left it, {back:,} left {receiver}): "
                f"the sender's folder comes first: tunnel read {receiver} {sender}"
            )
        return read


@dataclass(frozen=True)
class _Packets:
    """Packets of one direction in sending order. Times are in ns by each end's own clock."""

    sent_ns: Integers
    size_bytes: Integers
    arrived_ns: Integers
    """Only packets that arrived."""
    delay_ns: Integers
    """Only packets that arrived; includes the difference of the clocks."""
    arrived: NDArray[np.bool_]


def measured(logs: Logs, scheme: str, series_ms: float = 100.0) -> Measurement:
    """Return a run log of the only flow through a tunnel, from its first packet to its last.

    Args:
        logs: the logs of both ends.
        scheme: the sender's congestion control.
        series_ms: the interval of the series.

    Raises:
        InputError: no packet arrived in one of the directions.
    """
    data = _paired(logs.sender_egress, logs.receiver_ingress)
    back = _paired(logs.receiver_egress, logs.sender_ingress)
    if not len(data.arrived_ns) or not len(back.arrived_ns):
        raise InputError("tunnel: packets must arrive in both directions: there is nothing to measure")
    order = np.argsort(data.arrived_ns, kind="stable")
    arrived_ns, delay_ns = data.arrived_ns[order], data.delay_ns[order]
    size = _payload(data.size_bytes[data.arrived][order])
    rtt_ns = delay_ns + _latest(back, data.sent_ns[data.arrived][order])
    base_ns = int(data.delay_ns.min() + back.delay_ns.min())

    begin_ns = int(data.sent_ns[0])
    step_ns = round(series_ms * NS_PER_MS)
    # Arrivals by the sender's clock, assuming that the fastest packet took half of the base RTT.
    arrival_ns = arrived_ns - int(data.delay_ns.min()) + base_ns // 2 - begin_ns
    stop_ns = max(int(arrival_ns[-1]), int(data.sent_ns[-1]) - begin_ns, 1)
    grid = np.arange(step_ns, stop_ns + step_ns, step_ns, dtype=np.int64)
    carries = size > 0
    missing = ~data.arrived & (data.sent_ns - begin_ns < stop_ns - TAIL_NS)
    goodput_mbps = int(size.sum()) * 8e3 / stop_ns
    rtt_ms, weight = rtt_ns / NS_PER_MS, np.ones(len(rtt_ns))
    base_ms = base_ns / NS_PER_MS
    flow = {
        "flow": 0,
        "scheme": scheme,
        "start_s": 0.0,
        "stop_s": stop_ns / NS_PER_S,
        "goodput_mbps": goodput_mbps,
        "rtt_mean_ms": float(rtt_ms.mean()),
        "rtt_p95_ms": weighted_quantile(rtt_ms, weight, 0.95),
        "base_rtt_mean_ms": base_ms,
        "delay_inflation": float((rtt_ms / base_ms).mean()) if base_ms > 0 else float("nan"),
        "loss_rate": int(missing.sum()) / len(data.sent_ns),
        "sent_packets": len(data.sent_ns),
        "delivered_packets": int(carries.sum()),
        "retransmitted_packets": 0,
        "lost_packets": int(missing.sum()),
        "rtos": 0,
        "transfer_bytes": None,
        "completion_s": None,
    }
    rows = len(grid)
    edges = np.concatenate(([0], grid))
    sent_at = data.sent_ns - begin_ns
    lost_at = sent_at[missing]
    interval = np.minimum(np.searchsorted(grid, arrival_ns), rows - 1)
    count = np.bincount(interval, minlength=rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_ms = np.bincount(interval, weights=rtt_ms, minlength=rows) / count
    seconds = step_ns / NS_PER_S
    under_way = np.searchsorted(np.sort(sent_at), grid) - np.searchsorted(np.sort(arrival_ns), grid)
    series = {
        "time_s": grid / NS_PER_S,
        "flow": np.zeros(rows, dtype=np.uint32),
        "goodput_mbps": np.bincount(interval, weights=size, minlength=rows) * 8e-6 / seconds,
        "send_mbps": _between(sent_at, edges) * PACKET_BYTES * 8e-6 / seconds,
        "rtt_ms": mean_ms,
        "base_rtt_ms": np.full(rows, base_ms),
        "cwnd_packets": np.zeros(rows, dtype=np.uint32),
        "in_flight_packets": np.maximum(
            under_way - np.searchsorted(np.sort(lost_at), grid - TAIL_NS), 0
        ).astype(np.uint32),
        "lost_packets": _between(lost_at, edges).astype(np.uint32),
        "retransmitted_packets": np.zeros(rows, dtype=np.uint32),
    }
    return Measurement([ordered("flows", flow)], [], ordered("flow_series", series), {}, [])


def _directed(path: Path, direction: str) -> TunnelLog:
    log = read_log(path)
    if log.direction != direction:
        raise InputError(f"{path}: line 1: is a log of {log.direction}: must be {direction}")
    return log


def _paired(egress: TunnelLog, ingress: TunnelLog) -> _Packets:
    """Match sent packets with arrivals; of duplicates, the first arrival counts."""
    numbers, first = np.unique(ingress.uid, return_index=True)
    place = np.minimum(np.searchsorted(numbers, egress.uid), max(len(numbers) - 1, 0))
    arrived = numbers[place] == egress.uid if len(numbers) else np.zeros(len(egress.uid), dtype=np.bool_)
    sent_ns = egress.time_ns + egress.began_ns
    arrived_ns = (ingress.time_ns + ingress.began_ns)[first[place[arrived]]]
    return _Packets(sent_ns, egress.size_bytes, arrived_ns, arrived_ns - sent_ns[arrived], arrived)


def _latest(back: _Packets, sent_ns: Integers) -> Integers:
    """Return the delay of the latest packet that is back at each sending time, else of the first."""
    order = np.argsort(back.arrived_ns, kind="stable")
    place = np.searchsorted(back.arrived_ns[order], sent_ns, side="right") - 1
    return back.delay_ns[order][np.maximum(place, 0)]


def _payload(size_bytes: Integers) -> Integers:
    return np.maximum(size_bytes - HEADER_BYTES, 0)


def _between(time_ns: Integers, edges: Integers) -> Integers:
    """Count the times in each interval; the last interval includes its end."""
    return np.histogram(time_ns, edges)[0]
