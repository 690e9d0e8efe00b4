"""CSV of Starlink measurements: delay probes, capacity, or both, according to the header.

Known headers are LENS's IRTT (``timestamp,rtt,uplink,downlink``: time in ns, the rest in ms; -1 in them is a
probe lost both ways, on the way up or on the way down), LENS's ping (``timestamp,rtt``: s and ms;
clarkzjw/LENS, scripts/convert_csv.py), the dish's history (starlink-grpc-tools, ``dish_grpc_text.py
bulk_history``), and the names and units in `FIELDS`. Any other header needs a mapping.

One-way probes have ``uplink_ms`` and ``downlink_ms``, and each direction its own delay; one of them alone
counts for both. Delays below 0 are of two clocks that differ (`clocks.aligned`), except -1, a lost probe.

Samples are grouped into bins. Delay is the median of a direction's probes, or half the median RTT (an
approximation: probes wait in queues, and the two ways differ), loss the share of lost probes, capacity the
mean. A bin with only lost probes is an outage. A probe that is lost on one way for sure counts for it alone.
Empty cells, RTTs of 0 and RTTs below what light needs are unknown: the last value holds.
"""

import math
from array import array
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.formats import plausible
from leogym.traces.formats import series as rows
from leogym.traces.formats.format import Format, Import
from leogym.traces.formats.samples import DELAYS_NS, LOSSES, LOST_FLAGS, ONE_WAY, binned, checked
from leogym.traces.formats.series import Series
from leogym.traces.formats.source import shown
from leogym.traces.formats.table import Table
from leogym.traces.formats.tally import Tally, times

FIELDS = {
    "time_s": "time in s",
    "time_ms": "time in ms",
    "time_ns": "time in ns",
    "time_iso": "ISO 8601 time with zone",
    "time_utc": "ISO 8601 time, UTC without a zone",
    "rtt_ms": "RTT in ms, negative if lost",
    "rtt_s": "RTT in s, negative if lost",
    "delay_ms": "one-way delay in ms, -1 if lost",
    "uplink_ms": "one-way delay from the user in ms, -1 if lost",
    "downlink_ms": "one-way delay to the user in ms, -1 if lost",
    "uplink_mbps": "capacity from the user in Mbit/s",
    "downlink_mbps": "capacity to the user in Mbit/s",
    "loss": "loss from 0 to 1",
    "loss_percent": "loss in %",
    "uplink_lost": "-1 if the probe was lost on the way up",
    "downlink_lost": "-1 if the probe was lost on the way down",
}
_TIMES = {"time_s": NS_PER_S, "time_ms": NS_PER_MS, "time_ns": 1, "time_iso": 0, "time_utc": 0}
_KNOWN = {
    "LENS IRTT": {
        "time_ns": "timestamp",
        "rtt_ms": "rtt",
        "uplink_lost": "uplink",
        "downlink_lost": "downlink",
    },
    "LENS ping": {"time_s": "timestamp", "rtt_ms": "rtt"},
}
_KNOWN_PARTS = {
    "starlink-grpc-tools": {
        "time_utc": "datetimestamp_utc",
        "rtt_ms": "pop_ping_latency_ms",
        "loss": "pop_ping_drop_rate",
    },
}
"""Headers with further columns. The dish's throughput is what was used, not the capacity."""
_PAUSE_NS, _PAUSE_INTERVALS = 10 * NS_PER_S, 10
_MAX_TIME_NS = 1 << 62


def parse_mapping(text: str) -> dict[str, str]:
    """Parse a mapping ``field=column,…``; raise InputError unless each field is known and has one column."""
    mapping = {}
    for part in text.split(","):
        field, _, column = part.partition("=")
        if field not in FIELDS or not column:
            raise InputError(f"--columns: {part!r}: must be FIELD=COLUMN, FIELD one of {', '.join(FIELDS)}")
        if field in mapping:
            raise InputError(f"--columns: {part!r}: gives {field} a second column")
        mapping[field] = column
    return mapping


def _mapping(table: Table, wanted: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the name of the mapping, and the column of each field."""
    header, line = table.header, table.header_line
    if wanted:
        mapping, name = dict(wanted), "--columns"
    else:
        fits = [name for name, columns in _KNOWN.items() if list(columns.values()) == header]
        fits += [name for name, columns in _KNOWN_PARTS.items() if set(columns.values()) <= set(header)]
        name = fits[0] if fits else "its header"
        own = {field: field for field in FIELDS if field in header}
        mapping = (_KNOWN | _KNOWN_PARTS)[name] if fits else own
    for field, column in mapping.items():
        if header.count(column) != 1:
            raise table.error(line, "header", f"must have one column {column!r} for {field}")
    for kind, names in {"time": _TIMES, "delay or RTT": DELAYS_NS, "loss": LOSSES}.items():
        chosen = [field for field in names if field in mapping]
        if kind.startswith("delay") and any(field in mapping for field in ONE_WAY):
            chosen.append("one way")
        if len(chosen) > 1 or (not chosen and kind == "time"):
            fields = ", ".join(names)
            raise table.error(line, "header", f"must have one column of {kind} ({fields}); use --columns")
    return name, mapping


def _time_ns(table: Table, line: int, field: str, text: str) -> int:
    if field in ("time_iso", "time_utc"):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = None
        if moment is not None and moment.tzinfo is None and field == "time_utc":
            moment = moment.replace(tzinfo=UTC)
        if moment is None or moment.tzinfo is None:
            zone = "" if field == "time_utc" else " with a zone"
            hint = "" if field == "time_utc" or moment is None else " (time_utc takes times without one)"
            raise table.error(line, field, f"must be ISO 8601{zone}, such as 2024-01-01T00:00:00Z{hint}")
        time_ns = round(moment.timestamp() * 1_000_000) * 1000
        if not 0 <= time_ns <= _MAX_TIME_NS:
            raise table.error(line, field, "must be from 1970 to 2116")
        return time_ns
    if field == "time_ns":
        return table.integer(line, field, text, 0, _MAX_TIME_NS)
    scale = _TIMES[field]
    seconds = table.decimal(line, field, text, 0, _MAX_TIME_NS / scale)
    if math.isnan(seconds):
        raise table.error(line, field, f"must be a time, not {shown(text)}")
    # Floating-point seconds since 1970 are exact to 0.2 µs.
    return round(seconds * scale)


def _value(table: Table, line: int, field: str, text: str, both_ways: bool) -> float:
    """Return a cell's value, NaN if it has none."""
    if field in ONE_WAY:
        return table.decimal(line, field, text, -1e9, 1e9 if both_ways else rows.MAX_DELAY_MS)
    if field in DELAYS_NS:
        high = rows.MAX_DELAY_MS * NS_PER_MS / DELAYS_NS[field]
        return table.decimal(line, field, text, -1e9, high)
    if field in LOST_FLAGS:
        return table.decimal(line, field, text, -1e9, 1e9)
    if field in LOSSES:
        return table.decimal(line, field, text, 0, 1 / LOSSES[field])
    return table.decimal(line, field, text, 0, rows.MAX_MBPS)


def read(
    path: Path,
    columns: Mapping[str, str],
    delay_ms: float | None,
    capacity_mbps: float,
    bin_ms: int = 100,
    *,
    tally: Tally | None = None,
    floor_ns: float = 0.0,
) -> tuple[Series, str]:
    """Read a file in bins of ``bin_ms``; return the series and a note on the columns.

    Args:
        path: a CSV file with a header.
        columns: column of each field; empty to use the header.
        delay_ms: one-way delay for a file without delays.
        capacity_mbps: capacity for directions without it.
        bin_ms: length of a row; bins without samples repeat the previous one.
        tally: counts what is lost or not measured.
        floor_ns: RTTs below it are not measured.

    Raises:
        InputError: the file is not valid; the message names line and rule.
    """
    table, tally = Table(path), Tally() if tally is None else tally
    name, mapping = _mapping(table, columns)
    if delay_ms is None and not set(mapping) & {*DELAYS_NS, *ONE_WAY}:
        raise InputError(f"{path}: delay_ms: has no column of delays: give --delay-ms")
    where = {field: table.header.index(column) for field, column in mapping.items()}
    time_field = next(field for field in _TIMES if field in mapping)
    times, lines = array("q"), array("q")
    values = {field: array("d") for field in mapping if field not in _TIMES}
    both_ways = set(ONE_WAY) <= values.keys()
    number = table.header_line
    for number, cells in table.cells():
        times.append(_time_ns(table, number, time_field, cells[where[time_field]]))
        lines.append(number)
        if len(times) > 1 and times[-1] < times[-2]:
            rule = (
                "time runs backwards: must not be before the row before: sort the rows by time, or split the "
            )
            raise table.error(number, time_field, f"{rule}file where its clock was set back")
        for field, sink in values.items():
            sink.append(_value(table, number, field, cells[where[field]], both_ways))
        if len(times) > rows.MAX_ROWS:
            raise table.error(number, "file", f"more than {rows.MAX_ROWS} rows")
    if not times:
        raise table.error(number, "file", "has a header and no rows")
    time_ns, line = np.array(times, dtype=np.int64) - times[0], np.array(lines, dtype=np.int64)
    if time_ns[-1] > rows.MAX_PERIOD_S * NS_PER_S:
        jump = int(np.argmax(np.diff(time_ns)))
        raise table.error(
            int(line[jump + 1]),
            time_field,
            f"{np.diff(time_ns)[jump] / NS_PER_S:,.6g} s after the row before: a file must not last more "
            f"than {rows.MAX_PERIOD_S:g} s (leave out the rows before the clock was set)",
        )
    tally.total = len(times)
    _remark_pauses(time_ns, line, tally)
    samples = checked(
        path,
        time_ns,
        line,
        {field: np.array(sink, dtype=np.float64) for field, sink in values.items()},
        tally,
        floor_ns,
    )
    series = binned(samples, delay_ms, capacity_mbps, bin_ms * NS_PER_MS)
    mapping_text = ", ".join(f"{column} as {field} ({FIELDS[field]})" for field, column in mapping.items())
    return series, f"columns by {name}: {mapping_text}"


def _remark_pauses(time_ns: NDArray[np.int64], line: NDArray[np.int64], tally: Tally) -> None:
    """Report long times without samples: the recording paused, or its clock was set."""
    apart_ns = np.diff(time_ns)
    if not (apart_ns > 0).any():
        return
    usual_ns = float(np.median(apart_ns[apart_ns > 0]))
    pauses = np.flatnonzero(apart_ns > max(_PAUSE_NS, _PAUSE_INTERVALS * usual_ns))
    if len(pauses):
        longest = int(pauses[np.argmax(apart_ns[pauses])])
        tally.remark(
            f"{times(len(pauses))} there is no sample for long, at most for "
            f"{apart_ns[longest] / NS_PER_S:,.6g} s before line {line[longest + 1]} (a pause, or the clock "
            "was set): the values before hold"
        )


def _import(job: Import) -> Series:
    options = job.options
    series, note = read(
        job.path,
        parse_mapping(options.columns) if options.columns else {},
        options.delay_ms,
        options.capacity_mbps,
        job.bin_ms,
        tally=job.tally,
        floor_ns=job.floor_ns,
    )
    job.notes.append(note)
    if "_mbps" in note:
        way = "from → to" if options.terminal_at == "to" else "to → from"
        job.notes.append(f"the user is at {options.terminal_at!r}: its download goes {way}")
    return series


FORMAT = Format(
    "starlink-csv",
    "measurements as CSV: LENS's irtt and ping, the dish's history, others by --columns",
    (".csv",),
    read=_import,
    options=("terminal_at", "columns", "delay_ms", "capacity_mbps", "bin_ms", "altitude_km"),
    altitude_km=plausible.STARLINK_KM,
)
