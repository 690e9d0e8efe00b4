"""Periodic outages (Valentine and Parisis, "LeoTCP", section IV-D: one of 20 to 200 ms every 5 s)."""

from typing import Any, Literal

import numpy as np

from leogym.common.units import NS_PER_MS
from leogym.traces.capacity.span import Apart, Grid, SlotModel, Span, span


class Outages(SlotModel):
    """An outage at the end of every slot."""

    def __init__(self, grid: Grid, outage_ms: float, way: Literal["both", "up", "down"] = "both") -> None:
        """Store the parameters; ``way`` is the direction that is out, up from → to."""
        super().__init__(grid)
        self._outage_ms = outage_ms
        self._way = way

    def draw(self, slot: int) -> Span:
        """Return a slot: a row that is up and a row that is down."""
        begin_ns = self.grid.period_ns - round(self._outage_ms * NS_PER_MS)
        out = np.array([True, False])
        up = Apart(*(out if self._way in ("both", way) else True for way in ("up", "down")))
        return span(np.array([0, begin_ns], dtype=np.int64), up=up)

    def metadata(self) -> dict[str, Any]:
        """Return the model's parameters."""
        return {
            "model": "outages",
            "every_s": self.grid.period_ns / 1e9,
            "outage_ms": self._outage_ms,
            **({} if self._way == "both" else {"way": self._way}),
        }
