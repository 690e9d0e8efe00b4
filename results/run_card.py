"""A measured run as a card for notebooks: goodput and RTT over time, and a table of its flows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from leogym.results.figure_style import MUTED, PALETTE, Panel, canvas, legend_above
from leogym.results.measurement import Column, Measurement, grouped
from leogym.results.metrics import METRICS
from leogym.results.notebook_card import card, drawing, paragraph, table

SHOWN_FLOWS = 10
"""Lines in the figure, at most: one colour each."""
SHOWN_ROWS = 30
_POINTS = 300
"""Points of a line, at most; a screen shows no more."""
_COLUMNS = (
    *("goodput_mbps", "normalized_goodput", "rtt_mean_ms", "rtt_p95_ms"),
    *("delay_inflation", "loss_rate", "power"),
)


def run_card(run: Measurement) -> str:
    """Return the card of a run."""
    title = f"Run of {len(run.flows)} flow{'s' if len(run.flows) != 1 else ''}"
    parts = []
    if run.invalid is not None:
        parts.append(paragraph(f"Invalid: {run.invalid}"))
    if run.flow_series and len(run.flow_series["time_s"]):
        parts.append(drawing(_panel(run)))
        if len(run.flows) > SHOWN_FLOWS:
            parts.append(paragraph(f"The figure has the first {SHOWN_FLOWS} flows."))
    if run.flows:
        parts.append(_flows(run))
    return card(title, parts)


def _panel(run: Measurement) -> Panel:
    schemes = {flow["flow"]: flow["scheme"] for flow in run.flows}
    with canvas(7.0, 3.6, heights=(1.2, 1)) as (figure, [rate, rtt]):
        handles = [
            Line2D([], [], color=PALETTE[flow % len(PALETTE)], label=f"{flow}: {scheme}")
            for flow, scheme in schemes.items()
            if flow < SHOWN_FLOWS
        ]
        if len(run.link_names) == 1 and len(run.link_series["time_s"]):
            # With several links the bottleneck depends on the flow.
            _line(rate, run.link_series["time_s"], run.link_series["capacity_mbps"], MUTED, width=1.8)
            handles.append(Line2D([], [], color=MUTED, linewidth=1.8, label="capacity"))
        names = ("time_s", "goodput_mbps", "rtt_ms", "base_rtt_ms")
        for flow, (time_s, goodput, rtt_ms, base_ms) in grouped(run.flow_series, "flow", *names):
            if flow < SHOWN_FLOWS:
                _line(rate, time_s, goodput, PALETTE[flow % len(PALETTE)])
                _line(rtt, time_s, base_ms, MUTED, width=0.8)
                _line(rtt, time_s, rtt_ms, PALETTE[flow % len(PALETTE)])
        handles.append(Line2D([], [], color=MUTED, linewidth=0.8, label="base RTT"))
        rate.set_ylabel("goodput\n(Mbit/s)")
        rtt.set_ylabel("RTT (ms)")
        rtt.set_xlabel("time (s)")
        for axes in (rate, rtt):
            axes.set_ylim(bottom=0)
        legend_above(figure, handles)
    labels = ", ".join(f"{flow} {scheme}" for flow, scheme in schemes.items() if flow < SHOWN_FLOWS)
    return Panel("run", f"goodput and RTT over time of flows {labels}", figure)


def _line(axes: Axes, time_s: Column, values: Column, color: str, width: float = 1.1) -> None:
    """Draw a series, as means over equal numbers of rows if there are more than the screen shows."""
    size = -(-len(time_s) // _POINTS)
    starts = np.arange(0, len(time_s), size)
    finite = np.isfinite(values.astype(float))
    total = np.add.reduceat(np.where(finite, values, 0.0), starts)
    count = np.add.reduceat(finite.astype(float), starts)
    mean = np.divide(total, count, out=np.full(len(starts), np.nan), where=count > 0)
    axes.plot(time_s[starts], mean, color=color, linewidth=width)


def _flows(run: Measurement) -> str:
    metrics = [METRICS[name] for name in _COLUMNS]
    header = ["flow", *(metric.label + (f" ({metric.unit})" if metric.unit else "") for metric in metrics)]
    rows = [
        [f"{flow['flow']}: {flow['scheme']}", *(_shown(flow, name) for name in _COLUMNS)]
        for flow in run.flows[:SHOWN_ROWS]
    ]
    more = len(run.flows) - SHOWN_ROWS
    return table(header, rows) + (paragraph(f"and {more} more flows, in .flows") if more > 0 else "")


def _shown(flow: Mapping[str, Any], metric: str) -> str:
    value = flow.get(metric)
    return "–" if value is None or not np.isfinite(value) else METRICS[metric].show(value)
