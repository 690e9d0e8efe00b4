"""A picture of a path trace: delay, capacity and handovers over time, and where its sites are."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import leosim
import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from configs.errors import InputError
from traces import ground, physics

FORMATS = ("png", "svg", "pdf")

_DELAY, _DOWN, _HARD, _SOFT = "#0b5cad", "#c8c8c8", "#b3261e", "#8a6d00"


def _series(
    trace: leosim.PathTrace, values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a row's values and the period's end, ready to be drawn as steps."""
    time_s, end_s = trace.time_ns / 1e9, trace.period_ns / 1e9
    if time_s[-1] < end_s:
        return np.append(time_s, end_s), np.append(values, values[-1])
    return time_s, values


def _delay(axes: Axes, trace: leosim.PathTrace, floor_ms: float | None) -> None:
    time_s, delay_ms = _series(trace, trace.delay_ns / 1e6)
    axes.step(time_s, delay_ms, where="post", color=_DELAY, linewidth=0.9, label="propagation, one way")
    if floor_ms is not None:
        axes.axhline(
            floor_ms, color="#444444", linewidth=0.8, linestyle=":", label="least that geometry allows"
        )
    axes.set_ylabel("delay (ms)")
    _legend(axes)


def _legend(axes: Axes) -> None:
    # Above the panel, where it hides nothing.
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.98), fontsize=8, frameon=False, ncols=2)


def _capacity(axes: Axes, trace: leosim.PathTrace) -> None:
    # While connected; outages of a few ms would be a wall of ink here and are marked below.
    up, down = trace.uplink_bps / 1e6, trace.downlink_bps / 1e6
    same = bool((up == down).all())
    axes.step(
        *_series(trace, up), where="post", color=_DELAY, linewidth=0.9, label="both ways" if same else "up"
    )
    if not same:
        axes.step(*_series(trace, down), where="post", color=_HARD, linewidth=0.9, label="down")
    axes.set_ylabel("capacity\n(Mbit/s)")
    axes.set_ylim(0, 1.15 * max(up.max(), down.max(), 1))
    _legend(axes)


def _events(axes: Axes, trace: leosim.PathTrace) -> None:
    time_s, event = trace.time_ns / 1e9, np.array(trace.event, dtype=object)
    kinds = (
        ("hard_handover", "hard handover", _HARD),
        ("soft_handover", "soft handover", _SOFT),
        ("unreachable", "unreachable", "#444444"),
    )
    labels = []
    for height, (kind, label, colour) in enumerate(kinds):
        at = time_s[event == kind]
        axes.eventplot(at, lineoffsets=height, linelengths=0.8, colors=colour, linewidths=0.8)
        labels.append(f"{label} ({len(at)})")
    axes.set_yticks(range(len(kinds)), labels)
    axes.set_ylim(-0.6, len(kinds) - 0.4)
    axes.set_xlabel("time (s)")


def _shade_down(axes: Axes, trace: leosim.PathTrace) -> None:
    """Shade spans without connection that are long enough to be seen."""
    time_s, connected = _series(trace, trace.connected.astype(float))
    edges = np.flatnonzero(np.diff(connected) != 0) + 1
    bounds = np.concatenate([[0], edges, [len(time_s) - 1]])
    for first, last in pairwise(bounds.tolist()):
        if not connected[first] and time_s[last] - time_s[first] > 0.1:
            axes.axvspan(float(time_s[first]), float(time_s[last]), color=_DOWN, linewidth=0)


def _great_circle(start: ground.Site, end: ground.Site) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, last = ground.stations([start, end]).position_km
    part = np.linspace(0, 1, 200)[:, None]
    point = first * (1 - part) + last * part
    lon = np.degrees(np.arctan2(point[:, 1], point[:, 0]))
    lat = np.degrees(np.arctan2(point[:, 2], np.hypot(point[:, 0], point[:, 1])))
    # No line across the map where the way crosses the date line.
    jump = np.flatnonzero(np.abs(np.diff(lon)) > 180) + 1
    return np.insert(lon, jump, np.nan), np.insert(lat, jump, np.nan)


def _map(axes: Axes, data: physics.TraceMetadata) -> None:
    gateways = ground.gateways() if data.links == "bent-pipe" else []
    axes.scatter(
        [site.lon_deg for site in gateways],
        [site.lat_deg for site in gateways],
        s=7,
        color="#7a7a7a",
        label="gateway",
    )
    if data.origin is not None and data.to is not None:
        ends = [
            ground.Site(name=place.name, lat_deg=place.lat_deg, lon_deg=place.lon_deg)
            for place in (data.origin, data.to)
        ]
        axes.plot(*_great_circle(*ends), color=_DELAY, linewidth=1)
        for site in ends:
            axes.plot(site.lon_deg, site.lat_deg, "o", color=_HARD, markersize=5)
            axes.annotate(
                site.name,
                (site.lon_deg, site.lat_deg),
                xytext=(0, -14),
                textcoords="offset points",
                ha="center",
                fontsize=9,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1},
            )
        lon, lat = _great_circle(*ends)
        axes.set_xlim(max(-180, np.nanmin(lon) - 15), min(180, np.nanmax(lon) + 15))
        axes.set_ylim(max(-90, np.nanmin(lat) - 12), min(90, np.nanmax(lat) + 12))
    if gateways:
        _legend(axes)
    axes.set_aspect("equal")
    axes.grid(linewidth=0.3)
    axes.set_xlabel("longitude (°)")
    axes.set_ylabel("latitude (°)")


def figure(trace: leosim.PathTrace, source: str) -> Figure:
    """Return the figure of a trace.

    Raises:
        InputError: its metadata is out of range.
    """
    data = physics.metadata(trace, source)
    floor = physics.floor_ns(data)
    chart = Figure(figsize=(10, 9.5), layout="constrained")
    delay, capacity, events, where = chart.subplots(4, 1, height_ratios=[3, 1, 1, 2.6])
    for axes in (capacity, events):
        axes.sharex(delay)
    _delay(delay, trace, None if floor is None else floor[0] / 1e6)
    _capacity(capacity, trace)
    _events(events, trace)
    for axes in (delay, capacity):
        _shade_down(axes, trace)
        axes.tick_params(labelbottom=False)
    delay.set_xlim(0, trace.period_ns / 1e9)
    _map(where, data)
    share = _connected_share(trace)
    chart.suptitle(
        f"{data.name or source}   connected {share:.2%} of {trace.period_ns / 1e9:g} s", fontsize=11
    )
    return chart


def _connected_share(trace: leosim.PathTrace) -> float:
    length_ns = np.diff(np.append(trace.time_ns, np.uint64(trace.period_ns)).astype(np.int64))
    return float((length_ns * trace.connected).sum() / trace.period_ns)


def save(trace: leosim.PathTrace, source: str, out: Path) -> None:
    """Draw a trace into ``out``, whole or not at all; its ending decides the format.

    Raises:
        InputError: another ending than `FORMATS`, or the file cannot be written.
    """
    kind = out.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise InputError(f"--out: {out}: must end in {', '.join('.' + known for known in FORMATS)}")
    chart = figure(trace, source)
    temporary = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        # No date in the file and fixed ids in SVG: the same trace gives the same bytes.
        with mpl.rc_context({"svg.hashsalt": "leogym"}):
            stamp = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
            chart.savefig(temporary, format=kind, dpi=120, metadata=stamp)
        os.replace(temporary, out)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)
