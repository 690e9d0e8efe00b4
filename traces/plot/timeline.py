"""Delay, capacity and handovers of a path trace over time."""

from itertools import pairwise

import leosim
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from leogym.traces.plot.style import DELAY, DOWN, EVENTS, HARD


def _series(
    trace: leosim.PathTrace, values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times and values up to the period's end, for step plots."""
    time_s, end_s = trace.time_ns / 1e9, trace.period_ns / 1e9
    if time_s[-1] < end_s:
        return np.append(time_s, end_s), np.append(values, values[-1])
    return time_s, values


def delay(axes: Axes, trace: leosim.PathTrace, floor_ms: float | None) -> None:
    """Draw the delay of each direction and, if known, the minimum that geometry allows."""
    up, down = trace.up_delay_ns / 1e6, trace.down_delay_ns / 1e6
    label = "propagation, one way"
    if not np.array_equal(up, down):
        _step(axes, trace, down, HARD, "propagation, down")
        label = "propagation, up"
    _step(axes, trace, up, DELAY, label)
    if floor_ms is not None:
        axes.axhline(
            floor_ms, color="#444444", linewidth=0.8, linestyle=":", label="minimum that geometry allows"
        )
    axes.set_ylabel("delay (ms)")
    _legend(axes)


def _step(axes: Axes, trace: leosim.PathTrace, values: NDArray[np.float64], colour: str, label: str) -> None:
    axes.step(*_series(trace, values), where="post", color=colour, linewidth=0.9, label=label)


def _legend(axes: Axes) -> None:
    # Above the panel, where it hides no data.
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.98), fontsize=8, frameon=False, ncols=2)


def capacity(axes: Axes, trace: leosim.PathTrace) -> None:
    """Draw the capacity of both ways."""
    # Ignore outages: many of a few ms would fill the panel, and events mark them.
    up, down = trace.uplink_bps / 1e6, trace.downlink_bps / 1e6
    symmetric = bool((up == down).all())
    _step(axes, trace, up, DELAY, "both ways" if symmetric else "up")
    if not symmetric:
        _step(axes, trace, down, HARD, "down")
    axes.set_ylabel("capacity\n(Mbit/s)")
    axes.set_ylim(0, 1.15 * max(up.max(), down.max(), 1))
    _legend(axes)


def events(axes: Axes, trace: leosim.PathTrace) -> None:
    """Draw a stroke per event, with one row per kind."""
    time_s, kind_of = trace.time_ns / 1e9, np.array([event.partition("(")[0] for event in trace.event])
    labels = []
    for height, (kind, (label, colour)) in enumerate(EVENTS.items()):
        at = time_s[kind_of == kind]
        axes.eventplot(at, lineoffsets=height, linelengths=0.8, colors=colour, linewidths=0.8)
        labels.append(f"{label} ({len(at)})")
    axes.set_yticks(range(len(EVENTS)), labels)
    axes.set_ylim(-0.6, len(EVENTS) - 0.4)
    axes.set_xlabel("time (s)")


def shade_down(axes: Axes, trace: leosim.PathTrace) -> None:
    """Shade spans with a disconnected direction that are long enough to be visible."""
    time_s, connected = _series(trace, (trace.up_connected & trace.down_connected).astype(float))
    edges = np.flatnonzero(np.diff(connected) != 0) + 1
    bounds = np.concatenate([[0], edges, [len(time_s) - 1]])
    for first, last in pairwise(bounds.tolist()):
        if not connected[first] and time_s[last] - time_s[first] > 0.1:
            axes.axvspan(float(time_s[first]), float(time_s[last]), color=DOWN, linewidth=0)
