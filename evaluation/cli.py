"""The command line of ``evaluate.py``."""

from __future__ import annotations

import argparse
import math
import signal
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import leosim
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from configs import lock
from configs import suite as suites
from configs.atomic import FULL, write_atomically
from configs.errors import InputError, OneLineParser, as_folder, reports_input_errors
from configs.suite import Suite
from evaluation import (
    description,
    execute,
    inputs,
    invalid,
    plan,
    report,
    setup,
    starved,
    summary_table,
    unannounced,
)
from evaluation.backends import BACKENDS, backend
from evaluation.plan import Run
from evaluation.results import Results
from evaluation.schemes import Contestants, load_policy, parse, shipped
from evaluation.store import Store, recorded_rows, require_writable

MOST_REPEATS = 10_000


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``evaluate.py``."""
    found = OneLineParser(
        prog="evaluate.py",
        description="Run suites of scenarios with the schemes given and write tables, figures and a report.",
        allow_abbrev=False,
    )
    add = found.add_argument
    add(
        "suites",
        nargs="*",
        metavar="SUITE|FILE.yaml",
        help="shipped suites (--list), or your own scenario files",
    )
    add("--list", action="store_true", help="list suites, schemes and backends, and leave")
    add("--schemes", metavar="A,B=PATH,…", help="schemes, each with its policy folder if it is a trained one")
    add("--backend", default="simulator", metavar="NAME", help="what runs them (default: simulator)")
    add("--repeats", type=_repeats, metavar="N", help="repeats of each scenario, instead of the suite's")
    add("--quick", action="store_true", help="shorter runs and fewer repeats: a look, not a result")
    add(
        "--seed",
        type=_natural,
        default=1,
        metavar="S",
        help="what seeds and offsets are drawn from (default: 1)",
    )
    add(
        "--jobs",
        type=_natural,
        default=0,
        metavar="N",
        help="runs at a time (default: 0: one a core, two a core of a cluster; in real time, one)",
    )
    add("--ray", metavar="ADDRESS", help="run on the Ray cluster at this address; local starts one here")
    add("--out", type=as_folder, metavar="DIR", help="where to write (default: runs/evaluation-DATE-TIME)")
    add("--resume", action="store_true", help="keep the runs that --out holds, do the rest")
    return found


def _repeats(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_REPEATS:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from 1 to {MOST_REPEATS}")
    return int(text)


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number of at least 0")
    return int(text)


def run(arguments: Sequence[str]) -> int:
    """Do what the command line says; the last line printed is the report's path."""
    options = parser().parse_args(arguments)
    if options.list:
        print_list(Console())
        return 0
    if not options.suites:
        raise InputError(f"evaluate.py: SUITE: name at least one (there are: {', '.join(suites.shipped())})")
    if options.resume and options.out is None:
        raise InputError("evaluate.py: --resume: needs --out, the folder to go on in")
    engine = backend(options.backend)
    chosen = load_suites(options.suites, options.quick, options.repeats)
    contestants = parse(options.schemes, engine.schemes()) if options.schemes else None
    folder = options.out or Path("runs") / f"evaluation-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    require_writable(folder)
    traces = inputs.load_traces(chosen)
    runs = planned(chosen, contestants, traces, options, engine.schemes())
    needed = inputs.gather(runs, traces, contestants)
    if engine.real_time and options.ray:
        raise InputError(f"--ray: --backend {options.backend} runs in real time, on this machine alone")
    engine(needed).check(one.scenario for one in runs)
    unmet = unannounced.found(runs, needed.traces)
    described = description.describe(
        chosen,
        contestants,
        runs,
        seed=options.seed,
        options={
            "backend": options.backend,
            "repeats": options.repeats,
            "quick": options.quick,
            "unannounced": unmet,
        },
    )
    if options.ray:
        execute.connect_ray(options.ray)
    for one in unmet:
        print(f"warning: {unannounced.line(one)}", file=sys.stderr)
    with lock.held(folder):
        try:
            path, results = evaluated(folder, runs, described, needed, options)
        except OSError as error:
            if error.errno not in FULL:
                raise
            why = f"cannot be written: {error.strerror}"
            raise InputError(f"{folder}: {why}: what is recorded is kept, go on with --resume") from None
        summary_table.print_all(results, chosen)
        for line in [line for one in chosen for line in starved.lines(results, one.name)]:
            print(f"warning: {line}", file=sys.stderr)
        print(path)
    return 0


def evaluated(
    folder: Path,
    runs: list[Run],
    described: dict[str, Any],
    needed: execute.Inputs,
    options: argparse.Namespace,
) -> tuple[Path, Results]:
    """Run what ``folder`` does not hold yet and write its report; return the report's path and its results.

    Raises:
        InputError: the folder holds another setup, or no run is valid.
        OSError: a file cannot be written.
    """
    recorded = recorded_rows(folder)
    if options.resume and not recorded.is_empty():
        before = description.read(folder)
        setup.require_same(folder, before, described, recorded, runs)
        described = description.merge(described, before)
        store = Store.resume(folder, described)
    else:
        store = Store.create(folder, described)
    write_atomically(folder / "run.json", description.encode(described))
    carry_out(runs, store, needed, options)
    if store.rows.is_empty():
        raise InputError(
            f"{folder}: no run is valid ({invalid.read(folder)['why'][0]}); try again with --resume"
        )
    results = Results.read(folder)
    return report.write(results), results


def load_suites(names: Sequence[str], quick: bool, repeats: int | None = None) -> list[Suite]:
    """Return the suites called ``names``, each once, with as many ``repeats`` as asked for."""
    loaded = [suites.load(name) for name in names]
    seen: set[str] = set()
    for one in loaded:
        if one.name in seen:
            raise InputError(f"evaluate.py: {one.name}: two of the suites and files given have this name")
        seen.add(one.name)
    loaded = [one.as_quick() for one in loaded] if quick else loaded
    return [one.model_copy(update={"repeats": repeats or one.repeats}) for one in loaded]


def planned(
    chosen: list[Suite],
    contestants: Contestants | None,
    traces: dict[str, inputs.LoadedTrace],
    options: argparse.Namespace,
    known: list[str],
) -> list[Run]:
    """Return every run of every suite, checked."""
    classic = [name for name in contestants.names if name not in contestants.policies] if contestants else []
    if classic and not any(one.tests_schemes for one in chosen):
        raise InputError(
            f"--schemes: {classic[0]}: no flow of these scenarios has scheme: $scheme to put it in"
        )
    runs = []
    for one in chosen:
        runs += plan.expand(
            one,
            contestants,
            {name: plan.Trace(trace.period_s, trace.sha256) for name, trace in traces.items()},
            backend=options.backend,
            known=known,
            base_seed=options.seed,
            repeats=None,
            version=leosim.__version__,
        )
    return runs


def carry_out(runs: list[Run], store: Store, needed: execute.Inputs, options: argparse.Namespace) -> None:
    """Run what is not recorded yet, recording each run as it ends."""
    console = Console(stderr=True)
    missing = [one for one in runs if one.run_id not in store.recorded]
    invalid.forget(store.folder, {one.run_id for one in missing})
    if len(missing) < len(runs):
        console.print(f"{len(runs) - len(missing)} of {len(runs)} runs are recorded already", highlight=False)
    run_all = execute.run_on_ray if options.ray else execute.run_here
    if missing and (line := real_time_line(missing, options.jobs)) is not None:
        console.print(line, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        closing(run_all(missing, needed, options.jobs, store.take)) as finished,
        Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar,
    ):
        task = bar.add_task("runs", total=len(missing))
        for done, (one, taken) in enumerate(finished, start=1):
            if isinstance(taken, invalid.Reason):
                invalid.add(store.folder, one, taken.why)
                told = f"{one.suite} {one.scenario.name} {one.scheme} {one.repeat}"
                console.print(f"invalid: {told}: {taken.why}", markup=False, highlight=False)
            else:
                store.add(one, taken)
            bar.advance(task)
            # Logs get ten lines, not a bar.
            if not console.is_terminal and done * 10 // len(missing) > (done - 1) * 10 // len(missing):
                print(f"{done} of {len(missing)} runs done", file=sys.stderr, flush=True)


def real_time_line(runs: Sequence[Run], jobs: int) -> str | None:
    """Say how long runs take that last as long as their scenarios do; None where they do not."""
    kind = backend(runs[0].backend)
    if not kind.real_time:
        return None
    at_a_time = execute.jobs_here(kind, jobs)
    minutes = math.ceil(sum(one.scenario.duration_s for one in runs) / at_a_time / 60)
    lasts = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    told = f"{len(runs)} runs in real time, {at_a_time} at a time: {lasts} at least"
    return f"{told}; Ctrl-C keeps what is recorded"


def print_list(console: Console) -> None:
    """Print what can be run."""
    table = Table("suite", "what it asks", "default schemes", "repeats", box=None, pad_edge=False)
    for name in suites.shipped():
        one = suites.load(name)
        table.add_row(name, one.question, ", ".join(one.schemes), str(one.repeats))
    console.print(table)
    console.print()
    for name, engine in BACKENDS.items():
        console.print(
            f"backend {name}: {', '.join(engine.schemes())}; a trained policy as NAME=PATH", markup=False
        )
    console.print()
    for name, folder in shipped().items():
        console.print(f"policy {name}: {load_policy(folder).origin}", markup=False, highlight=False)


@reports_input_errors
def main() -> int:
    """Run the command line of this process."""
    # What a shell starts in the background, as in a script, inherits that SIGINT is ignored; whoever sends it
    # nevertheless means it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return run(sys.argv[1:])
    except KeyboardInterrupt as interrupt:
        print("interrupted: what is recorded is kept, go on with --resume", file=sys.stderr)
        return 128 + (signal.SIGTERM if isinstance(interrupt, _Terminated) else signal.SIGINT)


class _Terminated(KeyboardInterrupt):
    """SIGTERM, which is answered as Ctrl-C is."""


def _terminate(*_: object) -> NoReturn:
    raise _Terminated
