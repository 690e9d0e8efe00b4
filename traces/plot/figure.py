"""Figure of a path trace: delay, capacity and handovers over time, and a map."""

import io

import leosim
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from leogym.traces.orbit import ground
from leogym.traces.path import physics
from leogym.traces.plot import map as path_map
from leogym.traces.plot import timeline
from leogym.traces.plot.chains import ChainSpan


def figure(trace: leosim.PathTrace, source: str, spans: list[ChainSpan]) -> Figure:
    """Return the figure of a trace with its chains ``spans``; raise InputError if its metadata is invalid."""
    data = physics.metadata(trace, source)
    floor = physics.floor_ns(data)
    places = sites(data)
    # Imported and synthetic traces have no place on a map.
    has_map = bool(places or spans)
    chart = Figure(figsize=(10, 10.5 if has_map else 6.5), layout="constrained")
    rows = [3, 1, 1, 3.6] if has_map else [3, 1, 1]
    delay, capacity, events, *where = chart.subplots(len(rows), 1, height_ratios=rows)
    for axes in (capacity, events):
        axes.sharex(delay)
    timeline.delay(delay, trace, None if floor is None else floor[0] / 1e6)
    timeline.capacity(capacity, trace)
    timeline.events(events, trace)
    for axes in (delay, capacity):
        timeline.shade_down(axes, trace)
        axes.tick_params(labelbottom=False)
    delay.set_xlim(0, trace.period_ns / 1e9)
    if has_map:
        path_map.draw(where[0], places, spans, data.links == "bent-pipe")
    else:
        events.set_xlabel("time (s)")
    share = f"connected {connected_share(trace):.2%} of {trace.period_ns / 1e9:g} s"
    chart.suptitle(f"{data.title(source)}   {share}", fontsize=11)
    return chart


def sites(data: physics.TraceMetadata) -> list[ground.Site]:
    """Return the two sites in a trace's metadata, or an empty list."""
    if data.origin is None or data.to is None:
        return []
    return [ground.Site(**dict(place)) for place in (data.origin, data.to)]


def connected_share(trace: leosim.PathTrace) -> float:
    """Return the fraction of the period in which both directions are connected."""
    length_ns = np.diff(np.append(trace.time_ns, np.uint64(trace.period_ns)).astype(np.int64))
    return float((length_ns * (trace.up_connected & trace.down_connected)).sum() / trace.period_ns)


def render(
    trace: leosim.PathTrace, source: str, spans: list[ChainSpan], kind: str, dpi: float = 120
) -> bytes:
    """Return the bytes of the figure in one of `FORMATS`. The same trace always gives the same bytes."""
    chart = figure(trace, source, spans)
    file = io.BytesIO()
    # Leave out dates and fix SVG ids, so the output is reproducible.
    with mpl.rc_context({"svg.hashsalt": "leogym"}):
        stamp = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
        chart.savefig(file, format=kind, dpi=dpi, metadata=stamp)
    return file.getvalue()
