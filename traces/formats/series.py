"""A path trace's rows as arrays, for conversion to and from other formats."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.configs.output_file import whole_file
from leogym.traces.path.path_trace import COLUMNS, FORMAT, VERSION, decimal

MAX_ROWS = 10_000_000
MAX_PERIOD_S = 1e7
MAX_DELAY_MS = 9_999.0  # path traces have delays below 10 s
MIN_DELAY_NS = 1
MAX_MBPS = 1e6


@dataclass(frozen=True)
class Series:
    """Rows that hold from ``time_ns[i]`` to ``time_ns[i + 1]``, the last one to ``period_ns``.

    All arrays have shape (rows,); ``time_ns`` starts at 0 and strictly increases.
    """

    period_ns: int
    time_ns: NDArray[np.int64]
    delay_ns: NDArray[np.int64]  # one way; above 0 even while disconnected
    uplink_bps: NDArray[np.int64]
    downlink_bps: NDArray[np.int64]
    loss: NDArray[np.float64]
    connected: NDArray[np.bool_]
    path_id: NDArray[np.int64]
    event: list[str]

    @property
    def end_ns(self) -> NDArray[np.int64]:
        """End of each row's span."""
        return np.append(self.time_ns[1:], self.period_ns)

    def capacity_bps(self, direction: str) -> NDArray[np.int64]:
        """Return the capacity of ``uplink`` or ``downlink``; outages count as zero."""
        capacity = self.uplink_bps if direction == "uplink" else self.downlink_bps
        return np.where(self.connected, capacity, 0)

    def rotated(self, offset_ns: int) -> Series:
        """Return the period rotated to start at ``offset_ns``; raise ValueError if no row begins there."""
        if offset_ns == 0:
            return self
        row = int(np.searchsorted(self.time_ns, offset_ns))
        if row == len(self.time_ns) or self.time_ns[row] != offset_ns:
            raise ValueError("no row begins there")

        def turned(values: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([values[row:], values[:row]])

        return Series(
            self.period_ns,
            (turned(self.time_ns) - offset_ns) % self.period_ns,
            turned(self.delay_ns),
            turned(self.uplink_bps),
            turned(self.downlink_bps),
            turned(self.loss),
            turned(self.connected),
            turned(self.path_id),
            self.event[row:] + self.event[:row],
        )

    def tiled(self, times: int) -> Series:
        """Repeat the period."""
        starts_ns = np.arange(times, dtype=np.int64)[:, None] * self.period_ns
        return Series(
            times * self.period_ns,
            (starts_ns + self.time_ns).ravel(),
            np.tile(self.delay_ns, times),
            np.tile(self.uplink_bps, times),
            np.tile(self.downlink_bps, times),
            np.tile(self.loss, times),
            np.tile(self.connected, times),
            np.tile(self.path_id, times),
            self.event * times,
        )


def constant(
    time_ns: NDArray[np.int64], period_ns: int, delay_ns: NDArray[np.int64], capacity_mbps: float
) -> Series:
    """Return connected rows with these delays, and everything else constant."""
    rows = len(time_ns)
    capacity = np.full(rows, round(capacity_mbps * 1e6), dtype=np.int64)
    return Series(
        period_ns,
        time_ns,
        np.maximum(delay_ns, MIN_DELAY_NS),
        capacity,
        capacity.copy(),
        np.zeros(rows),
        np.ones(rows, dtype=bool),
        np.zeros(rows, dtype=np.int64),
        [""] * rows,
    )


def from_trace(trace: leosim.PathTrace) -> Series:
    """Convert a parsed path trace."""
    return Series(
        trace.period_ns,
        trace.time_ns.astype(np.int64),
        trace.delay_ns.astype(np.int64),
        trace.uplink_bps.astype(np.int64),
        trace.downlink_bps.astype(np.int64),
        trace.loss.astype(np.float64),
        trace.connected.astype(bool),
        trace.path_id.astype(np.int64),
        list(trace.event),
    )


def held_delays(delay_ns: NDArray[np.int64], known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Replace unknown delays by the last known one, or else the first; raise ValueError if none is known."""
    if not known.any():
        raise ValueError("no delay is known")
    rows = np.maximum.accumulate(np.where(known, np.arange(len(known)), -1))
    return delay_ns[np.where(rows < 0, int(np.argmax(known)), rows)]


def without_overtaking(series: Series) -> tuple[Series, int]:
    """Raise delays until no packet overtakes another; return the series and the number of raised rows.

    Path traces are first in, first out: delay never falls faster than time runs. Measured delays do, because
    probes wait in queues, which path traces leave to the simulator.
    """
    arrival_ns = np.maximum.accumulate(series.time_ns + series.delay_ns)
    delay_ns = arrival_ns - series.time_ns
    return replace(series, delay_ns=delay_ns), int((delay_ns != series.delay_ns).sum())


def unreachable_events(connected: NDArray[np.bool_]) -> list[str]:
    """Return ``unreachable`` for the first row of every disconnected span, and an empty string otherwise."""
    starts = ~connected & np.concatenate([[True], connected[:-1]])
    return ["unreachable" if start else "" for start in starts]


def write(series: Series, metadata: dict[str, Any], out: Path) -> None:
    """Write a path trace file atomically; raise InputError if that fails."""
    head = {"format": FORMAT, "version": VERSION, **metadata}
    columns = zip(
        series.time_ns.tolist(),
        series.delay_ns.tolist(),
        series.uplink_bps.tolist(),
        series.downlink_bps.tolist(),
        series.loss.tolist(),
        series.connected.tolist(),
        series.path_id.tolist(),
        series.event,
        strict=True,
    )
    with whole_file(out) as file:
        file.write(f"# {json.dumps(head)}\n{COLUMNS}\n")
        values = ""
        for time_ns, delay_ns, uplink_bps, downlink_bps, loss, connected, path_id, event in columns:
            values = (
                f"{decimal(delay_ns, 6)},{decimal(uplink_bps, 6)},{decimal(downlink_bps, 6)},"
                f"{loss:.12g},{connected:d},{path_id}"
            )
            file.write(f"{decimal(time_ns, 9)},{values},{event}\n")
        file.write(f"{decimal(series.period_ns, 9)},{values},\n")
