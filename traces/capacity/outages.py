"""Periodic outages (Valentine and Parisis, "LeoTCP", section IV-D: one of 20 to 200 ms every 5 s)."""

from typing import Any

import numpy as np

from leogym.configs.units import NS_PER_MS
from leogym.traces.capacity.span import Grid, SlotModel, Span, span


class Outages(SlotModel):
    """An outage at the end of every slot."""

    def __init__(self, grid: Grid, outage_ms: float) -> None:
        super().__init__(grid)
        self._outage_ms = outage_ms

    def draw(self, slot: int) -> Span:
        """Return a slot: a row that is up and a row that is down."""
        begin_ns = self.grid.period_ns - round(self._outage_ms * NS_PER_MS)
        return span(np.array([0, begin_ns], dtype=np.int64), up=np.array([True, False]))

    def metadata(self) -> dict[str, Any]:
        """Return the model's parameters."""
        return {"model": "outages", "every_s": self.grid.period_ns / 1e9, "outage_ms": self._outage_ms}
