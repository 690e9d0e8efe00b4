"""Load path traces by name or file. Named ones are built once and cached."""

import fcntl
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common import digests, home, text_file
from leogym.common.errors import InputError
from leogym.common.nearest import suggest_names
from leogym.common.processes import Pool
from leogym.common.progress import Progress
from leogym.traces.path import cached_digest, named_paths, path_trace, shared, synth

MAX_BYTES = 1 << 30  # larger files are refused, because files are read into memory whole
BUILDERS = ("capacity", "data", "orbit", "path")
"""The parts of this room that determine a trace. The others import ``path``, so it cannot use them."""


def folder() -> Path:
    """Return the cache folder: ``$LEOGYM_CACHE/traces``, or ``~/.cache/leogym/traces``."""
    root = os.environ.get("LEOGYM_CACHE")
    return (Path(root) if root else home.caches()) / "traces"


@cache
def _builder_digest() -> str:
    """Return a digest of `BUILDERS` and of what leosim computes for them: a change invalidates cached traces.

    A checkout and a wheel, which has no tests, have the same digest.
    """
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256(sampled_positions().tobytes())
    for path in sorted(path for name in BUILDERS for path in (package / name).rglob("*")):
        if path.suffix in {".py", ".csv", ".yaml"} and not path.name.startswith(("test_", "conftest")):
            digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def sampled_positions() -> NDArray[np.float64]:
    """Return positions by `leosim.Sgp4`, (12, 3), in km, rounded to mm: four orbits over a day.

    Their elements are in the order that `leosim.Sgp4` describes. The first two are near the Earth; for the
    last two, with periods of half a day and a day, sun and moon and resonances count.
    """
    elements = [
        [24.0, 0.925, 1.0, 0.0001, 0.5, 2.0, 0.0657, 0.0],
        [25.5, 1.7, 4.0, 0.02, 3.0, 1.0, 0.0602, 1e-4],
        [24.0, 1.11, 2.0, 0.7, 4.7, 0.3, 0.00875, 1e-5],
        [25.0, 0.05, 5.0, 0.001, 1.5, 4.0, 0.004375, 0.0],
    ]
    minutes = np.repeat([0.0, 55.0, 1440.0], len(elements))
    satellites = np.tile(np.arange(len(elements)), 3)
    return np.round(leosim.Sgp4(np.array(elements)).positions_km(minutes, satellites), 6)


def file(name_or_file: str) -> Path:
    """Return the file of a path trace; build a named one that is not cached.

    Raises:
        InputError: there is no such name or file, or the cache folder cannot be written.
    """
    owner = shared.pairs_of_trace(name_or_file)
    if owner is not None:
        return _stretch(owner, name_or_file)
    synthetic = synth.named(name_or_file)
    if not named_paths.is_named(name_or_file) and synthetic is None:
        path = Path(name_or_file)
        if not path.is_file():
            names = [*named_paths.names(), *synth.PRESETS]
            nearest = suggest_names(name_or_file, names, named_paths.LISTED_BY)
            raise InputError(f"{name_or_file}: trace: neither a file nor a named path {nearest}")
        return path
    path = _built(name_or_file)
    if cached_digest.fault(path) is not None:
        _make_folder(path.parent)
        with _locked(path.with_suffix(".lock")):
            # Another process may have built it during the wait.
            if (fault := cached_digest.fault(path)) is not None:
                _say(path, fault)
                for leftover in path.parent.glob(f".{path.name}.*.tmp"):  # of a process that was killed
                    leftover.unlink(missing_ok=True)
                if synthetic is None:
                    path_trace.write(named_paths.spec(name_or_file), path)
                else:
                    synth.write(synthetic, path)
                cached_digest.write(path)
    return path


def build(names_or_files: Iterable[str]) -> None:
    """Build the named ones that are not cached, one process a core; the rest has no effect.

    Raises:
        InputError: the cache folder cannot be written, or a path cannot be built.
    """
    missing = {}
    for name in names_or_files:
        owner = shared.pairs_of_trace(name)
        if owner is not None or named_paths.is_named(name) or synth.named(name) is not None:
            path = _built(name)
            # All stretches of shared paths are built together.
            fault = cached_digest.fault(path) if owner is None else cached_digest.fault_in(path)
            if fault is not None:
                missing[path if owner is None else path.parent] = name
    workers = min(len(missing), len(os.sched_getaffinity(0)))
    if workers > 1:
        with Progress("building path traces", len(missing)) as progress, Pool(workers) as pool:
            for _ in pool.map(file, missing.values()):
                progress.advance(1)


def _built(name: str) -> Path:
    """Return where the named path trace is once it is built."""
    owner = shared.pairs_of_trace(name)
    if owner is None:
        return folder() / f"{name}-{_builder_digest()}.csv"
    return folder() / f"{owner}-{_builder_digest()}" / f"{name.partition('/')[2]}.csv"


def _stretch(owner: str, name: str) -> Path:
    """Return the file of a stretch of shared paths; build all stretches together."""
    path = _built(name)
    if cached_digest.fault_in(path) is not None:
        _make_folder(folder())
        with _locked(path.parent.with_suffix(".lock")):
            if (fault := cached_digest.fault_in(path)) is not None:
                _say(path, fault)
                wanted = shared.named(owner)
                # Build in a temporary folder: the final name must only appear with all files.
                with tempfile.TemporaryDirectory(dir=folder(), prefix=f".{owner}-") as temporary:
                    whole = Path(temporary) / "whole"
                    whole.mkdir()
                    shared.write_traces(wanted, shared.split(wanted.specs), whole)
                    digests.write(whole, [file.name for file in whole.iterdir()])
                    if path.parent.exists():
                        os.replace(path.parent, Path(temporary) / "damaged")
                    os.replace(whole, path.parent)
    if not path.is_file():
        stretches = sorted(f"{owner}/{file.stem}" for file in path.parent.glob("*.csv"))
        raise InputError(f"{name}: trace: no such stretch {suggest_names(name, stretches)}")
    return path


def _say(path: Path, fault: str) -> None:
    if fault != cached_digest.MISSING:
        print(f"warning: {path}: {fault}: built again", file=sys.stderr)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: LEOGYM_CACHE: cannot be written: {error.strerror}") from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        lock = path.open("w", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: LEOGYM_CACHE: cannot be written: {error.strerror}") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read_bytes(path: Path) -> bytes:
    """Read a trace file; raise InputError if it cannot be read or is larger than `MAX_BYTES`."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise InputError(
                f"{path}: file: {size} bytes are more than the {MAX_BYTES} that a trace may have"
            )
        with path.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: file: cannot be read: {error.strerror}") from None
    # A pipe or device reports no size.
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: file: more than the {MAX_BYTES} bytes that a trace may have")
    return data


@lru_cache(maxsize=64)
def parse(data: bytes, source: str) -> leosim.PathTrace:
    """Parse a path trace; raise InputError with ``source``, line, field and rule.

    Parsing takes tens of milliseconds, and each of a suite's hundreds of runs needs the suite's traces.
    """
    try:
        return leosim.PathTrace.parse(text_file.decode(data, source), source)
    except leosim.InputError as error:
        raise InputError(str(error)) from None


def load(name_or_file: str) -> leosim.PathTrace:
    """Load a named path or a trace file; raise InputError if there is none or the file is invalid."""
    path = file(name_or_file)
    return parse(read_bytes(path), str(path))


def load_all(names_or_files: Iterable[str]) -> dict[str, leosim.PathTrace]:
    """Load the traces of a scenario (``scenario.traces``), keyed by their names there."""
    return {name: load(name) for name in sorted(names_or_files)}


def sha256(name_or_file: str) -> str:
    """Return the SHA-256 of a path trace's bytes, in hexadecimal."""
    return hashlib.sha256(read_bytes(file(name_or_file))).hexdigest()
