"""From the logs of both ends of a tunnel to a run log: one flow, in the simulator's columns and units.

A packet of one end's egress log is the packet with the same number in the other end's ingress log. The ends'
clocks may differ: an RTT is the delay of a data packet and that of the latest packet that came back before
it arrived, so that the difference cancels. What a tunnel cannot see is not a number: capacity, and which
packets were sent again; those count as goodput like all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from configs.errors import InputError
from configs.units import NS_PER_MS, NS_PER_S
from kernel_bridge.runner.plan import PACKET_BYTES
from kernel_bridge.runner.run_log import weighted_quantile
from kernel_bridge.tunnel.tunnel_log import TunnelLog, read_log
from results.measurement import Measurement, ordered

HEADER_BYTES = 52
"""Of IP and TCP with timestamps."""
TAIL_NS = NS_PER_S
"""What was sent so shortly before the last arrival, and has not come, may be on its way."""

Column = NDArray[Any]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Logs:
    """The four logs of a tunnel. Data flow from the sender to the receiver, acknowledgements back."""

    sender_egress: TunnelLog
    receiver_ingress: TunnelLog
    receiver_egress: TunnelLog
    sender_ingress: TunnelLog

    @staticmethod
    def read(sender: Path, receiver: Path) -> Logs:
        """Read ``ingress.log`` and ``egress.log`` in the folders of both ends.

        Raises:
            InputError: one cannot be read, is of the other direction, or more bytes left the receiver than
                the sender: the folders are in each other's place.
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
                f"{sender}: is the receiving end's ({there:,} bytes left it, {back:,} left {receiver}): "
                f"the sender's folder comes first: tunnel read {receiver} {sender}"
            )
        return read


@dataclass(frozen=True)
class _Packets:
    """Packets of one direction, in the order of their sending. Times in ns by each end's own clock."""

    sent_ns: Integers
    size_bytes: Integers
    arrived_ns: Integers
    """Of those that arrived."""
    delay_ns: Integers
    """Of those that arrived, off by the difference of the clocks."""
    arrived: NDArray[np.bool_]


def measured(logs: Logs, scheme: str, series_ms: float = 100.0) -> Measurement:
    """Return a run log of the one flow that went through a tunnel, from its first packet to its last.

    Args:
        logs: of both ends.
        scheme: what the flow's sender ran.
        series_ms: the interval of the series.

    Raises:
        InputError: nothing came through.
    """
    data = _paired(logs.sender_egress, logs.receiver_ingress)
    back = _paired(logs.receiver_egress, logs.sender_ingress)
    if not len(data.arrived_ns) or not len(back.arrived_ns):
        raise InputError("tunnel: no packet came through in both directions: there is nothing to measure")
    order = np.argsort(data.arrived_ns, kind="stable")
    arrived_ns, delay_ns = data.arrived_ns[order], data.delay_ns[order]
    size = _payload(data.size_bytes[data.arrived][order])
    rtt_ns = delay_ns + _latest(back, data.sent_ns[data.arrived][order])
    base_ns = int(data.delay_ns.min() + back.delay_ns.min())

    begin_ns = int(data.sent_ns[0])
    step_ns = round(series_ms * NS_PER_MS)
    # Arrivals by the sender's clock, as if the fastest packet had taken half of the base RTT.
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
        raise InputError(f"{path}: line 1: is a log of {log.direction}, and must be one of {direction}")
    return log


def _paired(egress: TunnelLog, ingress: TunnelLog) -> _Packets:
    """Find what was sent among what arrived; of a packet that came twice the first one counts."""
    numbers, first = np.unique(ingress.uid, return_index=True)
    place = np.minimum(np.searchsorted(numbers, egress.uid), max(len(numbers) - 1, 0))
    arrived = numbers[place] == egress.uid if len(numbers) else np.zeros(len(egress.uid), dtype=np.bool_)
    sent_ns = egress.time_ns + egress.began_ns
    arrived_ns = (ingress.time_ns + ingress.began_ns)[first[place[arrived]]]
    return _Packets(sent_ns, egress.size_bytes, arrived_ns, arrived_ns - sent_ns[arrived], arrived)


def _latest(back: _Packets, sent_ns: Integers) -> Integers:
    """Return the delay of the latest packet that had come back when another was sent, or of the first."""
    order = np.argsort(back.arrived_ns, kind="stable")
    place = np.searchsorted(back.arrived_ns[order], sent_ns, side="right") - 1
    return back.delay_ns[order][np.maximum(place, 0)]


def _payload(size_bytes: Integers) -> Integers:
    return np.maximum(size_bytes - HEADER_BYTES, 0)


def _between(time_ns: Integers, edges: Integers) -> Integers:
    """Return how many times lie in each interval; the last one has its end, too."""
    return np.histogram(time_ns, edges)[0]
