"""Hypatia's round-trip times: one ``time_ns,rtt_ns`` per line, 0 while unreachable.

satgenpy's analysis of a pair of ground stations (snkas/hypatia, commit 0ac531c) writes the RTT of the
shortest path at fixed steps, usually 100 ms, without a header. Semicolons or tabs may separate the columns,
as spreadsheets save them, with decimal commas.
"""

from pathlib import Path

import numpy as np

from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.formats import series as rows
from leogym.traces.formats.format import Format, Import
from leogym.traces.formats.series import Series
from leogym.traces.formats.source import Source
from leogym.traces.formats.table import separator_of

COLUMNS = ("time_ns", "rtt_ns")
_MAX_TIME_NS = round(rows.MAX_PERIOD_S * NS_PER_S)
_MAX_RTT_NS = 2 * rows.MAX_DELAY_MS * NS_PER_MS


def read(path: Path, capacity_mbps: float) -> Series:
    """Read a file. The delay is half the RTT, and the last row lasts as long as the previous one.

    The format does not name satellites, so there is one ``path_id`` and no handover.

    Raises:
        InputError: the file is not valid; the message names line and rule.
    """
    source, number = Source(path), 0
    time_ns: list[int] = []
    rtt_ns: list[float] = []
    separator = ""
    for number, line in source.rows():
        separator = separator or separator_of(line)
        cells = [cell.strip() for cell in line.split(separator)]
        if separator != ",":
            cells = [cell.replace(",", ".", 1) for cell in cells]
        if len(cells) != len(COLUMNS):
            raise source.error(number, "row", f"must be {','.join(COLUMNS)}, not {len(cells)} columns")
        time = source.integer(number, "time_ns", cells[0], 0, _MAX_TIME_NS)
        if time_ns and time <= time_ns[-1]:
            raise source.error(number, "time_ns", "must be after the row before")
        time_ns.append(time)
        rtt_ns.append(source.number(number, "rtt_ns", cells[1], 0, _MAX_RTT_NS))
        if len(time_ns) > rows.MAX_ROWS:
            raise source.error(number, "file", f"more than {rows.MAX_ROWS} rows")
    if len(time_ns) < 2:
        raise source.error(number, "file", "must have at least two rows")
    times = np.array(time_ns, dtype=np.int64) - time_ns[0]
    rtts = np.array(rtt_ns)
    connected = rtts > 0
    if not connected.any():
        raise source.error(number, "rtt_ns", "is 0 in every row: the pair is never connected")
    delay_ns = rows.held(np.round(rtts / 2).astype(np.int64), connected)
    period_ns = int(2 * times[-1] - times[-2])
    series = rows.constant(times, period_ns, delay_ns, capacity_mbps)
    series.event[:] = rows.unreachable_events(connected)
    return series.with_both(connected=connected)


def _import(job: Import) -> Series:
    job.metadata["attach"] = "shortest"
    return read(job.path, job.options.capacity_mbps)


FORMAT = Format(
    "hypatia",
    "RTTs of Hypatia (time_ns,rtt_ns); half of each is the delay, 0 is unreachable",
    (".csv", ".txt"),
    read=_import,
    options=("capacity_mbps",),
)
