"""Delay and bandwidth traces of LeoReplayer (LeoCC), a fork of mahimahi with variable delay.

Format (SpaceNetLab/LeoCC, commit 867e673): each line of the delay file is an integer, the one-way delay in ms
for an interval of 10 ms. It repeats after its last line, and applies to both directions. Bandwidth files are
mahimahi traces. LeoReplayer lets packets overtake each other when the delay falls.
"""

from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.common.output_file import whole_file
from leogym.common.units import NS_PER_MS
from leogym.traces.formats import mahimahi
from leogym.traces.formats import series as rows
from leogym.traces.formats.format import Export, Format, Import, exported_files
from leogym.traces.formats.series import Series
from leogym.traces.formats.source import Source
from leogym.traces.formats.tally import Tally

INTERVAL_MS = 10
_MAX_DELAY_MS = int(rows.MAX_DELAY_MS)


def delays_ms(series: Series) -> NDArray[np.int64]:
    """Return the delay at the start of each interval, rounded to a millisecond: half of both directions'.

    LeoReplayer lets packets overtake when the delay falls faster than time runs, so such delays are raised.
    """
    start_ns = np.arange(0, series.period_ns, INTERVAL_MS * NS_PER_MS, dtype=np.int64)
    row = np.searchsorted(series.time_ns, start_ns, side="right") - 1
    nearest_ms = (series.rtt_ns[row] // 2 + NS_PER_MS // 2) // NS_PER_MS
    start_ms = start_ns // NS_PER_MS
    return np.maximum.accumulate(start_ms + nearest_ms) - start_ms


def write_delays(series: Series, file: IO[str]) -> int:
    """Write the delay file and return its number of intervals."""
    delays = delays_ms(series)
    file.write("\n".join(map(str, delays.tolist())) + "\n")
    return len(delays)


def read_delays_ms(path: Path) -> NDArray[np.int64]:
    """Read the delay of each interval, in ms; raise InputError with line and rule if the file is invalid."""
    source = Source(path)
    delays = []
    for number, line in source.rows():
        delays.append(source.integer(number, "delay_ms", line.strip(), 0, _MAX_DELAY_MS))
        if len(delays) > rows.MAX_ROWS:
            raise source.error(number, "file", f"more than {rows.MAX_ROWS} rows")
    return np.array(delays, dtype=np.int64)


def read(
    delay: Path,
    uplink: Path | None,
    downlink: Path | None,
    capacity_mbps: float,
    tally: Tally | None = None,
    *,
    exported: bool = False,
) -> Series:
    """Read a delay file and up to two bandwidth files, one row per interval.

    Bandwidth traces are cut or repeated to the length of the delays; without one, capacity is constant. A
    delay of 0 ms was not measured, so the last one holds. In an ``exported`` trace it is below half a
    millisecond, and becomes a nanosecond, because path traces have no delay of 0.

    Raises:
        InputError: a file is not valid; the message names line and rule.
    """
    tally = Tally("delays") if tally is None else tally
    delay_ms = read_delays_ms(delay)
    tally.total = len(delay_ms)
    if not exported:
        zero = delay_ms == 0
        if zero.all():
            raise InputError(f"{delay}: delay_ms: is 0 in every row: not measured")
        tally.add("are 0: not measured", int(np.argmax(zero)) + 1, int(zero.sum()))
        delay_ms = rows.held(delay_ms, ~zero)
    time_ns = np.arange(len(delay_ms), dtype=np.int64) * INTERVAL_MS * NS_PER_MS
    period_ns = len(delay_ms) * INTERVAL_MS * NS_PER_MS
    series = rows.constant(time_ns, period_ns, delay_ms * NS_PER_MS, capacity_mbps)
    return replayed(series, uplink, downlink, INTERVAL_MS, tally)


def replayed(
    series: Series, uplink: Path | None, downlink: Path | None, interval_ms: int, tally: Tally
) -> Series:
    """Return a series whose capacity comes from bandwidth files, where there are such."""
    ways = [
        way if path is None else replace(way, bps=replayed_bps(path, len(series.time_ns), interval_ms, tally))
        for path, way in ((uplink, series.up), (downlink, series.down))
    ]
    return replace(series, up=ways[0], down=ways[1])


def replayed_bps(path: Path, intervals: int, interval_ms: int, tally: Tally) -> NDArray[np.int64]:
    """Return a bandwidth file's mean capacity in each interval; the file is cut or repeated to fit.

    ``tally`` gets a remark if it is.

    Raises:
        InputError: the file is not valid, or too short for so many intervals.
    """
    opportunity_ms = mahimahi.read_ms(path)
    period_ms, wanted_ms = int(opportunity_ms[-1]), intervals * interval_ms
    rounds = -(-wanted_ms // period_ms)
    if rounds * len(opportunity_ms) > mahimahi.MAX_REPEATED:
        raise InputError(f"{path}: period: {period_ms} ms is too short for the delays' {wanted_ms} ms")
    if period_ms != wanted_ms:
        how = "cut" if period_ms > wanted_ms else "repeated"
        tally.remark(f"period: the {period_ms} ms of {path} are {how} to the delays' {wanted_ms} ms")
    return mahimahi.capacity_bps(mahimahi.repeated_ms(opportunity_ms, wanted_ms), wanted_ms, interval_ms)


def _import(job: Import) -> Series:
    path, options = job.path, job.options
    if path.is_dir():
        delay, uplink, downlink = exported_files(path, ("delay.txt", "uplink.txt", "downlink.txt"))
        series = read(delay, uplink, downlink, options.capacity_mbps, job.tally, exported=True)
        return mahimahi.unrotated(series, mahimahi.read_sidecar(path))
    uplink, downlink = options.uplink, options.downlink
    recorded = path.with_name(path.name.replace("delay", "bw", 1))
    if uplink is None and downlink is None and recorded != path and recorded.is_file():
        uplink = downlink = recorded
        job.notes.append(f"capacity of both directions from {recorded}")
    return read(path, uplink, downlink, options.capacity_mbps, job.tally)


def _write_delay(job: Export) -> str:
    with whole_file(job.folder / "delay.txt") as file:
        count = write_delays(job.series, file)
    job.contents["delay.txt"] = f"{count} delays of {INTERVAL_MS} ms each, one way"
    return f"delay: one-way, to the nearest ms at every {INTERVAL_MS} ms"


FORMAT = Format(
    "leoreplayer",
    "delays in ms at every 10 ms, and packet delivery times",
    (".txt",),
    read=_import,
    write=lambda job: mahimahi.write_links(
        job, INTERVAL_MS, _write_delay, f"mm-delay {INTERVAL_MS} delay.txt"
    ),
    options=("uplink", "downlink", "capacity_mbps"),
    samples="delays",
)
