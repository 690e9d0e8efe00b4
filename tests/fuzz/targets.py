"""Fuzz targets: every parser of user input, with a few valid inputs each.

Any input must parse or raise a one-line InputError, within limited time.
"""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import leosim

from leogym.common import text_file
from leogym.common.errors import InputError
from leogym.configs import scenario
from leogym.traces.capacity import terminal
from leogym.traces.formats import (
    hypatia,
    irtt,
    leoem,
    leoreplayer,
    mahimahi,
    netem_trace,
    ping_log,
    probes,
    series,
    starlink_csv,
    wetlinks,
)
from leogym.traces.orbit import catalogue, tle
from leogym.traces.orbit.flown import flight, own_epoch
from leogym.traces.path import cache, physics
from tests.support import catalogues

ROOT = Path(__file__).resolve().parents[2]
_FIXTURE = ROOT / "core" / "control" / "tests" / "fixtures" / "perceptron"
SEEDS = Path(__file__).with_name("seeds")
_MAX_RUN_S = 0.05


class Target(NamedTuple):
    parse: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


def _path_trace(data: bytes) -> None:
    trace = cache.parse(data, "x.csv")
    physics.check(trace, "x.csv")
    rows = series.from_trace(trace)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        for direction in mahimahi.DIRECTIONS:
            netem_trace.write_spans(nowhere, rows, rows.way(direction).delay_ns, *netem_trace.DELAY)
        mahimahi.check(rows, "x.csv")
        turned = rows.rotated(mahimahi.starting_offset_ns(rows, "x.csv"))
        if turned.period_ns < 10**10 and int(turned.up.bps.max()) < 10**9:
            mahimahi.write(turned, "uplink", nowhere)


def _file(read: Callable[[Path], object]) -> Callable[[bytes], object]:
    def parse(data: bytes) -> object:
        with tempfile.TemporaryDirectory(prefix="leogym-fuzz-") as folder:
            path = Path(folder) / "input"
            path.write_bytes(data)
            return read(path)

    return parse


def _leoem(path: Path) -> None:
    rows, seconds = leoem.read(path, 100.0)
    leoem.faults(seconds)
    series.without_overtaking(rows)


def _mahimahi(path: Path) -> None:
    # Bins of a minute: a trace may last for months.
    mahimahi.read(path, path, (20.0, 15.0), bin_ms=60_000)


def _probes(read: Callable[[Path], probes.Probes]) -> Callable[[Path], None]:
    def parse(path: Path) -> None:
        value = read(path)
        # A few slots: a log may last for months.
        probes.binned(value, max(1, int(value.time_ns[-1]) // 1000), 100.0, "x")

    return parse


def _wetlinks(path: Path) -> None:
    # Seconds and pings in one file, apart by an empty line.
    seconds, _, pings = path.read_bytes().partition(b"\n\n")
    path.write_bytes(seconds)
    other = path.with_name("pings")
    other.write_bytes(pings)
    wetlinks.read(path, other, None)


def _catalogue(data: bytes) -> None:
    satellites = catalogue.parse(text_file.decode(data, "x"), "x")
    if satellites is not None:
        flight(satellites, "x", own_epoch(satellites), 0.0, 100.0)


def _scenario(data: bytes) -> None:
    try:
        text = data.decode("utf-8")
        value = json.loads(text)
    except (ValueError, RecursionError):
        text, value = data.decode("utf-8", "replace"), None
    refused = None
    try:
        scenario.parse(value, "x.json")
    except InputError as error:
        refused = error
    duration_s = value.get("duration_s") if isinstance(value, dict) else None
    # The core parses only when it runs: pass invalid or short scenarios.
    if not isinstance(duration_s, int | float) or duration_s <= _MAX_RUN_S:
        leosim.run([text], {}, series_ms=0.0)
    if refused is not None:
        raise refused


def _policy(name: str) -> Callable[[bytes], object]:
    files = {file: (_FIXTURE / file).read_bytes() for file in ("policy.json", "policy.onnx")}

    def parse(data: bytes) -> object:
        with tempfile.TemporaryDirectory(prefix="leogym-fuzz-") as folder:
            for file, content in (files | {name: data}).items():
                (Path(folder) / file).write_bytes(content)
            return leosim.Policy.load(folder)

    return parse


_PARSERS: dict[str, Callable[[bytes], object]] = {
    "path-trace": _path_trace,
    "path-trace-2": _path_trace,
    "tle": lambda data: tle.parse(data, "x.tle"),
    "omm": _catalogue,
    "leoem": _file(_leoem),
    "hypatia": _file(lambda path: hypatia.read(path, 100.0)),
    "leoreplayer": _file(lambda path: leoreplayer.read(path, None, None, 100.0)),
    "mahimahi": _file(_mahimahi),
    "starlink-csv": _file(lambda path: starlink_csv.read(path, {}, None, 100.0)),
    "ping": _file(_probes(ping_log.read)),
    "irtt": _file(_probes(irtt.read)),
    "wetlinks": _file(_wetlinks),
    "terminal": _file(terminal.read),
    "scenario": _scenario,
    "policy-json": _policy("policy.json"),
    "policy-onnx": _policy("policy.onnx"),
}
_OMM = [catalogues.record(1), catalogues.record(100_001, MEAN_ANOMALY=180.0, BSTAR=1e-4)]
_SEEDS: dict[str, list[bytes]] = {
    "omm": [syntax(_OMM).encode() for syntax in catalogues.SYNTAXES.values()],
    "terminal": [(terminal.FOLDER / f"{name}.yaml").read_bytes() for name in terminal.names()],
    "policy-json": [(_FIXTURE / "policy.json").read_bytes()],
    "policy-onnx": [(_FIXTURE / "policy.onnx").read_bytes()],
}
"""The seeds of other targets are files in ``seeds/TARGET/``."""


def _seeds(name: str) -> list[bytes]:
    return _SEEDS.get(name) or [path.read_bytes() for path in sorted(SEEDS.glob(f"{name}/*"))]


TARGETS = {name: Target(parse, tuple(_seeds(name))) for name, parse in _PARSERS.items()}


def run(name: str, data: bytes) -> bool:
    """Return whether a target parsed an input; any exception is a finding."""
    try:
        TARGETS[name].parse(data)
    except InputError as error:
        # Not splitlines(): terminals and log readers break lines only at these two.
        if not str(error) or "\n" in str(error) or "\r" in str(error):
            raise AssertionError(f"{name}: must be refused in one line, not {str(error)!r}") from error
        return False
    return True
