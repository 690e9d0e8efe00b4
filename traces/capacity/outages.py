"""Outages at equal intervals: the end of every period is silent.

Valentine and Parisis, "LeoTCP", section IV-D: hard handovers every 5 s, each a complete disconnection of
20 to 200 ms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from traces.capacity.span import NS_PER_MS, Grid, SlotModel, Span, span


class Outages(SlotModel):
    """Nothing passes for the last part of every slot."""

    def __init__(self, grid: Grid, outage_ms: float) -> None:
        super().__init__(grid)
        self._outage_ms = outage_ms

    def draw(self, slot: int) -> Span:
        """Return a slot's two rows."""
        begin_ns = self.grid.period_ns - round(self._outage_ms * NS_PER_MS)
        return span(np.array([0, begin_ns], dtype=np.int64), up=np.array([True, False]))

    def metadata(self) -> dict[str, Any]:
        """Return the model's parameters."""
        return {"model": "outages", "every_s": self.grid.period_ns / 1e9, "outage_ms": self._outage_ms}
