"""The three strips of a frame, over the last seconds: rates, RTT and windows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, StepPatch
from matplotlib.text import Text
from numpy.typing import NDArray

from leogym.envs.rendering.course import REROUTE, STEP_S, Course
from leogym.envs.rendering.samples import FIELDS, SPAN_S
from leogym.results.figure_style import FAINT, INK, MUTED, PALETTE
from leogym.traces.path import handover
from leogym.traces.plot.style import DOWN, HARD, SOFT

Floats = NDArray[np.float64]

HEIGHTS = ((0.61, 0.27), (0.355, 0.185), (0.135, 0.15))
"""Bottom and height of each strip, as shares of the figure's."""
TITLES = ("rate (Mbit/s)", "RTT (ms)", "window (packets)")
MARKS = {
    handover.HARD: ("hard handover", {"color": HARD, "linestyle": "-", "linewidth": 1.3}),
    handover.SOFT: ("soft handover", {"color": SOFT, "linestyle": (0, (4, 2)), "linewidth": 1.2}),
    handover.UNREACHABLE: ("unreachable", {"color": INK, "linestyle": (0, (1, 1)), "linewidth": 1.2}),
    REROUTE: ("change of route", {"color": PALETTE[3], "linestyle": (0, (6, 1, 1, 1)), "linewidth": 1.2}),
}
"""Label and line of each kind of event."""
_MOST_OVER_CAPACITY = 1.5
"""The rate's strip ends here, in capacities: a burst is sent much faster than the path can carry."""
_LEGEND_COLUMNS = 6
"""A legend with more entries has two rows."""
_MIN_VISIBLE_OUTAGE_S = 0.1
"""Shorter outages are too thin to see next to the mark of their event."""
_NAMED_FLOWS = 4
"""More flows than this are summed up in the readings."""
_STEPS = np.array([1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0])
_GRID = 3
"""Lines of the grid, at most."""


@dataclass(frozen=True)
class View:
    """The part of an episode in a frame: its samples up to ``time_s``."""

    course: Course
    time_s: float
    at_s: Floats
    """Times of the samples, (samples,)."""
    values: Floats
    """`FIELDS` of each sample and flow, (samples, flows, 4); NaN for none."""

    def of(self, field: str) -> Floats:
        """Return a field of all samples and flows, (samples, flows)."""
        return self.values[:, :, FIELDS.index(field)]

    def steps(self, series: Floats) -> tuple[Floats, Floats]:
        """Return the edges of the course's visible steps, relative to now, and the ``series`` within."""
        first, last = self.course.step(self.time_s - SPAN_S), self.course.step(self.time_s)
        edge_s = np.arange(first, last + 2, dtype=np.float64) * STEP_S - self.time_s
        return edge_s.clip(-SPAN_S, 0.0), series[first : last + 1]


class Strips:
    """The strips of a figure, for up to ``flows`` flows. Lines move; axes and labels seldom change."""

    def __init__(self, figure: Figure, flows: int) -> None:
        self.axes = [figure.add_axes((0.075, bottom, 0.9, height)) for bottom, height in HEIGHTS]
        self._legend_of = figure
        self._areas: list[StepPatch] = []
        self._readings: list[Text] = []
        self._outages: list[StepPatch] = []
        self._marks: dict[str, list[Line2D]] = {kind: [] for kind in MARKS}
        for axes, title in zip(self.axes, TITLES, strict=True):
            axes.set(xlim=(-SPAN_S, 0.0), ylim=(0.0, 1.0))
            axes.tick_params(labelbottom=axes is self.axes[-1], pad=2)
            axes.set_title(title, pad=3)
            self._readings.append(axes.text(1, 1.03, "", transform=axes.transAxes, ha="right", va="bottom"))
            across = axes.get_xaxis_transform()
            self._outages.append(axes.stairs([0.0], [0.0, 0.0], fill=True, color=DOWN, transform=across))
            for kind, (_, style) in MARKS.items():
                self._marks[kind] += axes.plot([], [], transform=across, zorder=2.5, **style)
        for axes in self.axes[:2]:
            self._areas.append(axes.stairs([0.0], [0.0, 0.0], fill=True, color=FAINT, alpha=0.75))
        self._top = self.axes[0].stairs([0.0], [0.0, 0.0], baseline=None, color=MUTED, linewidth=1.4)
        colors = [PALETTE[flow % len(PALETTE)] for flow in range(flows)]
        rate, rtt, window = self.axes
        self._sending = [rate.plot([], [], color=color, alpha=0.45, linewidth=0.9)[0] for color in colors]
        self._goodput = [rate.plot([], [], color=color)[0] for color in colors]
        self._base = [rtt.plot([], [], ":", color=color, linewidth=1.2)[0] for color in colors]
        # The dots show samples between intervals without one.
        dots = {"marker": "o", "markersize": 1.6, "markeredgewidth": 0}
        self._rtt = [rtt.plot([], [], color=color, **dots)[0] for color in colors]
        self._window = [window.plot([], [], color=color)[0] for color in colors]
        self.axes[-1].set_xticks(np.arange(-SPAN_S, 0.1, 5.0), ["−20", "−15", "−10", "−5", "now"])
        self.axes[-1].set_xlabel("seconds", labelpad=1)

    def moving(self) -> Iterator[tuple[Axes, Artist]]:
        """Yield the artists that every frame draws again, bottom up."""
        for index, axes in enumerate(self.axes):
            yield axes, self._outages[index]
            if index < len(self._areas):
                yield axes, self._areas[index]
            if index == 0:
                yield axes, self._top
            for lines in self._marks.values():
                yield axes, lines[index]
            lines = ((*self._sending, *self._goodput), (*self._base, *self._rtt), self._window)[index]
            yield from ((axes, line) for line in lines)
            yield axes, self._readings[index]

    def begin(self, course: Course, right: float) -> None:
        """Lay the strips out for an episode, up to ``right`` of the figure's width."""
        for axes, (bottom, height) in zip(self.axes, HEIGHTS, strict=True):
            axes.set_position((0.075, bottom, right - 0.075, height))
        kinds = [kind for kind in MARKS if len(course.event_s[kind])]
        flows = len(course.base_rtt_ms)
        handles: list[Artist] = [
            *(
                Line2D([], [], color=PALETTE[flow % len(PALETTE)], label=f"flow {flow}")
                for flow in range(flows)
                if 1 < flows <= _NAMED_FLOWS
            ),
            Line2D([], [], color=PALETTE[0], alpha=0.45, linewidth=0.9, label="sending"),
            Patch(facecolor=FAINT, edgecolor=MUTED, label="capacity; base RTT"),
            *(Line2D([], [], label=label, **style) for label, style in (MARKS[kind] for kind in kinds)),
            *(
                [Patch(color=DOWN, label="outage")]
                if np.any(np.diff(course.outage_s) > _MIN_VISIBLE_OUTAGE_S)
                else []
            ),
        ]
        if flows == 1 or flows > _NAMED_FLOWS:
            label = "goodput" if flows == 1 else "goodput, one line per flow"
            handles.insert(0, Line2D([], [], color=PALETTE[0], label=label))
        for legend in self._legend_of.legends:
            legend.remove()
        self._legend_of.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0.015, 0.0),
            ncols=len(handles) if len(handles) <= _LEGEND_COLUMNS else -(-len(handles) // 2),
            fontsize=8,
            labelspacing=0.25,
        )

    def show(self, view: View) -> tuple[float, ...]:
        """Move all lines to ``view``; return the upper limits of the strips."""
        self._show_path(view)
        at_s = view.at_s - view.time_s
        for lines, field in (
            (self._sending, "send_mbps"),
            (self._goodput, "goodput_mbps"),
            (self._rtt, "rtt_ms"),
            (self._window, "cwnd_packets"),
        ):
            for line, values in zip(lines, view.of(field).T, strict=False):
                line.set_data(at_s, values)
        for text, reading in zip(self._readings, _readings(view), strict=True):
            text.set_text(reading)
        tops = _tops(view)
        for axes, top in zip(self.axes, tops, strict=True):
            if axes.get_ylim()[1] != top:
                axes.set_ylim(0.0, top)
                axes.set_yticks(_ticks(top))
        return tops

    def _show_path(self, view: View) -> None:
        edges, capacity = view.steps(view.course.capacity_mbps)
        self._top.set_data(np.nan_to_num(capacity), edges)
        self._areas[0].set_data(np.nan_to_num(capacity), edges)
        base = view.course.base_rtt_ms
        edges, least = view.steps(base.min(axis=0))
        self._areas[1].set_data(least, edges)
        # The area is what all flows share; a dotted line shows the base RTT of a flow with a longer path.
        for flow, line in enumerate(self._base):
            longer = flow < len(base) and bool((base[flow] > base.min(axis=0)).any())
            line.set_data(edges[:-1] if longer else [], view.steps(base[flow])[1] if longer else [])
        out = view.course.outage_s - view.time_s
        out = out[(out[:, 1] > -SPAN_S) & (out[:, 0] < 0)].clip(-SPAN_S, 0)
        for patch in self._outages:
            if len(out):
                patch.set_data(np.arange(2 * len(out) - 1) % 2 == 0, out.ravel())
            patch.set_visible(len(out) > 0)
        for kind, lines in self._marks.items():
            at_s = view.course.event_s[kind] - view.time_s
            at_s = at_s[(at_s > -SPAN_S) & (at_s <= 0)]
            for line in lines:
                line.set_data(np.repeat(at_s, 3), np.tile([0.0, 1.0, np.nan], len(at_s)))


def _readings(view: View) -> tuple[str, str, str]:
    """Return the last values as text, one per strip."""
    now = view.values[-1]
    step = view.course.step(view.time_s)
    capacity, base = view.course.capacity_mbps[step], view.course.base_rtt_ms[:, step]
    running = np.flatnonzero(np.isfinite(now[:, 0]))
    goodput, rtt, window = (
        now[running, FIELDS.index(name)] for name in ("goodput_mbps", "rtt_ms", "cwnd_packets")
    )
    carried = "" if np.isnan(capacity) else f" of {capacity:.1f}"
    rate = _joined(goodput, " + ", ".1f", f"{goodput.sum():.1f}")
    times = rtt / base[running]
    has_sample = np.isfinite(times)
    if not has_sample.any():
        delay = f"no sample, base {base.min():.1f}"
    elif len(running) == 1:
        delay = f"{rtt[0]:.1f} = {times[0]:.2f} × base {base[running[0]]:.1f}"
    elif len(running) <= _NAMED_FLOWS:
        each = [
            f"{rtt_ms:.1f} = {inflation:.2f} ×"
            for rtt_ms, inflation in zip(rtt[has_sample], times[has_sample], strict=True)
        ]
        delay = f"{', '.join(each)} base"
    else:
        delay = f"mean {rtt[has_sample].mean():.1f} = {times[has_sample].mean():.2f} × base"
    return (
        f"goodput {rate}{carried}",
        delay,
        _joined(window, ", ", ".0f", f"mean {window.mean():.0f}"),
    )


def _joined(values: Floats, sign: str, spec: str, otherwise: str) -> str:
    """Return the values of a few flows, or the text for many."""
    if len(values) <= _NAMED_FLOWS:
        return sign.join(format(value, spec) for value in values)
    return otherwise


def _tops(view: View) -> tuple[float, float, float]:
    """Return the strips' upper limits, which depend only on visible values."""
    rates = np.append(view.values[:, :, :2].ravel(), 0.0)
    _, capacity = view.steps(view.course.capacity_mbps)
    _, base = view.steps(view.course.base_rtt_ms.max(axis=0))
    most = np.nanmax(np.append(capacity, 0.0))
    fastest = np.nanmax(rates)
    rate = max(most * 1.02, min(fastest, most * _MOST_OVER_CAPACITY) if most else fastest)
    rtt = np.nanmax(np.append(view.of("rtt_ms").ravel(), base.max() * 1.05))
    window = np.nanmax(np.append(view.of("cwnd_packets").ravel(), 1.0))
    return _rounded_up(rate), _rounded_up(rtt), _rounded_up(window * 1.05)


def _rounded_up(value: float) -> float:
    """Return the next round number; the steps are coarse, so it seldom changes."""
    scale = 10.0 ** np.floor(np.log10(max(value, 1e-6)))
    steps = _STEPS * scale
    return float(steps[np.searchsorted(steps, value * (1 - 1e-9))])


def _ticks(top: float) -> Floats:
    scale = 10.0 ** np.floor(np.log10(top))
    step = next(
        step * scale for step in (0.2, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0) if top / (step * scale) <= _GRID
    )
    return np.arange(0.0, top + 1e-9 * top, step)
