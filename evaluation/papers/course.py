"""One run's series in a window of time, as measures over time read them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class Course:
    """The flows in question and the links, from ``begin_s`` to ``end_s`` of a run."""

    rows: pl.DataFrame
    """Of the flows' series; each row tells of the time since the row before it of the same flow."""
    links: pl.DataFrame
    """Of the links' series."""
    begin_s: float
    end_s: float
    joined_s: float
    """When the last of the flows started, or ``begin_s`` where that is later."""

    @property
    def flows(self) -> list[int]:
        """The flows' numbers."""
        return sorted(int(flow) for flow in self.rows["flow"].unique())

    def total(self, slot_s: float) -> Floats:
        """Return the goodput of all flows in Mbit/s, slot by slot."""
        by_flow = [self.goodput(flow, slot_s, self.begin_s) for flow in self.flows]
        return np.sum(by_flow, axis=0) if by_flow else np.zeros(0)

    def goodput(self, flow: int, slot_s: float, from_s: float | None = None) -> Floats:
        """Return a flow's goodput in Mbit/s, slot by slot; 0 where it does not run."""
        mine = self.rows.filter(pl.col("flow") == flow)
        return self._slots(mine, "goodput_mbps", slot_s, self.begin_s if from_s is None else from_s)

    def capacity(self, slot_s: float) -> Floats:
        """Return the capacity of the narrowest link in Mbit/s, slot by slot."""
        return self._slots(self._narrowest, "capacity_mbps", slot_s, self.begin_s)

    def capacity_at(self, time_s: Floats) -> Floats:
        """Return the capacity of the narrowest link in Mbit/s in the rows that end at these times."""
        ends, capacity = (self._narrowest[name].to_numpy() for name in ("time_s", "capacity_mbps"))
        return capacity[np.clip(np.searchsorted(ends, time_s - 1e-6), 0, len(ends) - 1)]

    @cached_property
    def _narrowest(self) -> pl.DataFrame:
        return self.links.group_by("time_s").agg(pl.col("capacity_mbps").min()).sort("time_s")

    def _slots(self, rows: pl.DataFrame, column: str, slot_s: float, from_s: float) -> Floats:
        count = int((self.end_s - from_s) / slot_s + 1e-6)
        if count < 1:
            return np.zeros(0)
        # A row ends its interval: one that ends with a slot belongs to that slot.
        slot = np.ceil((rows["time_s"].to_numpy() - from_s) / slot_s - 1e-6).astype(int) - 1
        inside = (slot >= 0) & (slot < count)
        sums = np.bincount(slot[inside], weights=rows[column].to_numpy()[inside], minlength=count)
        rows_a_slot = np.bincount(slot[inside], minlength=count)
        return sums / np.maximum(rows_a_slot, 1)
