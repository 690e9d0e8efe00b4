"""Constants in which one direction differs from the other: delay, loss and share of capacity.

One-way probes of a Starlink terminal at 10 ms show that scheduling differs by direction (Garcia, Sundberg and
Brunstrom, LEO-NET 2025). This model adds no more than the constants that are asked for.
"""

from typing import Any

from leogym.common.units import NS_PER_MS
from leogym.traces.capacity.span import Apart, Span, View, span

Pair = tuple[float, float]


class Directions:
    """Constants of each direction; the first of each pair is up, from → to."""

    def __init__(self, extra_delay_ms: Pair, extra_loss: Pair, capacity_share: Pair) -> None:
        self._extra_delay_ms = extra_delay_ms
        self._extra_loss = extra_loss
        self._capacity_share = capacity_share

    def window(self, view: View) -> Span:
        """Return one row."""
        up, down = self._capacity_share
        extra_ns = Apart(*(round(ms * NS_PER_MS) for ms in self._extra_delay_ms))
        return span(
            view.time_ns[:1], forward=up, backward=down, extra_ns=extra_ns, loss=Apart(*self._extra_loss)
        )

    def metadata(self) -> dict[str, Any]:
        """Return the model's parameters."""
        return {
            "model": "constant by direction",
            "extra_delay_ms_up_down": list(self._extra_delay_ms),
            "extra_loss_up_down": list(self._extra_loss),
            "capacity_share_up_down": list(self._capacity_share),
        }
