"""WetLinks' CSV files (sys-uos/WetLinks, commit c238191): a terminal's capacity by seconds, and its pings.

- ``net_iperf.csv`` (and ``iperf_cleaned_seconds_….csv``): a row per second of a run of about 15 s, with
  ``timestamp_start``, ``timestamp_end``, ``download`` and ``upload`` in bit/s. Runs come every few minutes;
  here the runs follow one another without the pauses.
- ``net_ping.csv``: a row per series of pings, with ``timestamp_start``, ``packet_loss`` (%) and ``ping_best``
  (ms). A second of iperf takes delay and loss from the series that is nearest in time, half of the best RTT,
  as long as one is within `NEAR_NS`.

Times are ISO 8601; without a zone they are UTC.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leogym.configs.errors import InputError
from leogym.configs.units import NS_PER_MS, NS_PER_S
from leogym.traces.formats import series as rows
from leogym.traces.formats.series import Series
from leogym.traces.formats.source import Source

PINGS = "net_ping.csv"
NEAR_NS = 600 * NS_PER_S
"""WetLinks' own scripts pair a run with pings of up to ten minutes away."""
_APART_NS = 2 * NS_PER_S  # a longer pause begins another run, as in WetLinks' scripts


@dataclass(frozen=True)
class _Pings:
    """Series of pings in the order of their beginnings."""

    start_ns: NDArray[np.int64]
    best_ns: NDArray[np.float64]  # RTT
    loss: NDArray[np.float64]


def _cells(source: Source, wanted: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line numbers and the cells of these columns."""
    lines = source.lines()
    _, first = next(lines)
    header = [cell.strip() for cell in first.removeprefix("\ufeff").split(",")]
    for name in wanted:
        if header.count(name) != 1:
            raise source.error(1, "header", f"must have one column {name!r}")
    where = {name: header.index(name) for name in wanted}
    for number, line in lines:
        cells = line.split(",")
        if len(cells) != len(header):
            raise source.error(number, "row", f"must have {len(header)} columns, not {len(cells)}")
        yield number, {name: cells[index].strip() for name, index in where.items()}


def _time_ns(source: Source, line: int, field: str, text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        seconds = -1.0
    if not 0 <= seconds < 1 << 32:
        raise source.error(line, field, "must be an ISO 8601 time from 1970 to 2106")
    return round(seconds * 1_000_000) * 1000


def _pings(path: Path) -> _Pings:
    source = Source(path)
    found: list[tuple[int, float, float]] = []
    for number, cell in _cells(source, ("timestamp_start", "packet_loss", "ping_best")):
        loss = source.number(number, "packet_loss", cell["packet_loss"], 0, 100) / 100
        if loss == 1:
            continue  # no RTT
        best = source.number(number, "ping_best", cell["ping_best"], 0, 2 * rows.MAX_DELAY_MS) * NS_PER_MS
        found.append((_time_ns(source, number, "timestamp_start", cell["timestamp_start"]), best, loss))
    if not found:
        raise InputError(f"{path}: file: has no answered ping")
    start_ns, best_ns, loss = zip(*sorted(found), strict=True)
    return _Pings(np.array(start_ns, dtype=np.int64), np.array(best_ns), np.array(loss))


def read(path: Path, pings: Path | None, delay_ms: float | None) -> tuple[Series, list[str]]:
    """Read seconds of iperf, and pings for their delay and loss; return a row per second, and notes.

    Args:
        path: ``net_iperf.csv`` or a file with its columns.
        pings: ``net_ping.csv``.
        delay_ms: one-way delay of seconds without pings nearby.

    Raises:
        InputError: a file is not valid, or a second has no delay; the message names line and rule.
    """
    source = Source(path)
    start_ns, capacity_bps, lines, runs, last_ns = [], [], [], 0, -_APART_NS
    for number, cell in _cells(source, ("timestamp_start", "timestamp_end", "download", "upload")):
        begin_ns, end_ns = (
            _time_ns(source, number, name, cell[name]) for name in ("timestamp_start", "timestamp_end")
        )
        if end_ns < begin_ns or begin_ns < last_ns - _APART_NS:
            raise source.error(
                number, "timestamp_start", "time runs backwards: must not be before the row before"
            )
        down, up = (
            source.number(number, name, cell[name], 0, rows.MAX_MBPS * 1e6) for name in ("download", "upload")
        )
        runs += begin_ns - last_ns >= _APART_NS or not start_ns
        start_ns.append(begin_ns)
        capacity_bps.append((round(down), round(up)))
        lines.append(number)
        last_ns = end_ns
        if len(start_ns) > rows.MAX_PERIOD_S:
            raise source.error(number, "file", f"more than {rows.MAX_PERIOD_S:g} rows")
    if not start_ns:
        raise source.error(1, "file", "has a header and no rows")
    starts = np.array(start_ns, dtype=np.int64)
    delay_ns, loss = np.full(len(starts), np.nan), np.zeros(len(starts))
    if pings is not None:
        known = _pings(pings)
        nearest = _nearest(known.start_ns, starts)
        near = np.abs(known.start_ns[nearest] - starts) <= NEAR_NS
        delay_ns = np.where(near, known.best_ns[nearest] / 2, np.nan)
        loss = np.where(near, known.loss[nearest], 0.0)
    missing = np.isnan(delay_ns)
    if missing.any() and delay_ms is None:
        line = lines[int(np.argmax(missing))]
        raise source.error(
            line, "delay_ms", f"has no ping within {NEAR_NS // NS_PER_S} s: give --delay-ms or --pings"
        )
    delay_ns = np.where(missing, (delay_ms or 0) * NS_PER_MS, delay_ns)
    time_ns = np.arange(len(starts), dtype=np.int64) * NS_PER_S
    series = rows.constant(time_ns, len(starts) * NS_PER_S, np.round(delay_ns).astype(np.int64), 0.0)
    down_bps, up_bps = np.array(capacity_bps, dtype=np.int64).T
    series = series.with_both(loss=loss)
    series = replace(series, up=replace(series.up, bps=up_bps), down=replace(series.down, bps=down_bps))
    notes = [f"{runs} runs of iperf, {len(starts)} s, one after the other without the pauses between them"]
    if pings is not None:
        notes.append(f"delay and loss of {int((~missing).sum())} s from {pings}")
    return series, notes


def _nearest(sorted_ns: NDArray[np.int64], at_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of the value that is nearest to each time."""
    after = np.searchsorted(sorted_ns, at_ns).clip(0, len(sorted_ns) - 1)
    before = (after - 1).clip(0)
    closer = np.abs(sorted_ns[before] - at_ns) <= np.abs(sorted_ns[after] - at_ns)
    return np.where(closer, before, after)
