"""Piecewise constant values over a stretch of a trace: the result type of every model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

End = Literal["from", "to"]


@dataclass(frozen=True)
class View:
    """A stretch of a path, as passed to models. Stretches come in order, without gaps."""

    time_ns: Ints
    """The path's own rows, since the trace's start."""
    end_ns: int
    """End of the stretch; for the trace's last row, the time of that row."""
    elevation_deg: Callable[[End], Floats | None]
    """Elevation of the satellite at an end, shape (rows,); None while the end has no satellite."""


@dataclass(frozen=True)
class Way:
    """One direction's values. All arrays have shape (rows,)."""

    capacity: Floats  # in Mbit/s or, for models that only reduce it, as a share
    extra_ns: Ints  # one-way delay on top of propagation
    loss: Floats
    up: Bools

    def at(self, rows: NDArray[Any]) -> Way:
        """Return the rows with these indices."""
        return Way(self.capacity[rows], self.extra_ns[rows], self.loss[rows], self.up[rows])


@dataclass(frozen=True)
class Span:
    """Piecewise constant values of both directions; a row holds until the next."""

    time_ns: Ints  # strictly increasing, from the stretch's start
    forward: Way  # from → to
    backward: Way

    def at(self, time_ns: Ints) -> Span:
        """Return the values at other times, none before the first row."""
        rows = np.searchsorted(self.time_ns, time_ns, side="right") - 1
        return Span(time_ns, self.forward.at(rows), self.backward.at(rows))

    def cut(self, start_ns: int, end_ns: int) -> Span:
        """Return the part in [``start_ns``, ``end_ns``), with a row at its start."""
        inside = self.time_ns[(self.time_ns > start_ns) & (self.time_ns < end_ns)]
        return self.at(np.concatenate([[start_ns], inside]).astype(np.int64))


class Apart(NamedTuple):
    """A quantity that differs by direction, for `span`."""

    forward: Any
    backward: Any


def span(
    time_ns: Ints,
    *,
    forward: Floats | float = 1.0,
    backward: Floats | float = 1.0,
    extra_ns: Ints | int | Apart = 0,
    loss: Floats | float | Apart = 0.0,
    up: Bools | bool | Apart = True,
) -> Span:
    """Return a span. The defaults change nothing.

    Args:
        time_ns: (rows,) start of each row.
        forward: capacity from → to.
        backward: capacity to → from.
        extra_ns: of both directions, or `Apart`, as the following.
        loss: probability per packet.
        up: whether packets get through.
    """

    def row(value: Any, kind: type[np.generic]) -> NDArray[Any]:
        return np.broadcast_to(np.asarray(value, dtype=kind), len(time_ns))

    def way(capacity: Floats | float, direction: int) -> Way:
        own = [value[direction] if isinstance(value, Apart) else value for value in (extra_ns, loss, up)]
        return Way(
            row(capacity, np.float64), row(own[0], np.int64), row(own[1], np.float64), row(own[2], np.bool_)
        )

    return Span(time_ns, way(forward, 0), way(backward, 1))


def combined(spans: Sequence[Span], time_ns: Ints) -> Span:
    """Combine several models, with a row at each of their times and at ``time_ns``."""
    times = np.unique(np.concatenate([time_ns, *(part.time_ns for part in spans)]))
    total = span(times)
    for part in (part.at(times) for part in spans):
        total = Span(times, _both(total.forward, part.forward), _both(total.backward, part.backward))
    return total


def _both(first: Way, second: Way) -> Way:
    return Way(
        first.capacity * second.capacity,
        first.extra_ns + second.extra_ns,
        1 - (1 - first.loss) * (1 - second.loss),
        first.up & second.up,
    )


class Model(Protocol):
    """A model of capacity, loss or weather. Its values depend on the seed, not on how a trace is cut."""

    def window(self, view: View) -> Span:
        """Return the values from the view's first row to its end."""
        ...

    def metadata(self) -> dict[str, Any]:
        """Return the model's parameters and source, for the trace's metadata."""
        ...


@dataclass(frozen=True)
class Grid:
    """A model's slots. They start with the path's re-selections, so both happen at the same instant."""

    period_ns: int
    origin_ns: int = 0  # time from the start of any slot to the trace's first row

    def slots(self, start_ns: int, end_ns: int) -> range:
        """Return the slots that overlap a stretch; times count from the trace's first row."""
        first = (start_ns + self.origin_ns) // self.period_ns
        last = (max(end_ns, start_ns + 1) - 1 + self.origin_ns) // self.period_ns
        return range(first, last + 1)

    def begin_ns(self, slot: int) -> int:
        """Return a slot's start, counted from the trace's first row."""
        return slot * self.period_ns - self.origin_ns


class SlotModel:
    """A model that draws each slot independently, from a generator of its own."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._last: tuple[int, Span] | None = None

    def draw(self, slot: int) -> Span:
        """Return a slot's values; times count from the slot's start."""
        raise NotImplementedError

    def window(self, view: View) -> Span:
        """Return the values from the view's first row to its end."""
        start_ns = int(view.time_ns[0])
        parts: list[Span] = []
        for slot in self.grid.slots(start_ns, view.end_ns):
            if self._last is None or self._last[0] != slot:
                self._last = (slot, self.draw(slot))
            own, begin_ns = self._last[1], self.grid.begin_ns(slot)
            moved = Span(own.time_ns + begin_ns, own.forward, own.backward)
            next_ns = self.grid.begin_ns(slot + 1)
            # The trace's last row is a stretch of zero length; it still gets a row.
            parts.append(moved.cut(max(start_ns, begin_ns), min(next_ns, view.end_ns)))
        times = np.concatenate([part.time_ns for part in parts])
        return Span(
            times, _joined([part.forward for part in parts]), _joined([part.backward for part in parts])
        )


def _joined(ways: Sequence[Way]) -> Way:
    names = ("capacity", "extra_ns", "loss", "up")
    return Way(*(np.concatenate([getattr(way, name) for way in ways]) for name in names))
