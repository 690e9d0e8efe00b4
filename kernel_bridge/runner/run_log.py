"""Builds the run log, in the simulator's columns and units, from the logs of flows' ends and link shells.

RTT samples of TCP are the kernel's smoothed RTT, which spans about eight ACKs. They are taken every 10 ms if
an ACK has arrived, and weighted by the number of ACKs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.kernel_bridge.host.schemes import DATAGRAMS
from leogym.kernel_bridge.runner import bbr_model
from leogym.kernel_bridge.runner.link_shells import LinkEvents
from leogym.kernel_bridge.runner.plan import PACKET_BYTES, Plan, PlannedFlow
from leogym.kernel_bridge.runner.socket_log import Counts, Samples, SenderLog
from leogym.results.measurement import Measurement, ordered

SEGMENT_BYTES = 1448

Column = NDArray[Any]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class FlowRecord:
    """The logs of a flow's two ends."""

    sent: SenderLog | Counts
    """The log of a sender, or counts of a udp sender."""
    received: Counts
    """Bytes given to the application, or datagrams."""
    start_ns: int | None = None
    """When its first packet left, if that is not the planned start."""
    stop_ns: int | None = None
    """When it stopped, if that is not the planned stop."""
    completed_ns: int | None = None
    """When all bytes of its transfer were acknowledged; None for other flows."""
    late_ns: int = 0
    """For how long the sender could not send, because the machine was busy."""
    columns: Mapping[str, Any] = field(default_factory=dict)
    """What users of its workload felt, and ``workload``, by the run log's columns."""


@dataclass(frozen=True)
class Ahead:
    """How far a link's capacity and delay schedules are ahead of the run."""

    capacity_ns: int
    delay_ns: int


@dataclass(frozen=True)
class _RttSamples:
    time_ns: Integers
    rtt_ms: Column
    base_ms: Column
    weight: Column


def run_log(
    plan: Plan,
    records: Sequence[FlowRecord],
    events: Sequence[LinkEvents],
    series_ms: float,
    invalid: str | None,
    fallbacks: Mapping[int, int] | None = None,
) -> Measurement:
    """Return a run's log from one record per flow and one ``events`` per link of the plan's chain.

    ``invalid`` is the reason why the run is invalid, or None; ``fallbacks`` has how often the policies of
    flows gave them to Cubic, by flow, for those that may.
    """
    step_ns = round(series_ms * NS_PER_MS)
    grid = _row_ends_ns(plan.duration_ns, step_ns)
    # A shell that began early stays ahead in its trace for the whole run.
    ahead = {
        link.name: Ahead(link_events.lead_ns - plan.lead_ns, link_events.delay_lead_ns - plan.lead_ns)
        if link.schedule.varies
        else Ahead(0, 0)
        for link, link_events in zip(plan.chain, events, strict=True)
    }
    flows, flow_columns, bbr_columns = [], [], []
    for index, (flow, record) in enumerate(zip(plan.flows, records, strict=True)):
        rtts = _rtt_samples(plan, flow, record, ahead)
        summary = _flow_summary(plan, flow, record, rtts, ahead)
        summary["fallbacks"] = (fallbacks or {}).get(index)
        flows.append(ordered("flows", {"flow": index, **summary}))
        flow_columns.append(_flow_series(plan, index, flow, record, rtts, ahead, grid))
        if isinstance(record.sent, Samples) and record.sent.bbr is not None:
            row_ns = np.round(flow_columns[-1]["time_s"] * NS_PER_S).astype(np.int64)
            bbr_columns.append(bbr_model.series(index, record.sent.bbr, record.sent.time_ns, row_ns))
    # The simulator orders links in the data direction.
    links, link_columns = [], []
    for index, position in enumerate(reversed(range(len(plan.chain)))):
        of_link = _link_summary(plan.chain[position].name, events[position], plan.duration_ns)
        links.append(ordered("links", of_link))
        link_columns.append(_link_series(plan, position, index, events[position], ahead, grid))
    return Measurement(
        flows,
        links,
        ordered("flow_series", _by_time(flow_columns, "flow")) if flow_columns else {},
        ordered("link_series", _by_time(link_columns, "link")),
        [link["link"] for link in links],
        invalid,
        ordered("bbr_series", _by_time(bbr_columns, "flow")) if bbr_columns else {},
    )


def _row_ends_ns(duration_ns: int, step_ns: int) -> Integers:
    """Return the ends of the series' intervals; the run's end cuts the last one short."""
    return np.append(np.arange(step_ns, duration_ns, step_ns, dtype=np.int64), duration_ns)


def base_rtt_ns(plan: Plan, flow: PlannedFlow, ahead: dict[str, Ahead], time_ns: Integers) -> Integers:
    """Return a flow's propagation delay, both ways, at each time."""
    rtt = np.full(len(time_ns), 2 * flow.extra_delay_ns)
    for link in plan.links_of(flow):
        at_ns = time_ns + ahead[link.name].delay_ns
        rtt = rtt + link.schedule.delay_at(at_ns) + link.schedule.back_delay_at(at_ns)
    return rtt


def capacity_mbps(
    plan: Plan, flow: PlannedFlow, ahead: dict[str, Ahead], from_ns: Integers, to_ns: Integers
) -> Column:
    """Return the mean bottleneck capacity of a flow's links over each interval."""
    carried = [
        link.schedule.capacity_bits(
            from_ns + ahead[link.name].capacity_ns, to_ns + ahead[link.name].capacity_ns
        )
        for link in plan.links_of(flow)
    ]
    return np.min(carried, axis=0) * 1e3 / (to_ns - from_ns)


def weighted_quantile(values: Column, weights: Column, share: float) -> float:
    """Return the smallest value at which the cumulative weight reaches ``share``."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, share * reached[-1])])


def _rtt_samples(plan: Plan, flow: PlannedFlow, record: FlowRecord, ahead: dict[str, Ahead]) -> _RttSamples:
    if isinstance(record.sent, Counts):
        nothing = np.zeros(0)
        return _RttSamples(nothing.astype(np.int64), nothing, nothing, nothing)
    acks, rtt_ms = record.sent.acks(), record.sent.rtt_ms()
    use = (acks > 0) & (rtt_ms > 0)
    time_ns = record.sent.time_ns[use]
    base = base_rtt_ns(plan, flow, ahead, time_ns) / NS_PER_MS
    return _RttSamples(time_ns, rtt_ms[use], base, acks[use].astype(np.float64))


def _flow_summary(
    plan: Plan, flow: PlannedFlow, record: FlowRecord, rtts: _RttSamples, ahead: dict[str, Ahead]
) -> dict[str, Any]:
    start, stop = np.array([flow.start_ns]), np.array([flow.stop_ns])
    # A connection that is never opened has no duration.
    with np.errstate(divide="ignore", invalid="ignore"):
        goodput_mbps = float((_goodput_bytes(flow, record, stop) * 8e3 / (stop - start))[0])
        capacity = float(capacity_mbps(plan, flow, ahead, start, stop)[0])
        normalized = float(np.divide(goodput_mbps, capacity * SEGMENT_BYTES / PACKET_BYTES))
    has_rtts = len(rtts.rtt_ms) > 0

    def mean(values: Column) -> float:
        return float(np.average(values, weights=rtts.weight)) if has_rtts else float("nan")

    inflation = mean(rtts.rtt_ms / rtts.base_ms) if has_rtts and rtts.base_ms.all() else float("nan")
    sent, again, lost = (int(column[-1]) if len(column) else 0 for column in _sent_packets(record.sent))
    return {
        "scheme": flow.scheme,
        "start_s": flow.start_ns / NS_PER_S,
        "stop_s": flow.stop_ns / NS_PER_S,
        "goodput_mbps": goodput_mbps,
        "capacity_mbps": capacity,
        "normalized_goodput": normalized,
        "rtt_mean_ms": mean(rtts.rtt_ms),
        "rtt_p95_ms": weighted_quantile(rtts.rtt_ms, rtts.weight, 0.95) if has_rtts else float("nan"),
        "base_rtt_mean_ms": mean(rtts.base_ms),
        "delay_inflation": inflation,
        "loss_rate": lost / sent if sent else float("nan"),
        "retransmit_rate": again / sent if sent else float("nan"),
        "power": normalized / inflation,
        "sent_packets": sent,
        "delivered_packets": int(_goodput_bytes(flow, record, stop)[0]) // SEGMENT_BYTES,
        "retransmitted_packets": again,
        "lost_packets": lost,
        "rtos": 0 if isinstance(record.sent, Counts) else record.sent.timeouts(),
        "transfer_bytes": flow.transfer_bytes or None,
        "completion_s": (flow.stop_ns - flow.start_ns) / NS_PER_S if flow.completed else None,
        **record.columns,
    }


def _goodput_bytes(flow: PlannedFlow, record: FlowRecord, time_ns: Integers) -> Integers:
    # A datagram fills a packet and counts as the payload of a TCP segment. Calls count bytes.
    is_counted = flow.scheme == DATAGRAMS and flow.workload is None
    return record.received.at(time_ns) * (SEGMENT_BYTES if is_counted else 1)


def _sent_packets(sent: SenderLog | Counts) -> tuple[Integers, Integers, Integers]:
    """Return packets sent, retransmitted and deemed lost, cumulative, per record of a sender."""
    if isinstance(sent, Counts):
        return sent.count, np.zeros_like(sent.count), np.zeros_like(sent.count)
    return sent.packets()


def _flow_series(
    plan: Plan,
    index: int,
    flow: PlannedFlow,
    record: FlowRecord,
    rtts: _RttSamples,
    ahead: dict[str, Ahead],
    grid: Integers,
) -> dict[str, Column]:
    """Return rows for the intervals in which the flow ran, like the simulator."""
    # A transfer's last row covers the interval of its completion.
    edges = np.concatenate(([0], grid))
    runs = (grid > flow.start_ns) & (edges[:-1] < flow.stop_ns if flow.completed else grid <= flow.stop_ns)
    time_ns, before = grid[runs], edges[:-1][runs]
    rows = len(time_ns)
    counted = np.concatenate((before[:1], time_ns))
    goodput = np.diff(_goodput_bytes(flow, record, counted))
    if rows and time_ns[-1] == flow.stop_ns:
        # A sender writes its last record shortly after it has stopped.
        counted[-1] = max([counted[-1], *record.sent.time_ns[-1:]])
    sent, again, lost = (
        np.diff(_values_at(record.sent.time_ns, column, counted, 0)) for column in _sent_packets(record.sent)
    )
    interval = np.searchsorted(time_ns, rtts.time_ns, side="left")
    inside = interval < rows
    weight = np.bincount(interval[inside], weights=rtts.weight[inside], minlength=rows)
    weighted = np.bincount(interval[inside], weights=(rtts.weight * rtts.rtt_ms)[inside], minlength=rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        rtt_ms = weighted / weight
    cwnd, in_flight, pacing = np.zeros(rows), np.zeros(rows), np.full(rows, np.nan)
    packet_bytes: float = PACKET_BYTES
    if not isinstance(record.sent, Counts):
        log, at = record.sent, record.sent.time_ns
        packet_bytes = log.packet_bytes
        cwnd = _values_at(at, log.cwnd_packets(), time_ns, 0)
        in_flight = _values_at(at, log.in_flight_packets(), time_ns, 0)
        pacing = _values_at(at, log.pacing_mbps(), time_ns, np.nan)
    seconds = (time_ns - before) / NS_PER_S
    return {
        "time_s": time_ns / NS_PER_S,
        "flow": np.full(rows, index, dtype=np.uint32),
        "goodput_mbps": goodput * 8e-6 / seconds,
        "send_mbps": sent * packet_bytes * 8e-6 / seconds,
        "rtt_ms": rtt_ms,
        "base_rtt_ms": base_rtt_ns(plan, flow, ahead, time_ns) / NS_PER_MS,
        "cwnd_packets": cwnd.astype(np.uint32),
        "in_flight_packets": np.maximum(in_flight, 0).astype(np.uint32),
        "pacing_mbps": pacing,
        "lost_packets": lost.astype(np.uint32),
        "retransmitted_packets": again.astype(np.uint32),
    }


def _link_summary(name: str, events: LinkEvents, duration_ns: int) -> dict[str, Any]:
    arrived = int((events.arrival_ns < duration_ns).sum())
    departed = int((events.departure_ns < duration_ns).sum())
    delivered = int((events.delivery_ns < duration_ns).sum())
    dropped = int(events.dropped_packets[events.drop_ns < duration_ns].sum())
    lost = int(events.lost_packets[events.loss_ns < duration_ns].sum())
    return {
        "link": name,
        "offered_packets": arrived,
        "delivered_packets": delivered,
        "delivered_bytes": int(events.delivered_bytes[events.delivery_ns < duration_ns].sum()),
        "dropped_packets": dropped,
        "marked_packets": events.marked_packets,
        "lost_packets": lost,
        "queued_packets": arrived - departed - dropped - lost,
        "in_flight_packets": departed - delivered,
    }


def _link_series(
    plan: Plan,
    position: int,
    index: int,
    events: LinkEvents,
    ahead: dict[str, Ahead],
    grid: Integers,
) -> dict[str, Column]:
    link = plan.chain[position]
    shift = ahead[link.name].capacity_ns
    edges = np.concatenate(([0], grid))
    arrived = np.searchsorted(events.arrival_ns, edges)
    departed = np.searchsorted(events.departure_ns, edges)
    carried = _sum_at(events.delivery_ns, events.delivered_bytes, edges)
    dropped = _sum_at(events.drop_ns, events.dropped_packets, edges)
    lost = _sum_at(events.loss_ns, events.lost_packets, edges)
    seconds = np.diff(edges) / NS_PER_S
    bits = link.schedule.capacity_bits(edges[:-1] + shift, edges[1:] + shift)
    return {
        "time_s": grid / NS_PER_S,
        "link": np.full(len(grid), index, dtype=np.uint32),
        "capacity_mbps": bits * 1e-6 / seconds,
        "delay_ms": link.schedule.delay_at(grid + ahead[link.name].delay_ns) / NS_PER_MS,
        "queue_packets": np.maximum(arrived - departed - dropped - lost, 0)[1:].astype(np.uint32),
        "connected": link.schedule.stays_connected(edges[:-1] + shift, edges[1:] + shift),
        "dropped_packets": np.diff(dropped).astype(np.uint32),
        "delivered_mbps": np.diff(carried) * 8e-6 / seconds,
    }


def _sum_at(time_ns: Integers, values: Integers, at_ns: Integers) -> Integers:
    """Return the sum of values before each time."""
    return np.concatenate(([0], np.cumsum(values)))[np.searchsorted(time_ns, at_ns)]


def _values_at(time_ns: Integers, values: Column, at_ns: Integers, before: float) -> Column:
    """Return the last value at or before each time."""
    padded = np.concatenate((np.asarray([before], dtype=values.dtype), values))
    return padded[np.searchsorted(time_ns, at_ns, side="right")]


def _by_time(tables: list[dict[str, Column]], key: str) -> dict[str, Column]:
    """Concatenate tables, sorted by time, then flow or link."""
    joined = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    order = np.lexsort((joined[key], joined["time_s"]))
    return {name: column[order] for name, column in joined.items()}
