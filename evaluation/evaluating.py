"""What ``leogym evaluate`` does: plan, carry out, record and report. `cli` is its command line."""

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import leosim

from leogym.common import lock, output_folder, signals
from leogym.common.atomic import DISK_FULL_ERRORS, write_atomically
from leogym.common.cluster import joining
from leogym.common.errors import InputError
from leogym.common.machine import require_at_a_time
from leogym.configs import names
from leogym.configs.suite import Suite
from leogym.evaluation.cache import folder as cache
from leogym.evaluation.carrying_out import carry_out
from leogym.evaluation.recorded import description, invalid, resuming, warnings
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.recorded.store import Store, require_writable
from leogym.evaluation.report import latex, page, summary_table
from leogym.evaluation.runs import execute, inputs, plan
from leogym.evaluation.runs.backends import backend
from leogym.evaluation.runs.plan import Run
from leogym.evaluation.runs.schemes import Contestants, of_suites, parse
from leogym.evaluation.study import Study

RESUME = "recorded runs are kept: continue with --resume"
RUN_BYTES = 32_000_000
"""Memory that a run may need while it runs."""


def evaluate(options: argparse.Namespace, study: Study | None = None) -> int:
    """Run suites with the options of `cli.parser`; the last line printed is the report's path."""
    engine = backend(options.backend)
    if not options.ray:
        require_at_a_time(options.jobs, "--jobs", RUN_BYTES)
    chosen = load_suites(options.suites, options)
    if study and not (options.quick or options.spot):
        chosen = study.with_schemes(chosen)
    contestants = parse(options.schemes, engine.schemes()) if options.schemes else of_suites(chosen)
    results_cache = cache.opened(options.cache)
    folder = options.out or Path("runs") / f"evaluation-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    output_folder.require(folder, "an evaluation")
    require_writable(folder)
    traces = inputs.load_traces(chosen)
    runs = planned(chosen, contestants, traces, options, engine.schemes())
    needed = inputs.gather(runs, traces, contestants)
    if engine.real_time and options.ray:
        raise InputError(f"--ray: --backend {options.backend} runs in real time, only on this machine")
    engine(needed).check(run.scenario for run in runs)
    unmet = warnings.missing_announcements(runs, needed.traces)
    described = description.describe(
        chosen,
        contestants,
        runs,
        seed=options.seed,
        options={
            "backend": options.backend,
            "repeats": options.repeats,
            "quick": options.quick,
            "spot": options.spot,
            "unannounced": unmet,
        },
    )
    if contestants.left_out:
        left_out = ", ".join(contestants.left_out)
        print(f"--schemes: {options.backend} does not run {left_out}: left out", file=sys.stderr)
    for line in warnings.announcement_lines(unmet):
        print(f"warning: {line}", file=sys.stderr)
    with joining.joined(options.ray, resume=RESUME, packages=execute.PACKAGES), lock.held(folder):
        signals.on_interrupt("interrupted: recorded runs are kept; continue with --resume")
        try:
            path, results = evaluated(folder, runs, described, needed, options, results_cache, study)
        except OSError as error:
            if error.errno not in DISK_FULL_ERRORS:
                raise
            why = f"cannot be written: {os.strerror(error.errno)}"
            raise InputError(f"{folder}: {why}: recorded runs are kept; continue with --resume") from None
        summary_table.print_all(results, chosen)
        for suite in chosen:
            for line in (
                *warnings.starved_lines(results, suite.name),
                *warnings.fallback_lines(results, suite.name),
            ):
                print(f"warning: {line}", file=sys.stderr)
        _print_conclusion(results, study)
        if options.format == "latex":
            print(latex.write(results))
        print(path)
    return 0


def _print_conclusion(results: Results, study: Study | None) -> None:
    for line in study.conclusion(results.folder) if study else ():
        print(line)


def report_again(options: argparse.Namespace, study: Study | None = None) -> int:
    """Write the report of an evaluation's folder again and print its path last."""
    results = Results.read(options.folder)
    with lock.held(options.folder):
        path = page.write(results, study.make_section if study else None)
        _print_conclusion(results, study)
        if options.format == "latex":
            print(latex.write(results))
        print(path)
    return 0


def evaluated(
    folder: Path,
    runs: list[Run],
    described: dict[str, Any],
    needed: execute.Inputs,
    options: argparse.Namespace,
    results_cache: cache.Folder | None = None,
    study: Study | None = None,
) -> tuple[Path, Results]:
    """Run what ``folder`` does not hold yet and write the report; return its path and the results."""
    if options.resume:
        store, described = resuming.resumed(folder, described, runs)
    else:
        store = Store.create(folder, described)
    write_atomically(folder / "run.json", description.encode(described))
    described["from_cache"] = carry_out(
        runs, store, needed, options, results_cache, study.reads_series if study else None
    )
    write_atomically(folder / "run.json", description.encode(described))
    if store.rows.is_empty():
        reasons = invalid.read(folder)["why"]
        if reasons.is_empty():
            # Only arrivals can leave a run without a flow.
            rule = "no transfer arrived in any run: raise rate_per_s or duration_s"
            raise InputError(f"{runs[0].suite}: flows: arrivals: {rule}")
        raise InputError(f"{folder}: no run is valid ({reasons[0]}); try again with --resume")
    results = Results.read(folder)
    return page.write(results, study.make_section if study else None), results


def load_suites(names_or_files: Sequence[str], options: argparse.Namespace) -> list[Suite]:
    """Load suites and apply ``--quick``, ``--spot`` and ``--repeats``; reject duplicate names."""
    loaded = [names.as_suite(name) for name in names_or_files]
    loaded_names: set[str] = set()
    for suite in loaded:
        if suite.name in loaded_names:
            raise InputError(f"{suite.name}: two of the given suites and files have this name")
        loaded_names.add(suite.name)
    if options.quick or options.spot:
        loaded = [suite.as_quick() if options.quick else suite.as_spot() for suite in loaded]
    return [suite.model_copy(update={"repeats": options.repeats or suite.repeats}) for suite in loaded]


def planned(
    chosen: list[Suite],
    contestants: Contestants,
    traces: dict[str, inputs.LoadedTrace],
    options: argparse.Namespace,
    backend_schemes: list[str],
) -> list[Run]:
    """Return all runs of all suites, checked."""
    classic = [name for name in contestants.names or [] if name not in contestants.policies]
    if classic and not any(suite.tests_schemes for suite in chosen):
        raise InputError(
            f"--schemes: {classic[0]}: no flow of these scenarios has scheme: $scheme, which it would replace"
        )
    runs = []
    for suite in chosen:
        runs += plan.expand(
            suite,
            contestants,
            {name: plan.Trace(trace.period_s, trace.sha256) for name, trace in traces.items()},
            backend=options.backend,
            backend_schemes=backend_schemes,
            base_seed=options.seed,
            repeats=None,
            version=leosim.__version__,
        )
    return runs
