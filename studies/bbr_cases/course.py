"""The course of a run: its series, BBR's model in them, and the times of its states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leogym.results.measurement import Measurement

PACKET_BYTES, SEGMENT_BYTES = 1500, 1448
STATES = ("", "STARTUP", "DRAIN", "PROBE_DOWN", "CRUISE", "REFILL", "PROBE_UP", "PROBE_RTT")
"""Names of the run log's numbers of states."""

Column = NDArray[np.float64]


@dataclass(frozen=True)
class Spell:
    """A stay in a state, as rows ``begin`` to ``end``, of which the last is already in the next state."""

    state: str
    begin: int
    end: int


@dataclass(frozen=True)
class Course:
    """A run of one flow."""

    rows: dict[str, Column]
    """Columns of the flow's series and, for a BBR, of its model."""
    steps: list[tuple[float, float]]
    """Times and rates in Mbit/s of the link."""
    event_s: float
    summary: dict[str, float]

    @classmethod
    def of(cls, measurement: Measurement, steps: list[tuple[float, float]], event_s: float) -> Course:
        """Return the course of a measurement with one flow."""
        rows = {name: column.astype(float) for name, column in measurement.flow_series.items()}
        model = measurement.bbr_series
        if model and len(model["time_s"]) == len(rows["time_s"]):
            rows |= {name: column.astype(float) for name, column in model.items()}
            if np.isnan(rows["round"]).any():
                rows["round"] = _rounds(rows)
        return cls(rows, steps, event_s, dict(measurement.flows[0]))

    def __getitem__(self, name: str) -> Column:
        """Return a column; NaN for a scheme without it."""
        missing = np.full(len(self.rows["time_s"]), np.nan)
        return self.rows.get(name, missing)

    def since(self, event_s: float) -> Course:
        """Return the course with another time of the event."""
        return replace(self, event_s=event_s)

    def frozen(self) -> Course:
        """Return the course of a BBR on which the event has no effect: each column stays as it was then."""
        last = self.row(self.event_s)
        rows = {
            name: np.concatenate((column[: last + 1], np.full(len(column) - last - 1, column[last])))
            for name, column in self.rows.items()
        }
        return replace(self, rows={**rows, "time_s": self.rows["time_s"]})

    def row(self, time_s: float) -> int:
        """Return the last row that closes at ``time_s`` or before; the first row before the first."""
        return max(0, int(np.searchsorted(self["time_s"], time_s + 1e-9, side="right")) - 1)

    def capacity_mbps(self, time_s: float | None = None) -> float:
        """Return the link's capacity for payload at a time, or after its last step."""
        rates = [rate for at_s, rate in self.steps if time_s is None or at_s <= time_s]
        return rates[-1] * SEGMENT_BYTES / PACKET_BYTES

    def spells(self, from_s: float = 0.0) -> Iterator[Spell]:
        """Yield the stays in states that begin at or after ``from_s``, except the one at the run's end."""
        state = self["state"]
        if np.isnan(state).any():
            return
        edges = np.flatnonzero(np.diff(state)) + 1
        begins = [0, *edges.tolist()]
        for begin, end in zip(begins, edges.tolist(), strict=False):
            if self["time_s"][begin] >= from_s - 1e-9:
                yield Spell(STATES[int(state[begin])], begin, end)

    def first(self, state: str, from_s: float = 0.0) -> Spell | None:
        """Return the first stay in a state that begins at or after ``from_s``."""
        return next((spell for spell in self.spells(from_s) if spell.state == state), None)

    def at_event(self, state: str) -> Spell | None:
        """Return the first stay in a state that ends after the event."""
        row = self.row(self.event_s)
        return next((spell for spell in self.spells() if spell.state == state and spell.end > row), None)

    def inside(self, state: str) -> NDArray[np.bool_]:
        """Return for each row whether the flow is in a state."""
        return self["state"] == STATES.index(state)

    def state_at(self, row: int) -> str:
        """Return the state at the end of a row; empty without a model."""
        state = self["state"][row]
        return "" if np.isnan(state) else STATES[int(state)]

    def entry_s(self, states: Sequence[str], from_s: float, already: bool = False) -> float | None:
        """Return when the flow enters the first of ``states`` that it has.

        If it is ``already`` in one of them at ``from_s``, that is the time.
        """
        if already and self.state_at(self.row(from_s)) in states:
            return from_s
        for state in states:
            spell = self.first(state, from_s)
            if spell is not None:
                return float(self["time_s"][spell.begin])
        return None

    def sent_bytes(self, until_s: float) -> float:
        """Return the bytes of IP packets sent until a time, from equally long rows."""
        sent = self["send_mbps"][: self.row(until_s) + 1]
        return float(sent.sum() * (self["time_s"][1] - self["time_s"][0]) * 1e6 / 8)

    def bdp(self, row: int) -> float:
        """Return the model's bandwidth-delay product in packets; NaN before an estimate."""
        bits = self["bw_mbps"][row] * self["min_rtt_ms"][row] * 1e3
        return float(bits / 8 / SEGMENT_BYTES) or float("nan")

    def mean(self, name: str, from_s: float, to_s: float) -> float:
        """Return the mean of a column over a time; NaN without rows."""
        inside = (self["time_s"] > from_s) & (self["time_s"] <= to_s)
        return float(self[name][inside].mean()) if inside.any() else float("nan")


def _rounds(rows: dict[str, Column]) -> Column:
    """Return a count of round trips for a log without one, from the RTTs."""
    rtt_ms = rows["rtt_ms"]
    known = np.flatnonzero(~np.isnan(rtt_ms))
    latest = known[np.clip(np.searchsorted(known, np.arange(len(rtt_ms)), side="right") - 1, 0, None)]
    return np.cumsum(np.diff(rows["time_s"], prepend=0.0) * 1e3 / rtt_ms[latest])
