"""The metrics with units and directions, and the rows of ``runs.parquet`` from a run."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from leogym.configs.scenario import Flow, Scenario
from leogym.configs.suite import Compare
from leogym.results.measurement import COLUMNS, Measurement, StepMean, Window, grouped

Parts = Callable[[], Iterable[Measurement]]
Span = Window | tuple[float, float]
ALL = Compare()
"""Compare all flows, throughout the window."""

PAYLOAD_SHARE = 1448 / 1500
"""Payload bytes over bytes on the link of a full packet."""


@dataclass(frozen=True)
class Metric:
    """A metric: a column of ``runs.parquet`` and a value of ``metric`` in ``summary.csv``."""

    name: str
    label: str
    unit: str
    digits: int
    better: Literal["higher", "lower", ""]
    meaning: str
    scale: float = 1.0
    """Displayed value over stored value: 100 for a share shown in %."""

    def show(self, value: float) -> str:
        """Format a stored value as in the report, without the unit."""
        return f"{value * self.scale:,.{self.digits}f}"


SHARED = (
    "Power and normalized goodput count a flow's share of the whole link: of n flows that share it equally, "
    "each has about 1/n at most. Utilization counts all flows together."
)
"""What a table of runs with several flows says."""

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "normalized_goodput",
            "Normalized goodput",
            "",
            3,
            "higher",
            "Goodput over the payload that the bottleneck could have carried in the same time: its rate × "
            "1,448/1,500, integrated, with outages counted as zero. 1 is the maximum.",
        ),
        Metric(
            "delay_inflation",
            "Delay inflation",
            "×",
            3,
            "lower",
            "Mean over all RTT samples of the measured RTT over the path's base RTT at that very time. "
            "1 means empty queues; 1 + buffer/BDP is a queue that is always full.",
        ),
        Metric(
            "power",
            "Power",
            "",
            3,
            "higher",
            "Normalized goodput over delay inflation. 1 is the physical limit: all of the capacity, no "
            "queue.",
        ),
        Metric(
            "goodput_mbps",
            "Goodput",
            "Mbit/s",
            1,
            "higher",
            "New in-order bytes given to the receiving application, per second.",
        ),
        Metric(
            "rtt_mean_ms",
            "Mean RTT",
            "ms",
            1,
            "lower",
            "Mean of all RTT samples, propagation and queueing together.",
        ),
        Metric(
            "rtt_p95_ms",
            "95th percentile RTT",
            "ms",
            1,
            "lower",
            "95 % of the RTT samples lie below. It includes propagation, so compare only within a scenario.",
        ),
        Metric(
            "base_rtt_mean_ms",
            "Mean base RTT",
            "ms",
            1,
            "",
            "Propagation both ways without queueing, averaged over time: a property of the path.",
        ),
        Metric(
            "loss_rate",
            "Loss rate",
            "%",
            3,
            "lower",
            "Packets lost on the way, in queues, outages or by random loss, over packets sent.",
            scale=100.0,
        ),
        Metric(
            "retransmit_rate",
            "Retransmit rate",
            "%",
            3,
            "lower",
            "Packets retransmitted over packets sent; spurious retransmissions raise it above the loss rate.",
            scale=100.0,
        ),
        Metric(
            "utilization",
            "Utilization",
            "",
            3,
            "higher",
            "Goodput of all flows together over the payload that their common bottleneck could have carried, "
            "in the window in which all flows run.",
        ),
        Metric(
            "shared_delay_inflation",
            "Delay inflation while all run",
            "×",
            3,
            "lower",
            "Measured RTT over base RTT in the same window: each flow's mean over time, then over flows.",
        ),
        Metric(
            "goodput_ratio",
            "Goodput ratio",
            "",
            3,
            "higher",
            "Goodput of the slowest flow over that of the fastest, in the same window. 1 is an even share.",
        ),
        Metric(
            "jain",
            "Jain’s index",
            "",
            3,
            "higher",
            "(Σx)² / (n Σx²) over the flows’ goodputs in the same window: 1 is an even share, 1/n is "
            "one flow taking everything.",
        ),
        Metric(
            "completion_s",
            "Completion time",
            "s",
            2,
            "lower",
            "Time from a transfer's start, including a handshake, to the acknowledgement of its last "
            "byte. Incomplete transfers are ignored.",
        ),
        Metric(
            "qoe",
            "Quality of experience",
            "Mbit/s",
            2,
            "higher",
            "Video: QoE_lin per chunk (Yin et al., SIGCOMM 2015): the bitrate less its changes, less the "
            "highest bitrate for each second of startup and rebuffering.",
        ),
        Metric("startup_s", "Startup delay", "s", 2, "lower", "Video: time to the first frame."),
        Metric("rebuffer_s", "Rebuffering", "s", 2, "lower", "Video: how long playback stood still."),
        Metric(
            "bitrate_mbps",
            "Bitrate",
            "Mbit/s",
            2,
            "higher",
            "Video: mean bitrate of its chunks. Call: of what arrived.",
        ),
        Metric("switches", "Switches", "", 1, "lower", "Video: changes of the bitrate."),
        Metric(
            "page_load_s",
            "Page load time",
            "s",
            2,
            "lower",
            "Time to the arrival of a page's last object. Pages that did not load are ignored.",
        ),
        Metric(
            "freeze_s",
            "Freezes",
            "s",
            2,
            "lower",
            "Call, beside the scheme: how long its video froze (W3C's definition).",
        ),
        *(
            Metric(
                f"delay_p{percentile}_ms",
                f"Delay of a call, {percentile} %",
                "ms",
                1,
                "lower",
                f"Call, beside the scheme: one-way delay that {percentile} % of its packets stay below.",
            )
            for percentile in (50, 95, 99)
        ),
        Metric(
            "share",
            "Share",
            "%",
            1,
            "",
            "Goodput of a scheme’s flows over that of all flows, in the same window, where several schemes "
            "share the path. 50 % is an even share between two schemes with equally many flows.",
            scale=100.0,
        ),
    )
}

ORACLE = "oracle"
"""The scheme that knows its path, which only the simulator can tell it: the upper bound."""
ORACLE_SHARE = Metric(
    "oracle_share",
    "Share of the oracle’s power",
    "%",
    1,
    "higher",
    "Power over the mean power of the scheme oracle, which knows its path, in the same scenario. Use it on "
    "paths where even the oracle cannot reach a power of 1.",
    scale=100.0,
)
"""A metric of ``summary.csv`` alone, for scenarios that the oracle also ran."""

CALL_METRICS = ("bitrate_mbps", "freeze_s", "delay_p50_ms", "delay_p95_ms", "delay_p99_ms")
"""Metrics of calls, which count for the scheme that runs beside them."""

SHARED_METRICS = ("utilization", "goodput_ratio", "jain", "shared_delay_inflation")
"""Metrics of a run's flows together, over the window in which all flows run."""


def flow_rows(
    measurement: Measurement,
    scenario: Scenario,
    fairness_last_s: float | None,
    parts: Parts | None = None,
    compare: Compare = ALL,
) -> list[dict[str, Any]]:
    """Return one dict per flow: its own metrics and counts, and those of the whole run.

    Undefined values (an RTT without samples, the ratio of one flow) are None, never NaN.

    Args:
        measurement: the run, or its last part.
        scenario: the scenario that was run.
        fairness_last_s: length of the window at the end of the time in which all flows run; None: all of it.
        parts: returns an iterator over the parts of the series; by default, ``measurement`` is complete.
        compare: which flows are compared, and when.
    """
    window = shared_window_s(measurement.flows, fairness_last_s)
    shared_metrics = run_metrics(measurement, scenario, window, parts, compare)
    shares = scheme_shares(measurement, window, parts)
    rows, columns = [], COLUMNS["flows"].items()
    for flow in measurement.flows:
        row = {name: _number(flow[name]) if kind == "f64" else flow[name] for name, kind in columns}
        rows.append(row | shared_metrics | {"share": shares.get(flow["scheme"])})
    return rows


def shared_window_s(flows: list[dict[str, Any]], last_s: float | None) -> tuple[float, float] | None:
    """Return begin and end of the time in which all flows run (its last ``last_s`` seconds), or None.

    Transfers and flows with a workload are ignored if there are other flows.
    """
    if not flows:
        return None
    flows = _without_end(flows)
    begin, end = max(flow["start_s"] for flow in flows), min(flow["stop_s"] for flow in flows)
    if last_s is not None:
        begin = max(begin, end - last_s)
    return (begin, end) if end > begin else None


def run_metrics(
    measurement: Measurement,
    scenario: Scenario,
    window_s: tuple[float, float] | None,
    parts: Parts | None = None,
    compare: Compare = ALL,
) -> dict[str, float | None]:
    """Return the metrics `SHARED_METRICS` of a run, over ``window_s``.

    Goodput ratio and Jain's index compare only backlogged flows, if there are any.
    """
    if window_s is None:
        return dict.fromkeys(SHARED_METRICS)
    window = Window(*window_s, compare.every_s, compare.first_s)
    compared = _without_end(measurement.flows)
    goodputs = flow_goodputs_mbps(measurement, window, compared, parts)
    transfers = {flow["flow"] for flow in measurement.flows} - {flow["flow"] for flow in compared}
    total = sum(goodputs) + (_total_mbps(measurement, window, transfers, parts) if transfers else 0.0)
    groups = sharing_groups(scenario, window) if compare.apart else [list(range(len(scenario.flows)))]
    capacity = shared_capacity_mbps(measurement, scenario, window, parts, groups)
    together = [[goodputs[flow] for flow in group] for group in groups] if compare.apart else [goodputs]
    if compare.ratio_of is not None:
        ratios = [ratio_to_others(goodputs, compare.ratio_of)]
    else:
        ratios = [goodput_ratio(group) for group in together]
    return {
        "utilization": _number(total / (capacity * PAYLOAD_SHARE)) if capacity else None,
        "goodput_ratio": _mean(ratios),
        "jain": _mean([jain(group) for group in together]),
        "shared_delay_inflation": _number(_inflation(measurement, window, compared, parts)),
    }


def scheme_shares(
    measurement: Measurement, window_s: tuple[float, float] | None, parts: Parts | None = None
) -> dict[str, float]:
    """Return each scheme's share of the goodput of backlogged flows; empty for a single scheme."""
    compared = _without_end(measurement.flows)
    if window_s is None or len({flow["scheme"] for flow in compared}) < 2:
        return {}
    totals: dict[str, float] = {}
    for flow, goodput in zip(
        compared, flow_goodputs_mbps(measurement, window_s, compared, parts), strict=True
    ):
        totals[flow["scheme"]] = totals.get(flow["scheme"], 0.0) + goodput
    overall = sum(totals.values())
    return {scheme: total / overall for scheme, total in totals.items()} if overall > 0 else {}


def goodput_ratio(goodputs: list[float]) -> float | None:
    """Return the lowest over the highest goodput; None for fewer than two, all zeros, or a NaN (unknown)."""
    if len(goodputs) < 2 or not np.isfinite(goodputs).all() or max(goodputs) <= 0:
        return None
    return min(goodputs) / max(goodputs)


def ratio_to_others(goodputs: list[float], flow: int) -> float | None:
    """Return a flow's goodput over the highest goodput of the other flows.

    None without other flows, if all other goodputs are 0, or if a goodput is unknown (NaN).
    """
    highest = max((x for index, x in enumerate(goodputs) if index != flow), default=0.0)
    return goodputs[flow] / highest if np.isfinite(goodputs).all() and highest > 0 else None


def jain(goodputs: list[float]) -> float | None:
    """Return Jain's fairness index; None for fewer than two goodputs, all zeros, or a NaN (unknown).

    Jain, Chiu and Hawe: "A quantitative measure of fairness and discrimination for resource allocation",
    1984.
    """
    if len(goodputs) < 2 or not np.isfinite(goodputs).all() or not any(goodputs):
        return None
    return sum(goodputs) ** 2 / (len(goodputs) * sum(x * x for x in goodputs))


def sharing_groups(scenario: Scenario, window_s: Span) -> list[list[int]]:
    """Return groups of flows that share links in a window, directly or through other flows."""
    groups: list[tuple[list[int], set[str]]] = []
    for index in range(len(scenario.flows)):
        members, links = [index], set().union(*_links_by_route(scenario, index, window_s))
        apart = []
        for group in groups:
            if links & group[1]:
                members, links = [*group[0], *members], links | group[1]
            else:
                apart.append(group)
        groups = [*apart, (members, links)]
    return [members for members, _ in groups]


def _inflation(
    measurement: Measurement, window_s: Span, flows: list[dict[str, Any]], parts: Parts | None
) -> float:
    """Return RTT over base RTT, averaged over a window and then over the flows with samples in it."""
    means = {flow["flow"]: StepMean(window_s, flow["start_s"]) for flow in flows}
    for part in parts() if parts else [measurement]:
        for flow, (end_s, rtt, base) in grouped(part.flow_series, "flow", "time_s", "rtt_ms", "base_rtt_ms"):
            if flow in means:
                inflation = np.full(len(base), np.nan)
                means[flow].add(end_s, np.divide(rtt, base, out=inflation, where=base > 0))
    inflations = [mean for step_mean in means.values() if np.isfinite(mean := step_mean.mean())]
    return sum(inflations) / len(inflations) if inflations else float("nan")


def _mean(values: list[float | None]) -> float | None:
    """Return the mean of the values that are not None; None without any."""
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if defined else None


def _without_end(flows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the backlogged flows; all of them if there are none."""
    return [
        flow for flow in flows if flow.get("transfer_bytes") is None and flow.get("workload") is None
    ] or flows


def _total_mbps(measurement: Measurement, window_s: Span, flows: set[int], parts: Parts | None) -> float:
    """Return the total goodput of ``flows`` in a window, during which each may run only for a while."""
    mean = StepMean(window_s)
    for part in parts() if parts else [measurement]:
        series, grid_s = part.flow_series, part.of_link(0)["time_s"]
        selected = np.isin(series["flow"], list(flows))
        step = np.searchsorted(grid_s, series["time_s"][selected])
        mean.add(grid_s, np.bincount(step, weights=series["goodput_mbps"][selected], minlength=len(grid_s)))
    return mean.mean()


def flow_goodputs_mbps(
    measurement: Measurement,
    window_s: Span,
    flows: list[dict[str, Any]],
    parts: Parts | None = None,
) -> list[float]:
    """Return each flow's mean goodput over a window."""
    means = {flow["flow"]: StepMean(window_s, flow["start_s"]) for flow in flows}
    for part in parts() if parts else [measurement]:
        for flow, (end_s, goodput) in grouped(part.flow_series, "flow", "time_s", "goodput_mbps"):
            if flow in means:
                means[flow].add(end_s, goodput)
    return [mean.mean() for mean in means.values()]


def shared_capacity_mbps(
    measurement: Measurement,
    scenario: Scenario,
    window_s: Span,
    parts: Parts | None = None,
    groups: list[list[int]] | None = None,
) -> float | None:
    """Return the mean capacity of the flows' common bottleneck over a window; outages count as zero.

    It is the minimum over links that every flow crosses throughout; None without such a link. For groups of
    flows from `sharing_groups`, it is the sum over the groups.
    """
    groups = groups or [list(range(len(scenario.flows)))]
    common = [
        set.intersection(*(route for flow in group for route in _links_by_route(scenario, flow, window_s)))
        for group in groups
    ]
    names = measurement.link_names
    means = {index: StepMean(window_s) for index, name in enumerate(names) if name in set().union(*common)}
    for part in parts() if parts else [measurement]:
        for link, (end_s, capacity) in grouped(part.link_series, "link", "time_s", "capacity_mbps"):
            if link in means:
                means[link].add(end_s, capacity)
    mbps = {names[link]: mean.mean() for link, mean in means.items()}
    capacities = [min((mbps[link] for link in links if link in mbps), default=None) for links in common]
    return None if None in capacities else sum(capacity for capacity in capacities if capacity is not None)


def _links_by_route(scenario: Scenario, index: int, window_s: Span) -> list[set[str]]:
    """Return the links, as in the run log, of each route that a flow's data takes in a window."""
    flow = scenario.flows[index]
    events = [event for event in scenario.events if index in event.reroute.flows]
    events.sort(key=lambda event: event.at_s)
    routes = [(0.0, flow.route), *((event.at_s, event.reroute.route) for event in events)]
    ends = [*(at_s for at_s, _ in routes[1:]), math.inf]
    return [
        _directed(flow, route)
        for (at_s, route), end_s in zip(routes, ends, strict=True)
        if at_s < window_s[1] and end_s > window_s[0]
    ]


def _directed(flow: Flow, route: list[str]) -> set[str]:
    return {f"{link}.reverse" for link in route} if flow.direction == "backward" else set(route)


def _number(value: float | None) -> float | None:
    """Return a finite float, or None."""
    return float(value) if value is not None and np.isfinite(value) else None
