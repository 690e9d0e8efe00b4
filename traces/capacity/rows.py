"""Apply capacity, loss and weather models to a path's rows, and format the rows as CSV."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leogym.traces.capacity.span import Floats, Ints, Model, Span, View, combined

UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class Rows:
    """Rows of a trace. All arrays have shape (rows,)."""

    time_ns: Ints
    delay_ns: Ints
    forward_bps: Ints  # capacity from → to: the column ``uplink_mbps``
    backward_bps: Ints
    loss: Floats
    connected: NDArray[np.bool_]
    path_id: int
    event: list[str]

    def text(self) -> str:
        """Return the CSV lines."""
        columns = (
            self.time_ns,
            self.delay_ns,
            self.forward_bps,
            self.backward_bps,
            self.loss,
        )
        return "".join(
            f"{decimal(time_ns, 9)},{decimal(delay_ns, 6)},{decimal(forward, 6)},{decimal(backward, 6)},"
            f"{loss_text(loss)},{connected:d},{self.path_id},{event}\n"
            for time_ns, delay_ns, forward, backward, loss, connected, event in zip(
                *(column.tolist() for column in columns), self.connected.tolist(), self.event, strict=True
            )
        )


def decimal(value: int, places: int) -> str:
    """Return ``value`` / 10 ** ``places`` exactly, without trailing zeros."""
    whole, fraction = divmod(value, 10**places)
    digits = f"{fraction:0{places}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def loss_text(loss: float) -> str:
    """Format a loss to a millionth, without an exponent."""
    return decimal(round(loss * 1_000_000), 6)


class Overlay:
    """Apply models to a path's rows, one stretch after the other."""

    def __init__(self, models: Sequence[Model], base_mbps: float) -> None:
        """Store the models and the capacity that they scale (``base_mbps`` is 1 if a model gives Mbit/s)."""
        self._models = models
        self._base_mbps = base_mbps
        self._arrival_ns = 0
        self._connected = True

    def rows(
        self, view: View, delay_ns: Ints, connected: NDArray[np.bool_], path_id: int, event: str
    ) -> Rows:
        """Return a stretch's rows: the path's own, plus one wherever a model's value changes.

        ``delay_ns`` (propagation) and ``connected`` have shape (rows,); ``event`` belongs to the first row.
        """
        total = combined([model.window(view) for model in self._models], view.time_ns)
        own = np.searchsorted(view.time_ns, total.time_ns, side="right") - 1
        # The path is first in, first out, so arrival times never fall.
        arrival_ns = np.maximum(total.time_ns + delay_ns[own] + total.extra_ns, self._arrival_ns)
        arrival_ns = np.maximum.accumulate(arrival_ns)
        self._arrival_ns = int(arrival_ns[-1])
        usable = connected[own] & total.up
        events = [event, *[""] * (len(usable) - 1)]
        before = np.concatenate([[self._connected], usable[:-1]])
        self._connected = bool(usable[-1])
        for row in np.flatnonzero(before & ~usable):
            # A model took the link down (rain, for instance).
            events[row] = events[row] or UNREACHABLE
        return Rows(
            total.time_ns,
            arrival_ns - total.time_ns,
            self._bps(total, total.forward),
            self._bps(total, total.backward),
            total.loss,
            usable,
            path_id,
            events,
        )

    def _bps(self, total: Span, mbps: Floats) -> Ints:
        return np.where(total.up, np.rint(mbps * self._base_mbps * 1e6), 0).astype(np.int64)
