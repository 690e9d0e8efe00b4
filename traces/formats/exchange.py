"""Import other tools' files as path traces: their names and contents, and notes for the user."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leogym.common.errors import InputError
from leogym.common.output_file import whole_file
from leogym.common.units import NS_PER_MS
from leogym.traces.formats import (
    announced,
    hypatia,
    irtt,
    leoem,
    leoreplayer,
    mahimahi,
    ping_log,
    plausible,
    probes,
    starlink_csv,
    wetlinks,
)
from leogym.traces.formats import series as rows
from leogym.traces.formats.announced import NOTHING_TOLD, Told
from leogym.traces.formats.exporting import SIDECAR
from leogym.traces.formats.probes import Probes
from leogym.traces.formats.series import Series
from leogym.traces.formats.tally import Tally
from leogym.traces.path import cache

PROBES = {"irtt": irtt.read, "ping": ping_log.read}
IMPORTS = ("leoem", "hypatia", "leoreplayer", "mahimahi", "starlink-csv", *PROBES, "wetlinks")
DEFAULT_SLOT_MS = 10  # of probes; LeoReplayer's

_SAMPLES = {"irtt": "probes", "ping": "probes", "wetlinks": "seconds", "leoreplayer": "delays"}
_ALTITUDES_KM = {"starlink-csv": plausible.STARLINK_KM, "wetlinks": plausible.STARLINK_KM}
"""Lowest satellites of formats that name the constellation."""
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
    altitude_km: float | None = None  # of the lowest satellite; by default that of the format


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
    tally = Tally(_SAMPLES.get(kind, "samples"))
    altitude_km = _ALTITUDES_KM.get(kind, 0.0) if options.altitude_km is None else options.altitude_km
    floor_ns = plausible.least_rtt_ns(altitude_km)
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
            series = leoreplayer.read(delay, uplink, downlink, options.capacity_mbps, tally, exported=True)
            series = _unrotated(series, _sidecar(path))
        else:
            beside = path.with_name(path.name.replace("delay", "bw", 1))
            if uplink is None and downlink is None and beside != path and beside.is_file():
                uplink = downlink = beside
                notes.append(f"capacity of both directions from {beside}")
            series = leoreplayer.read(delay, uplink, downlink, options.capacity_mbps, tally)
    elif kind == "mahimahi":
        series = _read_mahimahi(path, options, bin_ms or mahimahi.DEFAULT_BIN_MS, notes, tally)
    elif kind in PROBES:
        probed = PROBES[kind](path, tally, floor_ns)
        series = _of_probes(path, probed, options, bin_ms or DEFAULT_SLOT_MS, notes, tally)
        extra["terminal_at"] = options.terminal_at
    elif kind == "wetlinks":
        beside = path.with_name(wetlinks.PINGS)
        pings = options.pings or (beside if beside != path and beside.is_file() else None)
        series, said = wetlinks.read(path, pings, options.delay_ms, tally, floor_ns)
        notes += [*said, f"the user is at {options.terminal_at!r}"]
        extra["terminal_at"] = options.terminal_at
    else:
        columns = starlink_csv.parse_mapping(options.columns) if options.columns else {}
        series, note = starlink_csv.read(
            path,
            columns,
            options.delay_ms,
            options.capacity_mbps,
            bin_ms or starlink_csv.DEFAULT_BIN_MS,
            tally=tally,
            floor_ns=floor_ns,
        )
        notes.append(note)
        extra["terminal_at"] = options.terminal_at
        if "_mbps" in note:
            way = "from → to" if options.terminal_at == "to" else "to → from"
            notes.append(f"the user is at {options.terminal_at!r}: its download goes {way}")
    notes += tally.notes(path)
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


def _of_probes(
    path: Path, measured: Probes, options: Options, slot_ms: int, notes: list[str], tally: Tally
) -> Series:
    slot_ns = slot_ms * NS_PER_MS
    series = probes.binned(measured, slot_ns, options.capacity_mbps, str(path))
    series = leoreplayer.replayed(series, options.uplink, options.downlink, slot_ms, tally)
    empty = len(series.time_ns) - len(np.unique(measured.time_ns // slot_ns))
    outages = [out for _, out in probes.losses(measured)]
    lost, out = int(measured.lost.sum()), int((measured.lost & (outages[0] | outages[1])).sum())
    notes.append(
        f"{len(measured.lost)} probes, {lost} lost, {out} of them in outages; "
        f"{empty} of {len(series.time_ns)} slots of {slot_ms} ms have no probe"
    )
    return series


def _read_mahimahi(path: Path, options: Options, bin_ms: int, notes: list[str], tally: Tally) -> Series:
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
            shown = " up, ".join(f"{delay_ms:g}" for delay_ms in dict.fromkeys(delays_ms))
            notes.append(
                f"delay_ms: {shown}{' down' * (delays_ms[0] != delays_ms[1])}, from {path / SIDECAR}"
            )
    up_ms, down_ms = (_usable_ms(path, delay_ms) for delay_ms in delays_ms)
    series = mahimahi.read(uplink, downlink, (up_ms, down_ms), bin_ms, tally)
    return _unrotated(_whole(series, sidecar), sidecar)


def _usable_ms(path: Path, delay_ms: float | None) -> float:
    if delay_ms is None or not 0 < delay_ms <= rows.MAX_DELAY_MS:
        raise InputError(f"{path}: delay_ms: mahimahi's traces have no delay: give --delay-ms, above 0")
    return delay_ms


def _exported_delays_ms(sidecar: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the delays up and down of the trace that an export came from, as far as it tells."""
    values = [sidecar.get(f"{way}_delay_ms", sidecar.get("delay_ms")) for way in ("up", "down")]
    up_ms, down_ms = (float(ms) if isinstance(ms, int | float) else None for ms in values)
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
