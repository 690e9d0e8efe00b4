"""Export path traces as folders in other tools' formats, with a sidecar of what a format cannot express."""

import json
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.common.output_file import whole_file
from leogym.common.units import NS_PER_MS
from leogym.traces.formats import leoreplayer, mahimahi, netem_trace, writing
from leogym.traces.formats import series as rows
from leogym.traces.formats.mahimahi import DIRECTIONS
from leogym.traces.formats.series import Series
from leogym.traces.path import cache

EXPORTS = ("mahimahi", "leoreplayer", "netem-trace")
SIDECAR = "export.json"  # file in exported folders that describes them


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
