"""One run's series in a time window, for measures over time."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class Course:
    """The selected flows and the links of a run, from ``begin_s`` to ``end_s``."""

    rows: pl.DataFrame
    """The flows' series; a row covers the time since the flow's previous row."""
    links: pl.DataFrame
    begin_s: float
    end_s: float
    joined_s: float
    """Start of the last flow, but at least ``begin_s``."""

    @property
    def flows(self) -> list[int]:
        """Flow numbers."""
        return sorted(int(flow) for flow in self.rows["flow"].unique())

    def total(self, slot_s: float) -> Floats:
        """Return the total goodput in Mbit/s per slot."""
        by_flow = [self.goodput(flow, slot_s, self.begin_s) for flow in self.flows]
        return np.sum(by_flow, axis=0) if by_flow else np.zeros(0)

    def goodput(self, flow: int, slot_s: float, from_s: float | None = None) -> Floats:
        """Return a flow's goodput in Mbit/s per slot; 0 where it does not run."""
        mine = self.rows.filter(pl.col("flow") == flow)
        return self._slots(mine, "goodput_mbps", slot_s, self.begin_s if from_s is None else from_s)

    def capacity(self, slot_s: float) -> Floats:
        """Return the narrowest link's capacity in Mbit/s per slot."""
        return self._slots(self._narrowest, "capacity_mbps", slot_s, self.begin_s)

    def capacity_at(self, time_s: Floats) -> Floats:
        """Return the narrowest link's capacity in Mbit/s in the rows that end at these times."""
        ends, capacity = (self._narrowest[name].to_numpy() for name in ("time_s", "capacity_mbps"))
        return capacity[np.clip(np.searchsorted(ends, time_s - 1e-6), 0, len(ends) - 1)]

    @cached_property
    def _narrowest(self) -> pl.DataFrame:
        return self.links.group_by("time_s").agg(pl.col("capacity_mbps").min()).sort("time_s")

    def _slots(self, rows: pl.DataFrame, column: str, slot_s: float, from_s: float) -> Floats:
        count = int((self.end_s - from_s) / slot_s + 1e-6)
        if count < 1:
            return np.zeros(0)
        # A row's time is its interval's end: a row that ends with a slot belongs to it.
        slot = np.ceil((rows["time_s"].to_numpy() - from_s) / slot_s - 1e-6).astype(int) - 1
        inside = (slot >= 0) & (slot < count)
        sums = np.bincount(slot[inside], weights=rows[column].to_numpy()[inside], minlength=count)
        rows_a_slot = np.bincount(slot[inside], minlength=count)
        return sums / np.maximum(rows_a_slot, 1)
