"""Build many path traces in parallel."""

import os
from collections.abc import Iterator
from pathlib import Path

from leogym.common.errors import InputError
from leogym.common.processes import Pool
from leogym.traces.path import path_trace
from leogym.traces.path.build import on_stderr
from leogym.traces.path.spec import PathSpec


def write_all(specs: list[PathSpec], folder: Path, jobs: int | None = None) -> Iterator[tuple[Path, str]]:
    """Write each spec's trace to ``folder``/NAME.csv; yield file and summary in the order of ``specs``.

    Names must be unique. ``jobs`` is the number of processes, one per core by default. Raises InputError if
    the folder cannot be written or a path cannot be built.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    files = [folder / f"{spec.name}.csv" for spec in specs]
    workers = min(len(specs), jobs or len(os.sched_getaffinity(0)))
    pool = Pool(workers)
    try:
        with pool:
            printed: set[str] = set()
            for file, (summary, notes) in zip(files, pool.map(_write, specs, files), strict=True):
                # All paths over one catalogue have the same notes about it.
                for note in notes:
                    if note not in printed:
                        on_stderr(note)
                        printed.add(note)
                yield file, summary
    finally:
        for pid in pool.pids:  # of a process that was killed while it wrote
            for temporary in folder.glob(f".*.{pid}.*.tmp"):
                temporary.unlink(missing_ok=True)


def _write(spec: PathSpec, file: Path) -> tuple[str, list[str]]:
    notes: list[str] = []
    summary = path_trace.write(spec, file, noted=notes.append)
    return str(summary), [*notes, *filter(None, [summary.detour])]
