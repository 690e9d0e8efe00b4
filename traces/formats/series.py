"""A path trace's rows as arrays, for conversion to and from other formats."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common.output_file import whole_file
from leogym.traces.capacity.columns import COLUMNS, FORMAT, VERSION, Cells, OneWay, line

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
    up: OneWay  # from the path's first site to its second
    down: OneWay
    path_id: NDArray[np.int64]
    event: list[str]

    @property
    def end_ns(self) -> NDArray[np.int64]:
        """End of each row's span."""
        return np.append(self.time_ns[1:], self.period_ns)

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Whether both directions are connected."""
        return self.up.connected & self.down.connected

    @property
    def rtt_ns(self) -> NDArray[np.int64]:
        """Propagation both ways."""
        return self.up.delay_ns + self.down.delay_ns

    def way(self, direction: str) -> OneWay:
        """Return the values of ``uplink`` or ``downlink``."""
        return self.up if direction == "uplink" else self.down

    def capacity_bps(self, direction: str) -> NDArray[np.int64]:
        """Return the capacity of ``uplink`` or ``downlink``; outages count as zero."""
        way = self.way(direction)
        return np.where(way.connected, way.bps, 0)

    def with_both(self, **values: NDArray[Any]) -> Series:
        """Return the series with these fields of `OneWay` replaced in both directions."""
        return replace(self, up=replace(self.up, **values), down=replace(self.down, **values))

    def turned(self) -> Series:
        """Return the series seen from the other end: up is down."""
        return replace(self, up=self.down, down=self.up)

    def rotated(self, offset_ns: int) -> Series:
        """Return the period rotated to start at ``offset_ns``; raise ValueError if no row begins there."""
        if offset_ns == 0:
            return self
        row = int(np.searchsorted(self.time_ns, offset_ns))
        if row == len(self.time_ns) or self.time_ns[row] != offset_ns:
            raise ValueError("no row begins there")
        order = np.roll(np.arange(len(self.time_ns)), -row)
        return Series(
            self.period_ns,
            (self.time_ns[order] - offset_ns) % self.period_ns,
            self.up.at(order),
            self.down.at(order),
            self.path_id[order],
            self.event[row:] + self.event[:row],
        )

    def tiled(self, times: int) -> Series:
        """Repeat the period."""
        starts_ns = np.arange(times, dtype=np.int64)[:, None] * self.period_ns
        rows = np.tile(np.arange(len(self.time_ns)), times)
        return Series(
            times * self.period_ns,
            (starts_ns + self.time_ns).ravel(),
            self.up.at(rows),
            self.down.at(rows),
            self.path_id[rows],
            self.event * times,
        )


def constant(
    time_ns: NDArray[np.int64], period_ns: int, delay_ns: NDArray[np.int64], capacity_mbps: float
) -> Series:
    """Return connected rows with these delays both ways, and everything else constant."""
    rows = len(time_ns)
    way = OneWay(
        np.maximum(delay_ns, MIN_DELAY_NS),
        np.full(rows, round(capacity_mbps * 1e6), dtype=np.int64),
        np.zeros(rows),
        np.ones(rows, dtype=bool),
    )
    return Series(period_ns, time_ns, way, way, np.zeros(rows, dtype=np.int64), [""] * rows)


def from_trace(trace: leosim.PathTrace) -> Series:
    """Convert a parsed path trace."""
    return Series(
        trace.period_ns,
        trace.time_ns.astype(np.int64),
        OneWay(
            trace.up_delay_ns.astype(np.int64),
            trace.uplink_bps.astype(np.int64),
            trace.up_loss,
            trace.up_connected,
        ),
        OneWay(
            trace.down_delay_ns.astype(np.int64),
            trace.downlink_bps.astype(np.int64),
            trace.down_loss,
            trace.down_connected,
        ),
        trace.path_id.astype(np.int64),
        list(trace.event),
    )


def held(values: NDArray[Any], valid: NDArray[np.bool_]) -> NDArray[Any]:
    """Replace unknown values by the last known one, or else the first; raise ValueError if none is known."""
    if not valid.any():
        raise ValueError("no value is known")
    rows = np.maximum.accumulate(np.where(valid, np.arange(len(valid)), -1))
    return values[np.where(rows < 0, int(np.argmax(valid)), rows)]


def without_overtaking(series: Series) -> tuple[Series, int]:
    """Raise delays until no packet overtakes another; return the series and the number of raised rows.

    Each direction of a path trace is first in, first out: delay never falls faster than time runs. Measured
    delays do, because probes wait in queues, which path traces leave to the simulator.
    """
    ways, raised = [], np.zeros(len(series.time_ns), dtype=bool)
    for way in (series.up, series.down):
        delay_ns = np.maximum.accumulate(series.time_ns + way.delay_ns) - series.time_ns
        raised |= delay_ns != way.delay_ns
        ways.append(replace(way, delay_ns=delay_ns))
    return replace(series, up=ways[0], down=ways[1]), int(raised.sum())


def unreachable_events(*connected: NDArray[np.bool_]) -> list[str]:
    """Return ``unreachable`` for the rows in which a direction's connection ends, else an empty string."""
    starts = np.zeros(len(connected[0]), dtype=bool)
    for way in connected:
        starts |= ~way & np.concatenate([[True], way[:-1]])
    return ["unreachable" if start else "" for start in starts]


def write(series: Series, metadata: dict[str, Any], out: Path) -> None:
    """Write a path trace file atomically; raise InputError if that fails."""
    head = {"format": FORMAT, "version": VERSION, **metadata}
    ways = (way.cells("{:.12g}".format) for way in (series.up, series.down))
    last: tuple[Cells, Cells, int] | None = None
    with whole_file(out) as file:
        file.write(f"# {json.dumps(head)}\n{COLUMNS}\n")
        for time_ns, up, down, path_id, event in zip(
            series.time_ns.tolist(), *ways, series.path_id.tolist(), series.event, strict=True
        ):
            file.write(line(time_ns, up, down, path_id, event))
            last = up, down, path_id
        if last is not None:
            file.write(line(series.period_ns, *last, ""))
