"""CSV of Starlink measurements: delay probes, capacity, or both, according to the header.

Known headers are LENS's IRTT (``timestamp,rtt,uplink,downlink``: time in ns, the rest in ms; -1 in them is a
probe lost both ways, on the way up or on the way down), LENS's ping (``timestamp,rtt``: s and ms;
clarkzjw/LENS, scripts/convert_csv.py), and the names and units in `FIELDS`. Any other header needs a mapping.

One-way probes have ``uplink_ms`` and ``downlink_ms``, and each direction its own delay; one of them alone
counts for both.

Samples are grouped into bins. Delay is the median of a direction's probes, or half the median RTT (an
approximation: probes wait in queues, and the two ways differ), loss the share of lost probes, capacity the
mean. A bin with only lost probes is an outage. A probe that is lost on one way for sure counts for it alone.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leogym.configs.errors import InputError
from leogym.configs.units import NS_PER_MS, NS_PER_S
from leogym.traces.capacity.columns import OneWay
from leogym.traces.formats import series as rows
from leogym.traces.formats.probes import medians_of
from leogym.traces.formats.series import Series
from leogym.traces.formats.source import Source

FIELDS = {
    "time_s": "time in s",
    "time_ms": "time in ms",
    "time_ns": "time in ns",
    "time_iso": "ISO 8601 time with zone",
    "rtt_ms": "RTT in ms, negative if lost",
    "rtt_s": "RTT in s, negative if lost",
    "delay_ms": "one-way delay in ms, negative if lost",
    "uplink_ms": "one-way delay from the user in ms, negative if lost",
    "downlink_ms": "one-way delay to the user in ms, negative if lost",
    "uplink_mbps": "capacity from the user in Mbit/s",
    "downlink_mbps": "capacity to the user in Mbit/s",
    "loss": "loss from 0 to 1",
    "loss_percent": "loss in %",
    "uplink_lost": "negative if the probe was lost on the way up",
    "downlink_lost": "negative if the probe was lost on the way down",
}
_TIMES = {"time_s": NS_PER_S, "time_ms": NS_PER_MS, "time_ns": 1, "time_iso": 0}
_DELAYS_NS = {"rtt_ms": NS_PER_MS / 2, "rtt_s": NS_PER_S / 2, "delay_ms": float(NS_PER_MS)}
_ONE_WAY = ("uplink_ms", "downlink_ms")
_LOST = ("uplink_lost", "downlink_lost")
_LOSSES = {"loss": 1.0, "loss_percent": 0.01}
_KNOWN = {
    "LENS IRTT": {
        "time_ns": "timestamp",
        "rtt_ms": "rtt",
        "uplink_lost": "uplink",
        "downlink_lost": "downlink",
    },
    "LENS ping": {"time_s": "timestamp", "rtt_ms": "rtt"},
}
DEFAULT_BIN_MS = 100
_MAX_TIME_NS = 1 << 62


def parse_mapping(text: str) -> dict[str, str]:
    """Parse a mapping ``field=column,…``; raise InputError if a field is unknown or has no column."""
    mapping = {}
    for part in text.split(","):
        field, _, column = part.partition("=")
        if field not in FIELDS or not column:
            raise InputError(f"--columns: {part!r}: must be FIELD=COLUMN, FIELD one of {', '.join(FIELDS)}")
        mapping[field] = column
    return mapping


def _mapping(source: Source, header: list[str], wanted: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the name of the mapping, and the column of each field."""
    if wanted:
        found, name = dict(wanted), "--columns"
    else:
        fits = [name for name, known in _KNOWN.items() if list(known.values()) == header]
        name = fits[0] if fits else "its header"
        found = _KNOWN[name] if fits else {field: field for field in FIELDS if field in header}
    for field, column in found.items():
        if header.count(column) != 1:
            raise source.error(1, "header", f"must have one column {column!r} for {field}")
    for kind, names in {"time": _TIMES, "delay or RTT": _DELAYS_NS, "loss": _LOSSES}.items():
        chosen = [field for field in names if field in found]
        if kind.startswith("delay") and any(field in found for field in _ONE_WAY):
            chosen.append("one way")
        if len(chosen) > 1 or (not chosen and kind == "time"):
            known = ", ".join(names)
            raise source.error(1, "header", f"must have one column of {kind} ({known}); use --columns")
    return name, found


def _time_ns(source: Source, line: int, field: str, text: str) -> int:
    if field == "time_iso":
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            raise source.error(line, field, "must be ISO 8601 with a zone, such as 2024-01-01T00:00:00Z")
        time_ns = round(moment.timestamp() * 1_000_000) * 1000
        if not 0 <= time_ns <= _MAX_TIME_NS:
            raise source.error(line, field, "must be from 1970 to 2116")
        return time_ns
    if field == "time_ns":
        return source.integer(line, field, text, 0, _MAX_TIME_NS)
    scale = _TIMES[field]
    # Floating-point seconds since 1970 are exact to 0.2 µs.
    return round(source.number(line, field, text, 0, _MAX_TIME_NS / scale) * scale)


def _value(source: Source, line: int, field: str, text: str) -> float:
    if field in _ONE_WAY:
        return source.number(line, field, text, -1e9, rows.MAX_DELAY_MS)
    if field in _DELAYS_NS:
        high = rows.MAX_DELAY_MS * NS_PER_MS / _DELAYS_NS[field]
        return source.number(line, field, text, -1e9, high)
    if field in _LOST:
        return source.number(line, field, text, -1e9, 1e9)
    if field in _LOSSES:
        return source.number(line, field, text, 0, 1 / _LOSSES[field])
    return source.number(line, field, text, 0, rows.MAX_MBPS)


def read(
    path: Path,
    columns: Mapping[str, str],
    delay_ms: float | None,
    capacity_mbps: float,
    bin_ms: int = DEFAULT_BIN_MS,
) -> tuple[Series, str]:
    """Read a file in bins of ``bin_ms``; return the series and a note on the columns.

    Args:
        path: a CSV file with a header.
        columns: column of each field; empty to use the header.
        delay_ms: one-way delay for a file without delays.
        capacity_mbps: capacity for directions without it.
        bin_ms: length of a row; bins without samples repeat the previous one.

    Raises:
        InputError: the file is not valid; the message names line and rule.
    """
    source = Source(path)
    lines = source.lines()
    _, first = next(lines)
    header = [cell.strip() for cell in first.removeprefix("\ufeff").split(",")]
    name, found = _mapping(source, header, columns)
    if delay_ms is None and not set(found) & {*_DELAYS_NS, *_ONE_WAY}:
        raise InputError(f"{path}: delay_ms: has no column of delays: give --delay-ms")
    where = {field: header.index(column) for field, column in found.items()}
    time_field = next(field for field in _TIMES if field in found)
    times: list[int] = []
    values: dict[str, list[float]] = {field: [] for field in found if field not in _TIMES}
    number = 1
    for number, line in lines:
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(header):
            raise source.error(number, "row", f"must have {len(header)} columns, not {len(cells)}")
        times.append(_time_ns(source, number, time_field, cells[where[time_field]]))
        if len(times) > 1 and times[-1] < times[-2]:
            raise source.error(number, time_field, "time runs backwards: must not be before the row before")
        for field, sink in values.items():
            sink.append(_value(source, number, field, cells[where[field]]))
        if len(times) > rows.MAX_ROWS:
            raise source.error(number, "file", f"more than {rows.MAX_ROWS} rows")
    if not times:
        raise source.error(number, "file", "has a header and no rows")
    time_ns = np.array(times, dtype=np.int64) - times[0]
    if time_ns[-1] > rows.MAX_PERIOD_S * NS_PER_S:
        raise source.error(number, time_field, f"more than {rows.MAX_PERIOD_S:g} s after the first row")
    arrays = {field: np.array(sink) for field, sink in values.items()}
    series = _binned(time_ns, arrays, delay_ms, capacity_mbps, bin_ms * NS_PER_MS, path)
    said = ", ".join(f"{column} as {field} ({FIELDS[field]})" for field, column in found.items())
    return series, f"columns by {name}: {said}"


def _binned(
    time_ns: NDArray[np.int64],
    values: Mapping[str, NDArray[np.float64]],
    delay_ms: float | None,
    capacity_mbps: float,
    bin_ns: int,
    path: Path,
) -> Series:
    # Only bins with samples become rows; a row holds until the next one.
    bins, index = np.unique(time_ns // bin_ns, return_inverse=True)
    starts_ns, counts = bins * bin_ns, np.bincount(index)
    ways = []
    probed = _probed(values, len(time_ns))
    lost_anywhere = probed["uplink"][1] | probed["downlink"][1]
    for direction, (asked, lost) in probed.items():
        field = _delays(values, direction)
        if field is not None:
            answered = values[field] >= 0 if field in _ONE_WAY else ~lost_anywhere
            if not answered.any():
                raise InputError(f"{path}: {field}: every probe was lost")
            samples_ns = values[field][answered] * _DELAYS_NS.get(field, float(NS_PER_MS))
            medians = medians_of(index[answered], samples_ns, len(bins))
            known = ~np.isnan(medians)
            delay_ns = rows.held_delays(np.round(np.where(known, medians, 0)).astype(np.int64), known)
        elif delay_ms is not None:
            delay_ns = np.full(len(bins), round(delay_ms * NS_PER_MS), dtype=np.int64)
        else:
            raise InputError(f"{path}: delay_ms: has no column of delays: give --delay-ms")
        mbps = np.full(len(bins), capacity_mbps)
        if f"{direction}_mbps" in values:
            mbps = np.bincount(index, values[f"{direction}_mbps"]) / counts
        probes = np.bincount(index, asked)
        # Where nothing came through to be lost, the other direction's outage is one of both.
        lost_share = np.where(probes > 0, np.bincount(index, lost & asked) / np.maximum(probes, 1), 1.0)
        random_loss = lost_share.copy()
        for name, scale in _LOSSES.items():
            if name in values:
                random_loss = np.maximum(random_loss, np.bincount(index, values[name]) / counts * scale)
        connected = lost_share < 1
        loss = np.where(connected, np.clip(random_loss, 0, 1), 0)
        bps = np.round(mbps * 1e6).astype(np.int64)
        ways.append(OneWay(np.maximum(delay_ns, rows.MIN_DELAY_NS), bps, loss, connected))
    up, down = ways
    events = rows.unreachable_events(up.connected, down.connected)
    return Series(int(starts_ns[-1]) + bin_ns, starts_ns, up, down, np.zeros(len(bins), np.int64), events)


def _delays(values: Mapping[str, NDArray[np.float64]], direction: str) -> str | None:
    """Return the field with a direction's delays: its own, else the other's, else one of both ways."""
    return next((field for field in (f"{direction}_ms", *_ONE_WAY, *_DELAYS_NS) if field in values), None)


def _probed(
    values: Mapping[str, NDArray[np.float64]], samples: int
) -> dict[str, tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return for each direction which samples tell about it, and which of them are lost."""
    lost = {field: values[field] < 0 for field in (*_ONE_WAY, *_LOST, *_DELAYS_NS) if field in values}
    none = np.zeros(samples, dtype=bool)

    def any_of(fields: Sequence[str]) -> NDArray[np.bool_]:
        return np.logical_or.reduce([none, *(lost[field] for field in fields if field in lost)])

    up, down = any_of(("uplink_ms", "uplink_lost")), any_of(("downlink_ms", "downlink_lost"))
    # A probe that did not get up could not be lost on the way down.
    asked_down = ~any_of(("uplink_lost",))
    somewhere = any_of([*_DELAYS_NS]) & ~up & ~down
    both = [{f"{direction}_ms", f"{direction}_lost"} & lost.keys() for direction in ("uplink", "downlink")]
    if not all(both):
        # One direction alone counts for both.
        somewhere, up, down, asked_down = somewhere | up | down, none, none, ~none
    return {"uplink": (~none, up | somewhere), "downlink": (asked_down, down | somewhere)}
