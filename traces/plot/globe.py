"""HTML page with a globe that plays a path trace, in a single file that needs no network."""

import html
import json
from pathlib import Path
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.traces.orbit import ground
from leogym.traces.orbit.earth import EARTH_RADIUS_KM
from leogym.traces.path import physics
from leogym.traces.plot.chains import ChainSpan
from leogym.traces.plot.figure import sites

_FOLDER = Path(__file__).parent
_SERIES_POINTS = 4000  # more than a screen's columns would only make the file larger


def page(trace: leosim.PathTrace, source: str, spans: list[ChainSpan]) -> str:
    """Return the page; raise InputError if the trace's metadata is invalid."""
    data = physics.metadata(trace, source)
    places = sites(data)
    has_map = bool(places or spans)
    content = {
        "title": f"{data.title(source)}: path trace",
        "links": data.links,
        "period_s": trace.period_ns / 1e9,
        "sites": [[site.name, site.lon_deg, site.lat_deg] for site in places],
        "gateways": [[site.lon_deg, site.lat_deg] for site in ground.gateways()]
        if has_map and data.links == "bent-pipe"
        else [],
        "chains": _chains(spans),
        "series": _series(trace),
        "events": [
            [at_ns / 1e9, event.partition("(")[0]]
            for at_ns, event in zip(trace.time_ns.tolist(), trace.event, strict=True)
            if event
        ],
    }
    # Without a place there is no globe, and the time line fills the page.
    return filled(content, "globe.js", "" if has_map else "no-map", has_map=has_map)


def filled(
    content: dict[str, Any], script: str, body_class: str, below: str = "", *, has_map: bool = True
) -> str:
    """Return a page with a globe.

    Args:
        content: the data of the page's script, with a title, ``period_s`` and ``sites``.
        script: the file beside this module that draws on the globe, see ``sphere.js``.
        body_class: class of the page's body.
        below: HTML below the globe.
        has_map: whether to add the coasts.
    """
    data = content | {
        "earth_km": EARTH_RADIUS_KM,
        # A tenth of a degree is less than a pixel.
        "coasts": [
            np.rint(coast * 10).astype(int).ravel().tolist() for coast in ground.coastlines() if has_map
        ],
    }
    template = (_FOLDER / "globe.html").read_text(encoding="utf-8")
    # Only a "<" could end the script element early.
    payload = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    scripts = "".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("sphere.js", script))
    for mark, text in (
        ("{{class}}", body_class),
        ("{{title}}", html.escape(content["title"])),
        ("{{below}}", below),
        ("{{data}}", payload),
        ("{{script}}", scripts),
    ):
        template = template.replace(mark, text, 1)
    return template


def _chains(spans: list[ChainSpan]) -> dict[str, Any]:
    """Return the chains as node numbers, and each node's name and kind."""
    numbers: dict[str, int] = {}
    nodes: list[list[str]] = []
    chains = []
    for span in spans:
        for name, kind in zip(span.names, span.kinds, strict=True):
            if name not in numbers:
                numbers[name] = len(nodes)
                nodes.append([name, kind])
        chains.append(
            {
                "start_s": span.start_s,
                "end_s": span.end_s,
                "event": span.event,
                "nodes": [numbers[name] for name in span.names],
                "samples": len(span.sample_s),
                # A pixel is ten kilometres.
                "km": np.rint(span.position_km).astype(int).ravel().tolist(),
            }
        )
    return {"nodes": nodes, "spans": chains}


def _series(trace: leosim.PathTrace) -> dict[str, list[float]]:
    rows = np.arange(len(trace.time_ns))
    stride = max(1, len(rows) // _SERIES_POINTS)
    connected = trace.up_connected & trace.down_connected
    changes = np.flatnonzero(np.diff(connected.astype(int), prepend=0) != 0)
    # Keep every stride-th row, and all changes of the connection.
    points = np.union1d(rows[::stride], changes)

    def column(values: NDArray[Any], digits: int) -> list[float]:
        return [round(value, digits) for value in values[points].tolist()]

    return {
        "time_s": column(trace.time_ns / 1e9, 4),
        "up_delay_ms": column(trace.up_delay_ns / 1e6, 3),
        "down_delay_ms": column(trace.down_delay_ns / 1e6, 3),
        "uplink_mbps": column(trace.uplink_bps / 1e6, 1),
        "downlink_mbps": column(trace.downlink_bps / 1e6, 1),
        "connected": column(connected.astype(int), 0),
    }
