"""LeoReplayer's pairs of a delay and a bandwidth trace (LeoCC), a fork of mahimahi with a delay that changes.

Facts of the format (SpaceNetLab/LeoCC, commit 867e673): the delay file has one integer a line, the one-way
delay in ms for one interval of 10 ms; it starts over after its last line and serves both directions.
Bandwidth files are mahimahi traces. LeoReplayer lets packets overtake each other when the delay falls.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from configs.errors import InputError
from traces.formats import mahimahi
from traces.formats import series as rows
from traces.formats.series import NS_PER_MS, Series
from traces.formats.source import Source

INTERVAL_MS = 10
_MAX_DELAY_MS = int(rows.MAX_DELAY_MS)


def delays_ms(series: Series) -> NDArray[np.int64]:
    """Return the delay at the start of each interval, to the nearest millisecond.

    LeoReplayer lets packets overtake when the delay falls faster than time runs, so a delay that would fall
    faster between two samples is raised to what does not.
    """
    start_ns = np.arange(0, series.period_ns, INTERVAL_MS * NS_PER_MS, dtype=np.int64)
    row = np.searchsorted(series.time_ns, start_ns, side="right") - 1
    nearest_ms = (series.delay_ns[row] + NS_PER_MS // 2) // NS_PER_MS
    start_ms = start_ns // NS_PER_MS
    return np.maximum.accumulate(start_ms + nearest_ms) - start_ms


def write_delays(series: Series, file: IO[str]) -> int:
    """Write the delay file; return its number of intervals."""
    delays = delays_ms(series)
    file.write("\n".join(map(str, delays.tolist())) + "\n")
    return len(delays)


def read_delays_ms(path: Path) -> NDArray[np.int64]:
    """Return the delay of each interval, in ms.

    Raises:
        InputError: file, line and the rule that is broken.
    """
    source = Source(path)
    delays = []
    for number, line in source.lines():
        delays.append(source.integer(number, "delay_ms", line.strip(), 0, _MAX_DELAY_MS))
        if len(delays) > rows.MAX_ROWS:
            raise source.error(number, "file", f"more than {rows.MAX_ROWS} rows")
    return np.array(delays, dtype=np.int64)


def read(delay: Path, uplink: Path | None, downlink: Path | None, capacity_mbps: float) -> Series:
    """Return the rows of a delay file and two bandwidth files, one row an interval.

    Bandwidth traces replay on their own; one of another length than the delays is cut or starts over. Without
    them the capacity is constant. A delay of 0 ms becomes a nanosecond, for path traces have none of 0.

    Raises:
        InputError: file, line and the rule that is broken.
    """
    delay_ms = read_delays_ms(delay)
    time_ns = np.arange(len(delay_ms), dtype=np.int64) * INTERVAL_MS * NS_PER_MS
    period_ns = len(delay_ms) * INTERVAL_MS * NS_PER_MS
    series = rows.constant(time_ns, period_ns, delay_ms * NS_PER_MS, capacity_mbps)
    for path, capacity in ((uplink, series.uplink_bps), (downlink, series.downlink_bps)):
        if path is not None:
            capacity[:] = _replayed_bps(path, len(delay_ms))
    return series


def _replayed_bps(path: Path, intervals: int) -> NDArray[np.int64]:
    opportunity_ms = mahimahi.read_ms(path)
    period_ms, wanted_ms = int(opportunity_ms[-1]), intervals * INTERVAL_MS
    rounds = -(-wanted_ms // period_ms)
    if rounds * len(opportunity_ms) > 1 << 28:
        raise InputError(f"{path}: period: {period_ms} ms are too short against the delays' {wanted_ms} ms")
    if period_ms != wanted_ms:
        # Time 0 is the round's end, where another round follows.
        first = np.where(opportunity_ms == 0, period_ms, opportunity_ms)
        repeated = np.concatenate([first + index * period_ms for index in range(rounds)])
        opportunity_ms = repeated[repeated <= wanted_ms]
    return mahimahi.capacity_bps(opportunity_ms, wanted_ms, INTERVAL_MS)
