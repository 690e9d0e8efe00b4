"""Build many path traces in parallel."""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from leogym.configs.errors import InputError
from leogym.traces.path import path_trace
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
    # Spawn: a forked process would inherit locks of threads that do not exist in it.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield from zip(files, pool.map(_write, specs, files), strict=True)


def _write(spec: PathSpec, file: Path) -> str:
    return str(path_trace.write(spec, file))
