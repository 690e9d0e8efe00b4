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

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.formats import plausible
from leogym.traces.formats import series as rows
from leogym.traces.formats.format import Format, Import
from leogym.traces.formats.series import Series
from leogym.traces.formats.table import Table, is_unknown
from leogym.traces.formats.tally import Tally

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


def _cells(table: Table, wanted: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line numbers and the cells of these columns."""
    for name in wanted:
        if table.header.count(name) != 1:
            raise table.error(table.header_line, "header", f"must have one column {name!r}")
    where = {name: table.header.index(name) for name in wanted}
    for number, cells in table.cells():
        yield number, {name: cells[index] for name, index in where.items()}


def _time_ns(table: Table, line: int, field: str, text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        seconds = -1.0
    if not 0 <= seconds < 1 << 32:
        raise table.error(line, field, "must be an ISO 8601 time from 1970 to 2106")
    return round(seconds * 1_000_000) * 1000


def _pings(path: Path, tally: Tally, floor_ns: float) -> _Pings:
    table = Table(path)
    answered: list[tuple[int, float, float]] = []
    for number, cell in _cells(table, ("timestamp_start", "packet_loss", "ping_best")):
        tally.total += 1
        loss = table.decimal(number, "packet_loss", cell["packet_loss"], 0, 100) / 100
        if loss == 1:
            tally.add("are lost: the nearest other one counts", number)
            continue  # no RTT
        high = 2 * rows.MAX_DELAY_MS
        if is_unknown(cell["ping_best"]):  # an answered series has one
            table.number(number, "ping_best", cell["ping_best"], 0, high)
        best = table.decimal(number, "ping_best", cell["ping_best"], 0, high) * NS_PER_MS
        why = (
            "have no packet_loss: not measured"
            if np.isnan(loss)
            else plausible.why_unmeasured(best, floor_ns)
        )
        if why is not None:
            tally.add(why, number)
            continue
        answered.append((_time_ns(table, number, "timestamp_start", cell["timestamp_start"]), best, loss))
    if not answered:
        why = tally.summary()
        raise InputError(f"{path}: file: has no answered ping{f': {why}' if why else ''}")
    start_ns, best_ns, loss = zip(*sorted(answered), strict=True)
    return _Pings(np.array(start_ns, dtype=np.int64), np.array(best_ns), np.array(loss))


def read(
    path: Path,
    pings: Path | None,
    delay_ms: float | None,
    tally: Tally | None = None,
    floor_ns: float = 0.0,
) -> tuple[Series, list[str]]:
    """Read seconds of iperf, and pings for their delay and loss; return a row per second, and notes.

    Args:
        path: ``net_iperf.csv`` or a file with its columns.
        pings: ``net_ping.csv``.
        delay_ms: one-way delay of seconds without pings nearby.
        tally: counts seconds that are left out or have no capacity.
        floor_ns: RTTs below it are not measured.

    Raises:
        InputError: a file is not valid, or a second has no delay; the message names line and rule.
    """
    table, tally = Table(path), Tally("seconds") if tally is None else tally
    start_ns, capacity_bps, lines, runs, last_ns = [], [], [], 0, -_APART_NS
    number = table.header_line
    for number, cell in _cells(table, ("timestamp_start", "timestamp_end", "download", "upload")):
        tally.total += 1
        begin_ns, end_ns = (
            _time_ns(table, number, name, cell[name]) for name in ("timestamp_start", "timestamp_end")
        )
        if end_ns < begin_ns or begin_ns < last_ns - _APART_NS:
            raise table.error(
                number,
                "timestamp_start",
                "time runs backwards: must not be before the row before: sort the rows by it",
            )
        if start_ns and begin_ns == start_ns[-1]:
            tally.add("have the time of the row before: left out", number)
            continue
        capacity = [
            table.decimal(number, name, cell[name], 0, rows.MAX_MBPS * 1e6) for name in ("download", "upload")
        ]
        if np.isnan(capacity).any():
            tally.add("have no download or no upload: the last one holds", number)
        runs += begin_ns - last_ns >= _APART_NS or not start_ns
        start_ns.append(begin_ns)
        capacity_bps.append(capacity)
        lines.append(number)
        last_ns = end_ns
        if len(start_ns) > rows.MAX_PERIOD_S:
            raise table.error(number, "file", f"more than {rows.MAX_PERIOD_S:g} rows")
    if not start_ns:
        raise table.error(table.header_line, "file", "has a header and no rows")
    starts = np.array(start_ns, dtype=np.int64)
    delay_ns, loss = np.full(len(starts), np.nan), np.zeros(len(starts))
    ping_notes: list[str] = []
    if pings is not None:
        ping_tally = Tally("series of pings")
        measured = _pings(pings, ping_tally, floor_ns)
        ping_notes = ping_tally.notes(pings)
        nearest = _nearest(measured.start_ns, starts)
        near = np.abs(measured.start_ns[nearest] - starts) <= NEAR_NS
        delay_ns = np.where(near, measured.best_ns[nearest] / 2, np.nan)
        loss = np.where(near, measured.loss[nearest], 0.0)
    missing = np.isnan(delay_ns)
    if missing.any() and delay_ms is None:
        line = lines[int(np.argmax(missing))]
        raise table.error(
            line, "delay_ms", f"has no ping within {NEAR_NS // NS_PER_S} s: give --delay-ms or --pings"
        )
    delay_ns = np.where(missing, (delay_ms or 0) * NS_PER_MS, delay_ns)
    time_ns = np.arange(len(starts), dtype=np.int64) * NS_PER_S
    series = rows.constant(time_ns, len(starts) * NS_PER_S, np.round(delay_ns).astype(np.int64), 0.0)
    down_bps, up_bps = (
        _held_bps(path, name, np.array(column))
        for name, column in zip(("download", "upload"), zip(*capacity_bps, strict=True), strict=True)
    )
    series = series.with_both(loss=loss)
    series = replace(series, up=replace(series.up, bps=up_bps), down=replace(series.down, bps=down_bps))
    notes = [f"{runs} runs of iperf, {len(starts)} s, one after the other without the pauses between them"]
    if pings is not None:
        notes.append(f"delay and loss of {int((~missing).sum())} s from {pings}")
    return series, [*notes, *ping_notes]


def _held_bps(path: Path, name: str, bps: NDArray[np.float64]) -> NDArray[np.int64]:
    valid = np.isfinite(bps)
    if not valid.any():
        raise InputError(f"{path}: {name}: has no value in any row")
    return np.round(rows.held(np.where(valid, bps, 0), valid)).astype(np.int64)


def _nearest(sorted_ns: NDArray[np.int64], at_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of the value that is nearest to each time."""
    after = np.searchsorted(sorted_ns, at_ns).clip(0, len(sorted_ns) - 1)
    before = (after - 1).clip(0)
    closer = np.abs(sorted_ns[before] - at_ns) <= np.abs(sorted_ns[after] - at_ns)
    return np.where(closer, before, after)


def _import(job: Import) -> Series:
    default = job.path.with_name(PINGS)
    pings = job.options.pings or (default if default != job.path and default.is_file() else None)
    series, notes = read(job.path, pings, job.options.delay_ms, job.tally, job.floor_ns)
    job.notes += [*notes, f"the user is at {job.options.terminal_at!r}"]
    return series


FORMAT = Format(
    "wetlinks",
    "net_iperf.csv of WetLinks, with delay and loss from the net_ping.csv next to it",
    (".csv",),
    read=_import,
    options=("terminal_at", "pings", "delay_ms", "altitude_km"),
    samples="seconds",
    altitude_km=plausible.STARLINK_KM,
)
