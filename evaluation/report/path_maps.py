"""Data of the report's map: satellites and gateways of the runs' named paths."""

import json
from functools import cache
from typing import Any

import numpy as np

from leogym.common.errors import InputError
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report.packing import packed
from leogym.traces.orbit import ground
from leogym.traces.path import named_paths
from leogym.traces.plot.chains import ChainSpan, chain_spans, lon_lat_deg

WINDOW_S = 180.0
"""Time from the trace's start: covers a dozen re-selections, built in a fraction of a second."""
MOST_PATHS = 40
_DIGITS = 1
"""Decimal digits of degrees: 11 km, less than a pixel."""


def maps(results: Results) -> str:
    """Return the map's packed JSON: coasts, and each path's sites and chains; empty without named paths."""
    paths = []
    for name in results.description["traces"]:
        if named_paths.is_named(name) and len(paths) < MOST_PATHS and (path_map := of_path(name)):
            paths.append(path_map)
    if not paths:
        return ""
    coasts = [np.round(coast, _DIGITS).tolist() for coast in ground.coastlines()]
    return packed(json.dumps({"coasts": coasts, "paths": paths}, separators=(",", ":")))


@cache
def of_path(name: str) -> dict[str, Any] | None:
    """Return a named path's sites and the chains of its first `WINDOW_S`; None if it cannot be built.

    Each chain has ``start_s``, the ``event`` at its start, and its nodes' ``lon`` and ``lat`` in degrees,
    ``names`` and ``kinds``, from the first site to the second. ``middle`` is the meridian to centre.
    """
    try:
        spec = named_paths.spec(name).model_copy(update={"duration_s": WINDOW_S})
        spans = chain_spans(spec)
    except InputError:
        return None
    sites = [spec.from_site, spec.to_site]
    # The middle of the chord: no site is more than half a turn away.
    middle, _ = lon_lat_deg(ground.stations(sites).position_km.mean(axis=0))
    return {
        "name": name,
        "title": f"{sites[0].name} – {sites[1].name}, {spec.links}, {spec.constellation}",
        "middle": round(float(middle), _DIGITS),
        "window_s": WINDOW_S,
        "chains": [_chain(span) for span in spans],
    }


def _chain(span: ChainSpan) -> dict[str, Any]:
    lon, lat = lon_lat_deg(span.position_km[0])
    return {
        "start_s": round(span.start_s, 1),
        "event": span.event.replace("_", " "),
        "lon": np.round(lon, _DIGITS).tolist(),
        "lat": np.round(lat, _DIGITS).tolist(),
        "names": span.names,
        "kinds": span.kinds,
    }
