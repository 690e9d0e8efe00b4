"""A path trace as a card for notebooks."""

import leosim
import numpy as np

from leogym.results.notebook_card import card, paragraph, picture, table
from leogym.traces.path import handover, named_paths, physics
from leogym.traces.plot import figure
from leogym.traces.plot.chains import ChainSpan, chain_spans

MAP_S = 180.0
"""The map has the chains of this time: a dozen re-selections, built in a fraction of a second."""
_DPI = 72


def trace_card(trace: leosim.PathTrace) -> str:
    """Return the card of a trace; raise InputError if its metadata is invalid."""
    data = physics.metadata(trace, "trace")
    spans = _spans(data.name)
    title = f"Path trace {data.title()}"
    note = f"The map shows the routes of the first {MAP_S:g} s." if spans else ""
    png = figure.render(trace, data.title(), spans, "png", _DPI)
    rows = table(["property", "value"], _facts(trace, data))
    return card(
        title, [rows, picture(png, f"{title}: delay, capacity and handovers over time"), paragraph(note)]
    )


def _spans(name: str) -> list[ChainSpan]:
    if not named_paths.is_named(name):
        return []
    return chain_spans(named_paths.spec(name).model_copy(update={"duration_s": MAP_S}))


def _facts(trace: leosim.PathTrace, data: physics.TraceMetadata) -> list[tuple[str, str]]:
    up_ms, down_ms = trace.up_delay_ns / 1e6, trace.down_delay_ns / 1e6
    delays = {"delay, one way": up_ms}
    if not np.array_equal(up_ms, down_ms):
        delays = {"delay, up": up_ms, "delay, down": down_ms}
    kinds = [event.partition("(")[0] for event in trace.event]
    facts = [("period", f"{trace.period_ns / 1e9:g} s")]
    if places := figure.sites(data):
        facts.insert(0, ("sites", " – ".join(site.name for site in places)))
    if data.constellation is not None:
        facts.append(("constellation", f"{data.constellation}, {data.links}"))
    fastest = max(trace.uplink_bps.max(), trace.downlink_bps.max()) / 1e6
    return [
        *facts,
        *(
            (way, f"{delay_ms.min():.1f} to {delay_ms.max():.1f} ms, median {np.median(delay_ms):.1f} ms")
            for way, delay_ms in delays.items()
        ),
        ("capacity", f"up to {fastest:,.1f} Mbit/s"),
        ("connected", f"{figure.connected_share(trace):.3%}"),
        ("handovers", f"{kinds.count(handover.HARD)} hard, {kinds.count(handover.SOFT)} soft"),
    ]
