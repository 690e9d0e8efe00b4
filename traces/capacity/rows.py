"""Apply capacity, loss and weather models to a path's rows, and format the rows as CSV."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leogym.traces.capacity.columns import OneWay, line, loss_text
from leogym.traces.capacity.span import Ints, Model, View, Way, combined

UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class Rows:
    """Rows of a trace, ``forward`` from → to. All arrays have shape (rows,)."""

    time_ns: Ints
    forward: OneWay
    backward: OneWay
    path_id: int
    event: list[str]

    def text(self) -> str:
        """Return the CSV lines."""
        ways = self.forward.cells(loss_text), self.backward.cells(loss_text)
        return "".join(
            line(time_ns, forward, backward, self.path_id, event)
            for time_ns, forward, backward, event in zip(
                self.time_ns.tolist(), *ways, self.event, strict=True
            )
        )


class Overlay:
    """Apply models to a path's rows, one stretch after the other."""

    def __init__(self, models: Sequence[Model], base_mbps: float) -> None:
        """Store the models and the capacity that they scale (``base_mbps`` is 1 if a model gives Mbit/s)."""
        self._models = models
        self._base_mbps = base_mbps
        self._forward, self._backward = _Before(), _Before()

    def rows(
        self, view: View, delay_ns: Ints, connected: NDArray[np.bool_], path_id: int, event: str
    ) -> Rows:
        """Return a stretch's rows: the path's own, plus one wherever a model's value changes.

        ``delay_ns`` (propagation) and ``connected`` have shape (rows,); ``event`` belongs to the first row.
        """
        total = combined([model.window(view) for model in self._models], view.time_ns)
        own = np.searchsorted(view.time_ns, total.time_ns, side="right") - 1
        events = [event, *[""] * (len(own) - 1)]
        ways = []
        for way, before in ((total.forward, self._forward), (total.backward, self._backward)):
            ways.append(self._way(total.time_ns, way, before, delay_ns[own], connected[own]))
            for row in before.lost(ways[-1].connected):
                # A model took the link down (rain, for instance).
                events[row] = events[row] or UNREACHABLE
        return Rows(total.time_ns, ways[0], ways[1], path_id, events)

    def _way(
        self, time_ns: Ints, way: Way, before: "_Before", delay_ns: Ints, connected: NDArray[np.bool_]
    ) -> OneWay:
        bps = np.where(way.up, np.rint(way.capacity * self._base_mbps * 1e6), 0).astype(np.int64)
        arrival_ns = before.in_order(time_ns + delay_ns + way.extra_ns)
        return OneWay(arrival_ns - time_ns, bps, way.loss, connected & way.up)


class _Before:
    """The state of one direction after the rows so far."""

    def __init__(self) -> None:
        self._arrival_ns = 0
        self._connected = True

    def in_order(self, arrival_ns: Ints) -> Ints:
        """Raise arrivals to those before them: each direction is first in, first out."""
        ordered = np.maximum.accumulate(np.maximum(arrival_ns, self._arrival_ns))
        self._arrival_ns = int(ordered[-1])
        return ordered

    def lost(self, connected: NDArray[np.bool_]) -> Ints:
        """Return the rows in which the connection ends."""
        before = np.concatenate([[self._connected], connected[:-1]])
        self._connected = bool(connected[-1])
        return np.flatnonzero(before & ~connected)
