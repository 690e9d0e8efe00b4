"""The place of a path on Earth: its sites, and the satellites that it uses at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.configs.scenario import Scenario
from leogym.traces.orbit.ground import Site
from leogym.traces.path import named_paths, physics
from leogym.traces.plot.chains import ChainSpan, chain_spans
from leogym.traces.plot.figure import sites

WINDOW_S = 60.0
"""Chains are built for this time at once, in a fraction of a second."""


@dataclass(frozen=True)
class Place:
    """A link whose trace says where on Earth it is."""

    link: str
    trace: str
    """The trace's name or file."""
    links: str
    """``isl``, ``bent-pipe`` or empty, as in the trace's metadata."""
    sites: tuple[Site, Site]
    offset_s: float
    period_s: float
    row_s: NDArray[np.float64]
    """Times of the trace's rows, (rows,)."""
    path_id: NDArray[np.uint64]
    """Number of the route of each row, (rows,)."""

    def trace_s(self, time_s: float) -> float:
        """Return the trace's time at a time of the episode."""
        return (time_s + self.offset_s) % self.period_s

    def route_number(self, time_s: float) -> int:
        """Return the trace's ``path_id`` at a time of the episode."""
        return int(self.path_id[np.searchsorted(self.row_s, self.trace_s(time_s), side="right") - 1])

    def chain(self, time_s: float) -> ChainSpan | None:
        """Return the chain of nodes at a time; None without a route, and for traces that are not named."""
        at_s = self.trace_s(time_s)
        if not named_paths.is_named(self.trace):
            return None
        window = int(at_s // WINDOW_S)
        within_s = at_s - window * WINDOW_S
        return next(
            (span for span in _chains(self.trace, window) if span.start_s <= within_s < span.end_s), None
        )

    def position_km(self, chain: ChainSpan, time_s: float) -> NDArray[np.float64]:
        """Return the Earth-fixed positions of a chain's nodes at a time, (nodes, 3)."""
        within_s = self.trace_s(time_s) % WINDOW_S
        after = int(np.clip(np.searchsorted(chain.sample_s, within_s), 1, len(chain.sample_s) - 1))
        before_s, after_s = chain.sample_s[after - 1 : after + 1]
        share = (within_s - before_s) / (after_s - before_s)
        return (1 - share) * chain.position_km[after - 1] + share * chain.position_km[after]


def places(scenario: Scenario, traces: Mapping[str, leosim.PathTrace]) -> dict[str, Place]:
    """Return the scenario's links that have a place, by name."""
    place_of = {}
    for name, link in scenario.links.items():
        if link.trace is None:
            continue
        trace = traces[link.trace]
        data = physics.metadata(trace, link.trace)
        if len(ends := sites(data)) == 2:
            place_of[name] = Place(
                link=name,
                trace=link.trace,
                links=data.links,
                sites=(ends[0], ends[1]),
                offset_s=link.offset_s,
                period_s=trace.period_ns / 1e9,
                row_s=trace.time_ns / 1e9,
                path_id=trace.path_id,
            )
    return place_of


@lru_cache(maxsize=64)
def _chains(name: str, window: int) -> list[ChainSpan]:
    full_spec = named_paths.spec(name)
    start_s = window * WINDOW_S
    # A trace that starts later is the tail of one that starts earlier.
    part = {
        "start_s": full_spec.start_s + start_s,
        "duration_s": min(WINDOW_S, full_spec.duration_s - start_s),
    }
    return chain_spans(full_spec.model_copy(update=part))
