"""Export to and import from files: their names and contents, and what a format cannot express."""

import json
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.configs.errors import InputError
from leogym.configs.output_file import whole_file
from leogym.configs.units import NS_PER_MS
from leogym.traces.formats import (
    announced,
    hypatia,
    irtt,
    leoem,
    leoreplayer,
    mahimahi,
    netem_trace,
    ping_log,
    probes,
    starlink_csv,
    wetlinks,
    writing,
)
from leogym.traces.formats import series as rows
from leogym.traces.formats.announced import NOTHING_TOLD, Told
from leogym.traces.formats.mahimahi import DIRECTIONS
from leogym.traces.formats.series import Series
from leogym.traces.path import cache

EXPORTS = ("mahimahi", "leoreplayer", "netem-trace")
PROBES = {"irtt": irtt.read, "ping": ping_log.read}
IMPORTS = ("leoem", "hypatia", "leoreplayer", "mahimahi", "starlink-csv", *PROBES, "wetlinks")
DEFAULT_SLOT_MS = 10  # of probes; LeoReplayer's
SIDECAR = "export.json"  # file in exported folders that describes them

_SHOWN_FAULTS = 20
_SHOWN_RANGES = 12
_FAULTS = {
    "below-floor": "legs to the ground below the physical floor, altitude over the speed of light",
    "frozen": "user legs that stand still although the satellites move",
    "off-grid": "handovers off the re-selection grid",
}


@dataclass(frozen=True)
class Options:
    """Options of an import, for what the file does not state."""

    uplink: Path | None = None
    downlink: Path | None = None
    delay_ms: float | None = None
    capacity_mbps: float = 100.0
    bin_ms: int | None = None
    columns: str | None = None
    told: Told = NOTHING_TOLD
    terminal_at: str = "to"  # the user's end, from which up and down are seen
    pings: Path | None = None  # WetLinks' net_ping.csv


def export(name_or_file: str, kind: str, out: Path) -> list[str]:
    """Write a path trace in another format into the folder ``out``, atomically.

    Returns:
        One line per written file.

    Raises:
        InputError: the trace cannot be read or expressed, or ``out`` is not empty or cannot be written.
    """
    path = cache.file(name_or_file)
    data = cache.read_bytes(path)
    trace = cache.parse(data, str(path))
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InputError(f"{out}: --out: must be a new or empty folder")
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".tmp", dir=out.parent))
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
    try:
        said = _write_folder(trace, str(path), name_or_file, kind, folder)
        folder.chmod(0o755)
        if out.exists():
            out.rmdir()
        folder.rename(out)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [f"{out / name}: {what}" for name, what in said.items()]


def _write_folder(
    trace: leosim.PathTrace, source: str, name_or_file: str, kind: str, folder: Path
) -> dict[str, str]:
    series = rows.from_trace(trace)
    said: dict[str, str] = {}
    lost: list[str] = []
    sidecar: dict[str, Any] = {
        "format": f"leogym-export-{kind}",
        "version": 1,
        "command": shlex.join(
            ["python", "-m", "traces", "export", name_or_file, "--format", kind, "--out", "DIR"]
        ),
        "trace": json.loads(trace.metadata),
        "trace_sha256": cache.sha256(name_or_file),
        "period_s": series.period_ns / 1e9,
    }
    if kind == "netem-trace":
        for direction in DIRECTIONS:
            with whole_file(folder / f"{direction}.bw.json") as file:
                spans = netem_trace.write_capacity(series, direction, file)
            said[f"{direction}.bw.json"] = f"BwTraceConfig, {spans} spans"
        said |= _netem_delays_and_losses(series, folder)
        lost.append("connected: an outage is a bandwidth of 0; path_id and events are left out")
        sidecar["offset_s"] = 0.0
    else:
        unit_ms = leoreplayer.INTERVAL_MS if kind == "leoreplayer" else 1
        mahimahi.check(series, source, unit_ms)
        offset_ns = mahimahi.starting_offset_ns(series, source)
        series = series.rotated(offset_ns)
        sidecar["offset_s"] = offset_ns / 1e9
        if offset_ns:
            lost.append(
                f"start: an outage lies across the end of the period, which needs an opportunity; "
                f"time 0 of these files is {offset_ns / 1e9:.9g} s into the trace"
            )
        links = mahimahi.repetition(series, unit_ms)
        if links.period_ns < series.period_ns:
            times = f"{series.period_ns // links.period_ns} times"
            lost.append(f"period: {links.period_ns / 1e9:g} s of links that never change, {times} the same")
        opportunities, size = mahimahi.size(links)
        with writing.progress(folder.parent, opportunities, size) as told:
            for direction in DIRECTIONS:
                with whole_file(folder / f"{direction}.txt") as file:
                    count = mahimahi.write(links, direction, file, told)
                mean_mbps = count * mahimahi.PACKET_BITS / (links.period_ns / 1e9) / 1e6
                sidecar[f"{direction}_opportunities"] = count
                sidecar[f"{direction}_mean_mbps"] = round(mean_mbps, 6)
                said[f"{direction}.txt"] = f"{count} opportunities, {mean_mbps:.3f} Mbit/s on average"
        lost.append("time: opportunities come in whole milliseconds, rounded up")
        lost.append("connected: an outage has no opportunity; path_id and events are left out")
        lost += _delay_sidecar(series, kind, folder, sidecar, said)
        lost += _mean_losses(series, sidecar)
        delay = f"mm-delay {sidecar['delay_ms']}"
        if kind == "leoreplayer":
            delay = f"mm-delay {leoreplayer.INTERVAL_MS} delay.txt"
        sidecar["run"] = f"{delay} mm-link uplink.txt downlink.txt -- COMMAND"
        sidecar["rates"] = "an opportunity is 1,504 bytes of mahimahi and 1,500 bytes of IP packet"
    sidecar["not_expressed"] = lost
    with whole_file(folder / SIDECAR) as file:
        file.write(json.dumps(sidecar, indent=1) + "\n")
    said[SIDECAR] = "; ".join(lost)
    return said


def _netem_delays_and_losses(series: Series, folder: Path) -> dict[str, str]:
    """Write delay and loss: one file of each if both directions have the same, else one per direction."""
    said = {}
    alike = {
        "delay": np.array_equal(series.up.delay_ns, series.down.delay_ns),
        "loss": np.array_equal(series.up.loss, series.down.loss),
    }
    for what, same in alike.items():
        for direction in DIRECTIONS[: 1 if same else 2]:
            name = f"{what}.json" if same else f"{direction}.{what}.json"
            with whole_file(folder / name) as file:
                if what == "delay":
                    spans = netem_trace.write_delay(series, direction, file)
                    said[name] = f"DelayTraceConfig, {spans} spans, one way"
                else:
                    said[name] = f"LossTraceConfig, {netem_trace.write_loss(series, direction, file)} spans"
    return said


def _mean_losses(series: Series, sidecar: dict[str, Any]) -> list[str]:
    """Write the mean loss of each direction into the sidecar; return a note on it."""
    lengths = series.end_ns - series.time_ns
    up, down = (float((way.loss * lengths).sum() / series.period_ns) for way in (series.up, series.down))
    if up == down:
        if not up:
            return []
        sidecar["mean_loss"] = up
        return [f"loss: {up:.6g} on average, left out: use mm-loss"]
    sidecar |= {"mean_up_loss": up, "mean_down_loss": down}
    return [f"loss: {up:.6g} up and {down:.6g} down on average, left out: use mm-loss uplink, downlink"]


def _median_ms(series: Series, delay_ns: NDArray[np.int64]) -> float:
    """Return the delay that at most half of the time is below, in ms."""
    order = np.argsort(delay_ns, kind="stable")
    half = int(np.searchsorted(np.cumsum((series.end_ns - series.time_ns)[order]), series.period_ns / 2))
    return int(delay_ns[order][half]) / NS_PER_MS


def _delay_sidecar(
    series: Series, kind: str, folder: Path, sidecar: dict[str, Any], said: dict[str, str]
) -> list[str]:
    """Write the delay as far as the format can express it; return notes on the rest."""
    # mm-delay takes whole milliseconds, the same both ways.
    sidecar["delay_ms"] = max(1, round(_median_ms(series, series.rtt_ns // 2)))
    apart = not np.array_equal(series.up.delay_ns, series.down.delay_ns)
    notes = []
    if apart:
        sidecar["up_delay_ms"], sidecar["down_delay_ms"] = (
            _median_ms(series, way.delay_ns) for way in (series.up, series.down)
        )
        notes.append(
            f"direction: the delay is {sidecar['up_delay_ms']:g} ms up and {sidecar['down_delay_ms']:g} ms "
            "down (medians); the format has half of the round trip's for both"
        )
    low, high = int(series.rtt_ns.min()) / 2 / NS_PER_MS, int(series.rtt_ns.max()) / 2 / NS_PER_MS
    if kind == "leoreplayer":
        with whole_file(folder / "delay.txt") as file:
            count = leoreplayer.write_delays(series, file)
        said["delay.txt"] = f"{count} delays of {leoreplayer.INTERVAL_MS} ms each, one way"
        return [f"delay: one-way, to the nearest ms at every {leoreplayer.INTERVAL_MS} ms", *notes]
    if low == high and low == sidecar["delay_ms"]:
        return notes
    return [
        f"delay: varies from {low:g} to {high:g} ms; mm-delay has one: {sidecar['delay_ms']} ms, the median",
        *notes,
    ]


def _folder_files(path: Path, names: tuple[str, ...]) -> dict[str, Path]:
    missing = [name for name in names if not (path / name).is_file()]
    if missing:
        raise InputError(f"{path}: file: has no {missing[0]}: not an exported folder")
    return {name: path / name for name in names}


def _sidecar(folder: Path) -> dict[str, Any]:
    path = folder / SIDECAR
    if not path.is_file():
        return {}
    try:
        found = json.loads(cache.read_bytes(path))
    except (ValueError, RecursionError):
        raise InputError(f"{path}: file: not JSON") from None
    return found if isinstance(found, dict) else {}


def _unrotated(series: Series, sidecar: dict[str, Any]) -> Series:
    """Undo the export's rotation of an outage across the wrap, to the resolution of the rows."""
    offset = sidecar.get("offset_s", 0)
    if not isinstance(offset, int | float) or not 0 <= offset < series.period_ns / 1e9:
        return series
    start_ns = series.period_ns - round(offset * 1e9)
    row = int(np.searchsorted(series.time_ns, start_ns, side="right")) - 1
    return series.rotated(int(series.time_ns[row])) if start_ns < series.period_ns else series


def read(
    path: Path, kind: str, options: Options
) -> tuple[Series, dict[str, Any], list[str], list[leoem.Fault]]:
    """Read another tool's file, or an exported folder.

    Returns:
        Rows, metadata, notes for the user, and LeoEM's faults.

    Raises:
        InputError: the file is not valid, or an option is missing.
    """
    notes: list[str] = []
    faults: list[leoem.Fault] = []
    extra: dict[str, Any] = {}
    bin_ms = options.bin_ms
    if kind == "leoem":
        series, seconds = leoem.read(path, options.capacity_mbps)
        extra = {
            "constellation": "starlink-leoem",
            "altitude_km": leoem.ALTITUDE_KM,
            "attach": "nearest",
        }
        announces, said = announced.of_changes(leoem.changes(seconds), options.told)
        extra |= announces
        notes += said
        faults = leoem.faults(seconds)
    elif kind == "hypatia":
        series = hypatia.read(path, options.capacity_mbps)
        extra = {"attach": "shortest"}
    elif kind == "leoreplayer":
        delay, uplink, downlink = path, options.uplink, options.downlink
        if path.is_dir():
            delay, uplink, downlink = _folder_files(
                path, ("delay.txt", "uplink.txt", "downlink.txt")
            ).values()
            series = _unrotated(
                leoreplayer.read(delay, uplink, downlink, options.capacity_mbps), _sidecar(path)
            )
        else:
            beside = path.with_name(path.name.replace("delay", "bw", 1))
            if uplink is None and downlink is None and beside != path and beside.is_file():
                uplink = downlink = beside
                notes.append(f"capacity of both directions from {beside}")
            series = leoreplayer.read(delay, uplink, downlink, options.capacity_mbps)
    elif kind == "mahimahi":
        series = _read_mahimahi(path, options, bin_ms or mahimahi.DEFAULT_BIN_MS, notes)
    elif kind in PROBES:
        series = _read_probes(path, kind, options, bin_ms or DEFAULT_SLOT_MS, notes)
        extra["terminal_at"] = options.terminal_at
    elif kind == "wetlinks":
        beside = path.with_name(wetlinks.PINGS)
        pings = options.pings or (beside if beside != path and beside.is_file() else None)
        series, said = wetlinks.read(path, pings, options.delay_ms)
        notes += [*said, f"the user is at {options.terminal_at!r}"]
        extra["terminal_at"] = options.terminal_at
    else:
        columns = starlink_csv.parse_mapping(options.columns) if options.columns else {}
        series, note = starlink_csv.read(
            path, columns, options.delay_ms, options.capacity_mbps, bin_ms or starlink_csv.DEFAULT_BIN_MS
        )
        notes.append(note)
        extra["terminal_at"] = options.terminal_at
        if "_mbps" in note:
            way = "from → to" if options.terminal_at == "to" else "to → from"
            notes.append(f"the user is at {options.terminal_at!r}: its download goes {way}")
    if extra.get("terminal_at") == "to":
        series = series.turned()
    series, raised = rows.without_overtaking(series)
    if raised:
        notes.append(
            f"{raised} of {len(series.time_ns)} delays raised so that no packet overtakes an earlier one"
        )
        extra["raised_delays"] = raised
    if kind != "leoem":
        exported = announced.of_export(_sidecar(path)) if path.is_dir() else {}
        told = options.told != NOTHING_TOLD
        announces, said = (
            announced.of_series(series, options.told) if told or not exported else (exported, [])
        )
        extra |= announces
        notes += said
    return series, extra, notes, faults


def _read_probes(path: Path, kind: str, options: Options, slot_ms: int, notes: list[str]) -> Series:
    found = PROBES[kind](path)
    slot_ns = slot_ms * NS_PER_MS
    series = probes.binned(found, slot_ns, options.capacity_mbps, str(path))
    series = leoreplayer.replayed(series, options.uplink, options.downlink, slot_ms)
    empty = len(series.time_ns) - len(np.unique(found.time_ns // slot_ns))
    outages = [out for _, out in probes.losses(found)]
    lost, out = int(found.lost.sum()), int((found.lost & (outages[0] | outages[1])).sum())
    notes.append(
        f"{len(found.lost)} probes, {lost} lost, {out} of them in outages; "
        f"{empty} of {len(series.time_ns)} slots of {slot_ms} ms have no probe"
    )
    return series


def _read_mahimahi(path: Path, options: Options, bin_ms: int, notes: list[str]) -> Series:
    if path.is_dir():
        uplink, downlink = _folder_files(path, ("uplink.txt", "downlink.txt")).values()
        sidecar = _sidecar(path)
    else:
        uplink, downlink = options.uplink or path, options.downlink or path
        sidecar = {}
    delays_ms = (options.delay_ms, options.delay_ms)
    if options.delay_ms is None:
        delays_ms = _exported_delays_ms(sidecar)
        if delays_ms[0] is not None:
            told = " up, ".join(f"{delay_ms:g}" for delay_ms in dict.fromkeys(delays_ms))
            notes.append(f"delay_ms: {told}{' down' * (delays_ms[0] != delays_ms[1])}, from {path / SIDECAR}")
    up_ms, down_ms = (_usable_ms(path, delay_ms) for delay_ms in delays_ms)
    series = mahimahi.read(uplink, downlink, (up_ms, down_ms), bin_ms)
    return _unrotated(_whole(series, sidecar), sidecar)


def _usable_ms(path: Path, delay_ms: float | None) -> float:
    if delay_ms is None or not 0 < delay_ms <= rows.MAX_DELAY_MS:
        raise InputError(f"{path}: delay_ms: mahimahi's traces have no delay: give --delay-ms, above 0")
    return delay_ms


def _exported_delays_ms(sidecar: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the delays up and down of the trace that an export came from, as far as it tells."""
    found = [sidecar.get(f"{way}_delay_ms", sidecar.get("delay_ms")) for way in ("up", "down")]
    up_ms, down_ms = (float(ms) if isinstance(ms, int | float) else None for ms in found)
    return up_ms, down_ms


def _whole(series: Series, sidecar: dict[str, Any]) -> Series:
    """Repeat the series to the period of the trace that it was exported from."""
    period_s = sidecar.get("period_s")
    if not isinstance(period_s, int | float) or not 0 < period_s <= rows.MAX_PERIOD_S:
        return series
    times, rest = divmod(round(period_s * 1e9), series.period_ns)
    return series if rest or times < 2 or times * len(series.time_ns) > rows.MAX_ROWS else series.tiled(times)


def line_ranges(lines: list[int], shown: int = _SHOWN_RANGES) -> str:
    """Format the first ``shown`` ranges of ascending line numbers, such as ``1-3, 7``."""
    ranges: list[list[int]] = []
    for line in lines:
        if ranges and line <= ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    return ", ".join(texts[:shown]) + (", …" if len(texts) > shown else "")


def fault_lines(faults: list[leoem.Fault], path: Path, listing: Path | None) -> list[str]:
    """Return a warning per kind of fault, with its lines, and the name of the file that lists them all."""
    warnings = []
    for kind, what in _FAULTS.items():
        found = [fault for fault in faults if fault.kind == kind]
        if found:
            first = found[0].rule
            lines = line_ranges([fault.line for fault in found], _SHOWN_RANGES if listing else len(found))
            warnings.append(f"{path}: {len(found)} rows with {what}: lines {lines}; the first: {first}")
    if listing is not None:
        warnings.append(f"{path}: {listing.name} lists all of them")
    return warnings


def import_file(path: Path, kind: str, options: Options, command: str, out: Path) -> tuple[str, list[str]]:
    """Convert another tool's file to a path trace.

    Returns:
        A summary and warnings.

    Raises:
        InputError: the file is not valid, or ``out`` cannot be written.
    """
    series, extra, notes, faults = read(path, kind, options)
    listing = out.with_name(f"{out.name}.faults.csv")
    long = len(faults) > _SHOWN_FAULTS
    warnings = [*notes, *fault_lines(faults, path, listing if long else None)]
    metadata = {
        "name": path.stem,
        "from": None,
        "to": None,
        "constellation": None,
        "step_ms": None,
        "command": command,
        "seed": 0,
        "provenance": f"imported from {path.name} ({kind})",
        "notes": warnings,
        **extra,
    }
    rows.write(series, metadata, out)
    if long:
        with whole_file(listing) as file:
            file.write("line,kind,field,rule\n")
            file.writelines(f'{fault.line},{fault.kind},{fault.field},"{fault.rule}"\n' for fault in faults)
    down_s = float((series.end_ns - series.time_ns)[~series.usable].sum()) / 1e9
    delays = np.concatenate([series.up.delay_ns, series.down.delay_ns]) / NS_PER_MS
    return (
        f"{out}: {len(series.time_ns)} rows over {series.period_ns / 1e9:g} s, "
        f"delay {delays.min():.3f} to {delays.max():.3f} ms, down for {down_s:.3f} s"
    ), warnings
