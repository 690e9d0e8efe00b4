"""Carry out a plan: keep recorded runs, take cached ones, run the rest."""

import argparse
import math
from collections.abc import Callable, Sequence
from contextlib import closing

from rich.console import Console

from leogym.common import signals
from leogym.evaluation.cache.folder import Folder
from leogym.evaluation.cache.taking import Taking
from leogym.evaluation.recorded import invalid
from leogym.evaluation.recorded.store import Store
from leogym.evaluation.runs import execute
from leogym.evaluation.runs.backends import backend
from leogym.evaluation.runs.plan import Run
from leogym.evaluation.runs.progress import ProgressDisplay

SIMULATOR = "simulator"
CLEAN_UP_S = 30.0
"""Time to remove what runs on Linux made on the host, such as interfaces and daemons, after a signal."""


def carry_out(
    runs: list[Run],
    store: Store,
    needed: execute.Inputs,
    options: argparse.Namespace,
    folder: Folder | None = None,
    reads_series: Callable[[Run], bool] | None = None,
) -> int:
    """Get the results of all runs that are not recorded yet; return the number of cache hits.

    All runs have the same backend. ``options`` are ``jobs``, ``ray`` and ``series`` of the command line.
    ``reads_series`` selects runs whose time series are kept in addition to those of first repeats.
    """
    console = Console(stderr=True)
    recorded = store.recorded
    missing = [run for run in runs if run.run_id not in recorded]
    invalid.forget(store.folder, {run.run_id for run in missing})
    if len(missing) < len(runs):
        console.print(f"{len(runs) - len(missing)} of {len(runs)} runs are recorded already", highlight=False)
    if not missing:
        return 0
    kind = backend(missing[0].backend)
    if missing[0].backend != SIMULATOR:
        signals.on_interrupt(grace_s=CLEAN_UP_S)
    unseen = {
        run.run_id
        for run in (missing if options.series == "first" else [])
        if run.repeat > 0 and not (reads_series and reads_series(run))
    }
    take = Taking(store, folder, kind.version() if folder is not None else None, unseen)
    cached = [run for run in missing if take.has(run)]
    if cached:
        message = f"{len(cached)} of {len(missing)} runs are in the cache"
        console.print(f"{message} (--cache none runs them again)", highlight=False, soft_wrap=True)
    if (line := real_time_line(missing, options.jobs)) is not None:
        console.print(line, highlight=False)
    hints_at_quick = not (options.quick or options.spot or options.repeats or options.resume)
    run_all = execute.run_on_ray if options.ray else execute.run_here
    at_a_time = options.jobs or execute.jobs_here(kind, 0)
    try:
        with (
            closing(run_all(missing, needed, options.jobs, take)) as finished,
            ProgressDisplay(console, missing, cached, at_a_time, hints_at_quick=hints_at_quick) as progress,
        ):
            for run, outcome in finished:
                if isinstance(outcome, invalid.Reason):
                    invalid.add(store.folder, run, outcome.why)
                    where = dict.fromkeys([run.suite, run.scenario.name])  # a suite of one has its name
                    label = f"{', '.join(where)}, {run.scheme}, repeat {run.repeat}"
                    line = f"invalid: {label}: {outcome.why}"
                    console.print(line, markup=False, highlight=False, soft_wrap=True)
                else:
                    store.add(run, outcome)
                progress.ended(run, take.seconds(run))
    finally:
        store.flush()
        if folder is not None:
            folder.trim()
    return take.kept


def real_time_line(runs: Sequence[Run], jobs: int) -> str | None:
    """Return a line with the duration of real-time runs; None for other backends."""
    kind = backend(runs[0].backend)
    if not kind.real_time:
        return None
    at_a_time = execute.jobs_here(kind, jobs)
    minutes = math.ceil(sum(run.scenario.duration_s for run in runs) / at_a_time / 60)
    lasts = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    message = f"{len(runs)} runs in real time, {at_a_time} at a time: {lasts} at least"
    return f"{message}; Ctrl-C keeps recorded runs"
