"""What is measured, in which unit and which way is better; and the rows of ``runs.parquet`` from a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from configs.scenario import Flow, Scenario
from evaluation.measurement import Measurement, StepMean, grouped

Parts = Callable[[], Iterable[Measurement]]

PAYLOAD_SHARE = 1448 / 1500
"""Data bytes in a full packet over the packet's bytes on the link."""


@dataclass(frozen=True)
class Metric:
    """One metric: a column of ``runs.parquet`` and a value of ``metric`` in ``summary.csv``."""

    name: str
    label: str
    unit: str
    digits: int
    better: Literal["higher", "lower", ""]
    meaning: str
    scale: float = 1.0
    """Shown value over stored value: 100 for a share shown in %."""

    def show(self, value: float) -> str:
        """Return a stored value as the report prints it, without the unit."""
        return f"{value * self.scale:,.{self.digits}f}"


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
            "1,448/1,500, integrated, with outages counted as zero. 1 is everything there was to have.",
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
            "95 % of the RTT samples lie below. It contains the path's own delay: compare within a "
            "scenario only.",
        ),
        Metric(
            "base_rtt_mean_ms",
            "Mean base RTT",
            "ms",
            1,
            "",
            "Propagation there and back without any queueing, averaged over time: a property of the path.",
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
            "Packets sent again over packets sent; above the loss rate where packets were resent needlessly.",
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
    )
}

PER_FLOW = (
    "goodput_mbps",
    "capacity_mbps",
    "normalized_goodput",
    "rtt_mean_ms",
    "rtt_p95_ms",
    "base_rtt_mean_ms",
    "delay_inflation",
    "loss_rate",
    "retransmit_rate",
    "power",
)
COUNTS = ("sent_packets", "delivered_packets", "retransmitted_packets", "lost_packets", "rtos")


def flow_rows(
    measurement: Measurement, scenario: Scenario, fairness_last_s: float | None, parts: Parts | None = None
) -> list[dict[str, Any]]:
    """Return one dict a flow: its own metrics, its counts and those of the run as a whole.

    Values that a run does not define (an RTT without samples, the ratio of one flow) are None, never NaN.

    Args:
        measurement: the run, or the last part of it.
        scenario: what was run.
        fairness_last_s: how much of the time in which all flows run counts; None: all of it.
        parts: yields the parts of the series, as often as it is called; by default the measurement is all.
    """
    window = shared_window_s(measurement.flows, fairness_last_s)
    whole = run_metrics(measurement, scenario, window, parts)
    rows = []
    for flow in measurement.flows:
        row = {key: flow[key] for key in ("flow", "scheme", "start_s", "stop_s")}
        row |= {name: _number(flow[name]) for name in PER_FLOW}
        row |= {name: int(flow[name]) for name in COUNTS}
        # A backend whose flows have no end may leave these out.
        row |= {name: flow.get(name) for name in ("transfer_bytes", "completion_s")}
        rows.append(row | whole)
    return rows


def shared_window_s(flows: list[dict[str, Any]], last_s: float | None) -> tuple[float, float] | None:
    """Return begin and end of the time in which all flows run (its last ``last_s`` seconds), or None.

    Transfers, which run until they are done, do not count where others run without end.
    """
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
) -> dict[str, float | None]:
    """Return the metrics of a run as a whole, all over ``window_s``: utilization, goodput_ratio and jain.

    The latter two compare the flows without end, where there are any.
    """
    if window_s is None:
        return {"utilization": None, "goodput_ratio": None, "jain": None}
    compared = _without_end(measurement.flows)
    goodputs = flow_goodputs_mbps(measurement, window_s, compared, parts)
    others = {flow["flow"] for flow in measurement.flows} - {flow["flow"] for flow in compared}
    total = sum(goodputs) + (_total_mbps(measurement, window_s, others, parts) if others else 0.0)
    capacity = shared_capacity_mbps(measurement, scenario, window_s, parts)
    return {
        "utilization": _number(total / (capacity * PAYLOAD_SHARE)) if capacity else None,
        "goodput_ratio": goodput_ratio(goodputs),
        "jain": jain(goodputs),
    }


def goodput_ratio(goodputs: list[float]) -> float | None:
    """Return the lowest over the highest of two or more goodputs; None for fewer, or all zeros."""
    if len(goodputs) < 2 or max(goodputs) <= 0:
        return None
    return min(goodputs) / max(goodputs)


def jain(goodputs: list[float]) -> float | None:
    """Return Jain's fairness index of two or more goodputs; None for fewer, or all zeros.

    Jain, Chiu and Hawe: "A quantitative measure of fairness and discrimination for resource allocation",
    1984.
    """
    if len(goodputs) < 2 or not any(goodputs):
        return None
    return sum(goodputs) ** 2 / (len(goodputs) * sum(x * x for x in goodputs))


def _without_end(flows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the flows that are no transfers; all of them, if all are."""
    return [flow for flow in flows if flow.get("transfer_bytes") is None] or flows


def _total_mbps(
    measurement: Measurement, window_s: tuple[float, float], flows: set[int], parts: Parts | None
) -> float:
    """Return what ``flows``, each of which may run for a part of the window only, carry together in it."""
    mean = StepMean(window_s)
    for part in parts() if parts else [measurement]:
        series, grid_s = part.flow_series, part.of_link(0)["time_s"]
        mine = np.isin(series["flow"], list(flows))
        step = np.searchsorted(grid_s, series["time_s"][mine])
        mean.add(grid_s, np.bincount(step, weights=series["goodput_mbps"][mine], minlength=len(grid_s)))
    return mean.mean()


def flow_goodputs_mbps(
    measurement: Measurement,
    window_s: tuple[float, float],
    flows: list[dict[str, Any]],
    parts: Parts | None = None,
) -> list[float]:
    """Return each flow's mean goodput over a window, from the series' intervals that lie in it."""
    means = {flow["flow"]: StepMean(window_s, flow["start_s"]) for flow in flows}
    for part in parts() if parts else [measurement]:
        for flow, (end_s, goodput) in grouped(part.flow_series, "flow", "time_s", "goodput_mbps"):
            if flow in means:
                means[flow].add(end_s, goodput)
    return [mean.mean() for mean in means.values()]


def shared_capacity_mbps(
    measurement: Measurement,
    scenario: Scenario,
    window_s: tuple[float, float],
    parts: Parts | None = None,
) -> float | None:
    """Return the mean capacity of the flows' common bottleneck over a window; outages count as zero in it.

    It is the least of the links that every flow crosses; None where there is no such link.
    """
    common = set.intersection(*(_crossed(flow) for flow in scenario.flows))
    names = measurement.link_names
    means = {index: StepMean(window_s) for index, name in enumerate(names) if name in common}
    for part in parts() if parts else [measurement]:
        for link, (end_s, capacity) in grouped(part.link_series, "link", "time_s", "capacity_mbps"):
            if link in means:
                means[link].add(end_s, capacity)
    return min((mean.mean() for mean in means.values()), default=None)


def _crossed(flow: Flow) -> set[str]:
    """Return the links that a flow's data crosses, as the run log names them."""
    return {f"{link}.reverse" for link in flow.route} if flow.direction == "backward" else set(flow.route)


def _number(value: float | None) -> float | None:
    """Return a finite float, or None."""
    return float(value) if value is not None and np.isfinite(value) else None
