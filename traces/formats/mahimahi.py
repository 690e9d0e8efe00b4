"""Mahimahi's link traces: one delivery opportunity per line, in milliseconds.

Format (mahimahi's mm-link, commit ae477d4): lines are non-negative integers that never decrease. Each is an
opportunity to deliver a frame of 1,504 bytes, that is, an IP packet of 1,500 bytes and four bytes of tunnel
header. Unused opportunities are lost. The trace repeats after the last line, whose time is the period, so
time 0 and the period are the same moment. Every trace therefore needs an opportunity at its very end, even
during an outage.
"""

import json
import math
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.common.output_file import whole_file
from leogym.common.progress import Progress
from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.formats import series as rows
from leogym.traces.formats.format import Export, Format, Import, exported_files
from leogym.traces.formats.series import Series
from leogym.traces.formats.source import Source
from leogym.traces.formats.tally import Tally
from leogym.traces.path import cache

PACKET_BITS = 12_000  # bits of an opportunity that count as capacity: an IP packet of 1,500 bytes

DIRECTIONS = ("uplink", "downlink")
SIDECAR = "export.json"  # file in exported folders that describes them
SIZE_REPORTED_BYTES = 10_000_000  # smaller exports are fast, and report nothing
MAX_PERIOD_MS = round(rows.MAX_PERIOD_S * 1000)
MAX_OPPORTUNITIES = 1 << 29  # a day at 70 Mbit/s. Mahimahi keeps all of them in memory.
MAX_REPEATED = 1 << 28  # opportunities of a trace that is repeated to another's length
COMMON_PERIOD_MS = 3_600_000  # longer multiples of two periods are not worth their rows

# An opportunity in bit/s × ns.
_OPPORTUNITY = PACKET_BITS * NS_PER_S
_CHUNK_NS = NS_PER_S
_INT64_MAX = 2**63 - 1


def starting_offset_ns(series: Series, source: str) -> int:
    """Return the start of the exported period, in ns into the trace: 0 unless an outage spans the wrap.

    The period ends with an opportunity, which must not fall into an outage. The export then starts where the
    outage ends.

    Raises:
        InputError: a direction never has capacity, or there is no time at which both have it.
    """
    has = {direction: series.capacity_bps(direction) > 0 for direction in DIRECTIONS}
    for direction, capacity in has.items():
        if not capacity.any():
            raise InputError(f"{source}: {direction}_mbps: is never above 0: mahimahi has no such trace")
    if all(capacity[0] or capacity[-1] for capacity in has.values()):
        return 0
    both = has["uplink"] & has["downlink"]
    if not both.any():
        raise InputError(f"{source}: uplink_mbps: is never above 0 while downlink_mbps is")
    return int(series.time_ns[int(np.argmax(both))])


def opportunities_ms(series: Series, direction: str) -> Iterator[NDArray[np.int64]]:
    """Yield the delivery opportunities of ``direction`` in ascending order, in pieces.

    Capacity accumulates exactly. An opportunity comes, rounded up to a millisecond, whenever a whole packet
    has accumulated. The period has the nearest whole number of packets, at least one, and the last is at its
    end: if the last rows have no capacity, this is the first packet of the next round.

    Args:
        series: with a period in whole milliseconds, and capacity at its start or its end.
        direction: ``uplink`` or ``downlink``.
    """
    capacity = series.capacity_bps(direction)
    period_ms = series.period_ns // NS_PER_MS
    lengths = (series.end_ns - series.time_ns).tolist()
    total = sum(bps * length for bps, length in zip(capacity.tolist(), lengths, strict=True))
    count = max(1, (2 * total + _OPPORTUNITY) // (2 * _OPPORTUNITY))
    # The initial credit rounds the total to whole packets.
    credit = count * _OPPORTUNITY - total
    ends_with_capacity = bool(capacity[-1])
    # The last packet always comes at the very end.
    remaining = count - 1
    if not ends_with_capacity:
        # It is the packet at time 0 of the next round; the others follow at whole packets.
        credit = 0
    for start_ns, bps, length in zip(series.time_ns.tolist(), capacity.tolist(), lengths, strict=True):
        if bps == 0:
            continue
        step = max(1, min(_CHUNK_NS, _INT64_MAX // bps - 1))
        for at in range(0, length, step):
            span = min(step, length - at)
            gained = credit + bps * span
            due = min(gained // _OPPORTUNITY, remaining) if gained > 0 else 0
            if due > 0:
                need = np.arange(1, due + 1, dtype=np.int64) * _OPPORTUNITY - credit
                after_ns = -(-need // bps)
                time_ns = start_ns + at + np.maximum(after_ns, 0)
                yield np.minimum(np.maximum(-(-time_ns // NS_PER_MS), 1), period_ms)
            remaining -= due
            credit = gained - due * _OPPORTUNITY
    # Rounding up can leave some packets for the end.
    yield np.full(remaining + 1, period_ms, dtype=np.int64)


def write(
    series: Series, direction: str, file: IO[str], advance: Callable[[int], None] = lambda _: None
) -> int:
    """Write a direction's trace, and pass the size of each piece to ``advance``; return the sum of sizes."""
    count = 0
    for piece in opportunities_ms(series, direction):
        file.write("\n".join(map(str, piece.tolist())) + "\n")
        count += len(piece)
        advance(len(piece))
    return count


def size(series: Series) -> tuple[int, int]:
    """Estimate the number of opportunities and bytes of both directions' traces."""
    ends_ms = np.maximum(series.end_ns // NS_PER_MS, 1)
    line_bytes = np.floor(np.log10(ends_ms)) + 2
    lengths_s = (series.end_ns - series.time_ns) / NS_PER_S
    packets = sum(series.capacity_bps(direction) * lengths_s / PACKET_BITS for direction in DIRECTIONS)
    return round(float(np.sum(packets))), round(float(np.sum(packets * line_bytes)))


def repetition(series: Series, unit_ms: int = 1) -> Series:
    """Return the shortest series of a second or more that repeats to exactly ``series``, or ``series``.

    Mahimahi repeats traces, so a constant link needs only as many packets as fill whole milliseconds in both
    directions. Delay and loss are not in these files.
    """
    capacities = [series.capacity_bps(direction) for direction in DIRECTIONS]
    if any((capacity != capacity[0]).any() for capacity in capacities):
        return series
    # A packet in bit/s × ms.
    packet = PACKET_BITS * 1000
    whole_ms = math.lcm(unit_ms, *(packet // math.gcd(int(capacity[0]), packet) for capacity in capacities))
    period_ms = series.period_ns // NS_PER_MS
    if period_ms % whole_ms:
        return series
    pieces = period_ms // whole_ms
    least = -(-1000 // whole_ms)
    times = next((times for times in range(least, pieces) if pieces % times == 0), pieces)
    if times == pieces:
        return series
    first = np.zeros(1, dtype=np.int64)
    return Series(
        times * whole_ms * NS_PER_MS,
        series.time_ns[first],
        series.up.at(first),
        series.down.at(first),
        series.path_id[first],
        series.event[:1],
    )


def check(series: Series, source: str, unit_ms: int = 1) -> None:
    """Raise InputError if the format cannot express the series.

    The period must be a multiple of ``unit_ms``, or replay drifts away from the trace, and there must be at
    most `MAX_OPPORTUNITIES`.
    """
    seconds = (series.end_ns - series.time_ns) / 1e9
    for direction in DIRECTIONS:
        packets = float((series.capacity_bps(direction) * seconds).sum()) / PACKET_BITS
        if packets > MAX_OPPORTUNITIES:
            raise InputError(
                f"{source}: {direction}_mbps: {packets:.3g} packets a period are more than "
                f"{MAX_OPPORTUNITIES} opportunities"
            )
    if series.period_ns % (unit_ms * NS_PER_MS):
        raise InputError(
            f"{source}: time_s: the period, {series.period_ns / 1e9:g} s, must be a multiple of {unit_ms} ms"
        )


def read_ms(path: Path) -> NDArray[np.int64]:
    """Read a trace's opportunities, in ms; raise InputError with line and rule if the file is not valid."""
    source, pieces, piece, last, number = Source(path), [], [], 0, 0
    for number, line in source.rows():
        value = source.integer(number, "opportunity", line.strip(), 0, MAX_PERIOD_MS)
        if value < last:
            raise source.error(number, "opportunity", f"{value} ms is before the line above, {last} ms")
        last = value
        piece.append(value)
        if len(piece) == 1 << 16:
            pieces.append(np.array(piece, dtype=np.int64))
            piece = []
    if last == 0:
        raise source.error(number, "opportunity", "the last one ends the period and must be above 0 ms")
    return np.concatenate([*pieces, np.array(piece, dtype=np.int64)])


def capacity_bps(opportunity_ms: NDArray[np.int64], period_ms: int, bin_ms: int) -> NDArray[np.int64]:
    """Return the mean capacity in bins of ``bin_ms``; the last bin may be shorter.

    The opportunity at ``t`` counts for the millisecond that ends at ``t``, one at 0 for the period's last.
    """
    bins = -(-period_ms // bin_ms)
    index = np.where(opportunity_ms == 0, period_ms, opportunity_ms) - 1
    counts = np.bincount(index // bin_ms, minlength=bins)
    length_ms = np.full(bins, bin_ms)
    length_ms[-1] = period_ms - (bins - 1) * bin_ms
    return np.round(counts * PACKET_BITS * 1000 / length_ms).astype(np.int64)


def repeated_ms(opportunity_ms: NDArray[np.int64], period_ms: int) -> NDArray[np.int64]:
    """Return the opportunities of ``period_ms``, as mahimahi repeats a trace: cut or repeated to fit."""
    own_ms = int(opportunity_ms[-1])
    if own_ms == period_ms:
        return opportunity_ms
    # Time 0 is the end of the previous round.
    first = np.where(opportunity_ms == 0, own_ms, opportunity_ms)
    rounds = -(-period_ms // own_ms)
    repeated = np.concatenate([first + index * own_ms for index in range(rounds)])
    return repeated[repeated <= period_ms]


def _common_period_ms(uplink: Path, downlink: Path, periods_ms: tuple[int, int], tally: Tally) -> int:
    """Return the period of both directions; mahimahi repeats each on its own."""
    up_ms, down_ms = periods_ms
    if up_ms == down_ms:
        return up_ms
    common_ms, longer_ms = math.lcm(up_ms, down_ms), max(up_ms, down_ms)
    periods = f"period: {up_ms} ms up and {down_ms} ms down"
    if common_ms <= max(COMMON_PERIOD_MS, longer_ms):
        tally.remark(f"{periods}: both are repeated to {common_ms} ms, as mm-link does")
        return common_ms
    shorter, longer = (downlink, uplink) if up_ms > down_ms else (uplink, downlink)
    tally.remark(
        f"{periods}: {shorter} is repeated and cut to the {longer_ms} ms of {longer}; then both start over, "
        "while mm-link repeats each on its own"
    )
    return longer_ms


def read(
    uplink: Path,
    downlink: Path,
    delay_ms: tuple[float, float],
    bin_ms: int = 100,
    tally: Tally | None = None,
) -> Series:
    """Read a pair of traces as rows of ``bin_ms`` with a constant delay up and down.

    A bin without opportunities has capacity 0 and is connected, because the trace does not state the cause.
    Traces of different periods are repeated to a common one of at most `COMMON_PERIOD_MS`, or else to the
    longer one; ``tally`` gets a remark.

    Raises:
        InputError: a file is not valid, or too short for the other one's period.
    """
    tally = Tally("opportunities") if tally is None else tally
    traces = {uplink: read_ms(uplink)}
    traces.setdefault(downlink, traces[uplink] if downlink == uplink else read_ms(downlink))
    periods_ms = int(traces[uplink][-1]), int(traces[downlink][-1])
    period_ms = _common_period_ms(uplink, downlink, periods_ms, tally)
    for path, trace in traces.items():
        if -(-period_ms // int(trace[-1])) * len(trace) > MAX_REPEATED:
            raise InputError(f"{path}: period: {trace[-1]} ms is too short for the other's {period_ms} ms")
    traces = {path: repeated_ms(trace, period_ms) for path, trace in traces.items()}
    if period_ms // bin_ms > rows.MAX_ROWS:
        raise InputError(
            f"{uplink}: period: {period_ms} ms are more than {rows.MAX_ROWS} bins of {bin_ms} ms"
        )
    time_ns = np.arange(0, period_ms, bin_ms, dtype=np.int64) * NS_PER_MS
    series = rows.constant(time_ns, period_ms * NS_PER_MS, np.ones(len(time_ns), dtype=np.int64), 0)
    up, down = (
        replace(
            series.up,
            delay_ns=np.full(len(time_ns), round(one_way_ms * NS_PER_MS)),
            bps=capacity_bps(traces[path], period_ms, bin_ms),
        )
        for path, one_way_ms in zip((uplink, downlink), delay_ms, strict=True)
    )
    return replace(series, up=up, down=down)


def read_sidecar(folder: Path) -> dict[str, Any]:
    """Return what an export noted in its folder, or an empty dictionary."""
    path = folder / SIDECAR
    if not path.is_file():
        return {}
    try:
        sidecar = json.loads(cache.read_bytes(path))
    except (ValueError, RecursionError):
        raise InputError(f"{path}: file: not JSON") from None
    return sidecar if isinstance(sidecar, dict) else {}


def unrotated(series: Series, sidecar: dict[str, Any]) -> Series:
    """Undo the export's rotation of an outage across the wrap, to the resolution of the rows."""
    offset = sidecar.get("offset_s", 0)
    if not isinstance(offset, int | float) or not 0 <= offset < series.period_ns / 1e9:
        return series
    start_ns = series.period_ns - round(offset * 1e9)
    row = int(np.searchsorted(series.time_ns, start_ns, side="right")) - 1
    return series.rotated(int(series.time_ns[row])) if start_ns < series.period_ns else series


def _exported_delays_ms(sidecar: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the delays up and down of the trace that an export came from, if the sidecar has them."""
    values = [sidecar.get(f"{way}_delay_ms", sidecar.get("delay_ms")) for way in ("up", "down")]
    up_ms, down_ms = (float(ms) if isinstance(ms, int | float) else None for ms in values)
    return up_ms, down_ms


def _whole_period(series: Series, sidecar: dict[str, Any]) -> Series:
    """Repeat the series to the period of the trace that it was exported from."""
    period_s = sidecar.get("period_s")
    if not isinstance(period_s, int | float) or not 0 < period_s <= rows.MAX_PERIOD_S:
        return series
    count, remainder_ns = divmod(round(period_s * 1e9), series.period_ns)
    if remainder_ns or count < 2 or count * len(series.time_ns) > rows.MAX_ROWS:
        return series
    return series.tiled(count)


def _import(job: Import) -> Series:
    path, options = job.path, job.options
    if path.is_dir():
        uplink, downlink = exported_files(path, ("uplink.txt", "downlink.txt"))
        sidecar = read_sidecar(path)
    else:
        uplink, downlink, sidecar = options.uplink or path, options.downlink or path, {}
    delays_ms = (options.delay_ms, options.delay_ms)
    if options.delay_ms is None:
        delays_ms = _exported_delays_ms(sidecar)
        if delays_ms[0] is not None:
            both = " up, ".join(f"{delay_ms:g}" for delay_ms in dict.fromkeys(delays_ms))
            down = " down" * (delays_ms[0] != delays_ms[1])
            job.notes.append(f"delay_ms: {both}{down}, from {path / SIDECAR}")
    up_ms, down_ms = (ms if ms is not None and 0 < ms <= rows.MAX_DELAY_MS else None for ms in delays_ms)
    if up_ms is None or down_ms is None:
        raise InputError(f"{path}: delay_ms: mahimahi's traces have no delay: give --delay-ms, above 0")
    series = read(uplink, downlink, (up_ms, down_ms), job.bin_ms, job.tally)
    return unrotated(_whole_period(series, sidecar), sidecar)


@contextmanager
def _progress(folder: Path, lines: int, size_bytes: int) -> Iterator[Callable[[int], None]]:
    """Print the estimated size of a large export on standard error; yield a callback for its progress.

    The callback takes the number of lines just written. Raises InputError if the disk has too little space.
    """
    if size_bytes < SIZE_REPORTED_BYTES:
        yield lambda _: None
        return
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < size_bytes:
        raise InputError(
            f"{folder}: --out: needs about {size_bytes / 1e6:,.0f} MB and has {free_bytes / 1e6:,.0f} MB free"
        )
    size = f"writing about {size_bytes / 1e6:,.0f} MB: {lines / 1e6:,.1f} million opportunities"
    print(size, file=sys.stderr, flush=True)
    with Progress("writing", lines, quiet_s=0.0) as progress:
        yield progress.advance


def _median_ms(series: Series, delay_ns: NDArray[np.int64]) -> float:
    """Return the delay that at most half of the time is below, in ms."""
    order = np.argsort(delay_ns, kind="stable")
    half = int(np.searchsorted(np.cumsum((series.end_ns - series.time_ns)[order]), series.period_ns / 2))
    return int(delay_ns[order][half]) / NS_PER_MS


def _note_losses(job: Export) -> None:
    lengths = job.series.end_ns - job.series.time_ns
    up, down = (
        float((way.loss * lengths).sum() / job.series.period_ns) for way in (job.series.up, job.series.down)
    )
    if up != down:
        job.sidecar |= {"mean_up_loss": up, "mean_down_loss": down}
        job.not_expressed.append(
            f"loss: {up:.6g} up and {down:.6g} down on average, left out: use mm-loss uplink, downlink"
        )
    elif up:
        job.sidecar["mean_loss"] = up
        job.not_expressed.append(f"loss: {up:.6g} on average, left out: use mm-loss")


def write_links(job: Export, unit_ms: int, note_delay: Callable[[Export], str], shells: str) -> None:
    """Write both directions' traces; note in the sidecar the delay and loss, which they cannot express.

    Args:
        job: the export; its series is rotated to a start at which both directions have capacity.
        unit_ms: the period must be a multiple of it.
        note_delay: writes the delay, and returns a note on it; empty if it is exact.
        shells: mahimahi's shells that replay the delay; ``{delay_ms}`` is the median.
    """
    check(job.series, job.source, unit_ms)
    offset_ns = starting_offset_ns(job.series, job.source)
    job.series = series = job.series.rotated(offset_ns)
    job.sidecar["offset_s"] = offset_ns / 1e9
    if offset_ns:
        job.not_expressed.append(
            f"start: an outage lies across the end of the period, which needs an opportunity; "
            f"time 0 of these files is {offset_ns / 1e9:.9g} s into the trace"
        )
    links = repetition(series, unit_ms)
    if links.period_ns < series.period_ns:
        times = f"{series.period_ns // links.period_ns} times"
        job.not_expressed.append(
            f"period: {links.period_ns / 1e9:g} s of links that never change, {times} the same"
        )
    with _progress(job.folder.parent, *size(links)) as advance:
        for direction in DIRECTIONS:
            with whole_file(job.folder / f"{direction}.txt") as file:
                count = write(links, direction, file, advance)
            mean_mbps = count * PACKET_BITS / (links.period_ns / 1e9) / 1e6
            job.sidecar[f"{direction}_opportunities"] = count
            job.sidecar[f"{direction}_mean_mbps"] = round(mean_mbps, 6)
            job.contents[f"{direction}.txt"] = f"{count} opportunities, {mean_mbps:.3f} Mbit/s on average"
    # mm-delay takes whole milliseconds, the same both ways.
    job.sidecar["delay_ms"] = max(1, round(_median_ms(series, series.rtt_ns // 2)))
    job.not_expressed += [
        "time: opportunities come in whole milliseconds, rounded up",
        "connected: an outage has no opportunity; path_id and events are left out",
        *filter(None, [note_delay(job)]),
    ]
    if not np.array_equal(series.up.delay_ns, series.down.delay_ns):
        up_ms, down_ms = (_median_ms(series, way.delay_ns) for way in (series.up, series.down))
        job.sidecar |= {"up_delay_ms": up_ms, "down_delay_ms": down_ms}
        job.not_expressed.append(
            f"direction: the delay is {up_ms:g} ms up and {down_ms:g} ms down (medians); "
            "the format has half of the round trip's for both"
        )
    _note_losses(job)
    delay_shell = shells.format(delay_ms=job.sidecar["delay_ms"])
    job.sidecar["run"] = f"{delay_shell} mm-link uplink.txt downlink.txt -- COMMAND"
    job.sidecar["rates"] = "an opportunity is 1,504 bytes of mahimahi and 1,500 bytes of IP packet"


def _note_delay(job: Export) -> str:
    low, high = (int(rtt_ns) / 2 / NS_PER_MS for rtt_ns in (job.series.rtt_ns.min(), job.series.rtt_ns.max()))
    delay_ms = job.sidecar["delay_ms"]
    if low == high == delay_ms:
        return ""
    return f"delay: varies from {low:g} to {high:g} ms; mm-delay has one: {delay_ms} ms, the median"


FORMAT = Format(
    "mahimahi",
    "packet delivery times, as mm-link takes them",
    (".txt",),
    read=_import,
    write=lambda job: write_links(job, 1, _note_delay, "mm-delay {delay_ms}"),
    options=("uplink", "downlink", "delay_ms", "bin_ms"),
)
