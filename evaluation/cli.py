"""``leogym evaluate``, which ``evaluate.py`` starts, too."""

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
from leogym.common.command_line import OneLineParser, as_folder, leogym_command
from leogym.common.errors import InputError, reports_input_errors
from leogym.common.machine import require_at_a_time
from leogym.configs import names
from leogym.configs.suite import MOST_REPEATS, Suite
from leogym.evaluation import listed
from leogym.evaluation.cache import folder as cache
from leogym.evaluation.carrying_out import carry_out
from leogym.evaluation.compare import command as compare
from leogym.evaluation.leobench import command as leobench
from leogym.evaluation.recorded import description, invalid, resuming, warnings
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.recorded.store import Store, require_writable
from leogym.evaluation.report import latex, page, summary_table
from leogym.evaluation.runs import execute, inputs, plan
from leogym.evaluation.runs.backends import BACKENDS, backend
from leogym.evaluation.runs.plan import Run
from leogym.evaluation.runs.schemes import Contestants, of_suites, parse
from leogym.evaluation.study import Study

PROGRAM = "leogym evaluate"
RESUME = "recorded runs are kept: continue with --resume"
RUN_BYTES = 32_000_000
"""Memory that a run may need while it runs."""
EXAMPLES = (
    "leo-single --quick --schemes cubic,astraea",
    "static-100-cubic my-scenario.yaml --schemes learned --out runs/mine",
    "leo-pair --out runs/a --resume",
    "report runs/a --format latex",
    "compare runs/a runs/b",
)


def parser(study: Study | None = None) -> argparse.ArgumentParser:
    """Return the command line's parser, or that of a study."""
    command_parser = OneLineParser(
        prog=study.program if study else PROGRAM,
        description=study.description
        if study
        else "Run suites and scenarios with the schemes given and write tables, figures and a report.",
        epilog=f"{study.program} report DIR writes an evaluation's report again."
        if study
        else f"{PROGRAM} compare RUN_A RUN_B shows what changed between two evaluations; {PROGRAM} report "
        f"DIR writes an evaluation's report again; {leogym_command('leobench', 'judge', 'ENTRY')} judges "
        "by a benchmark.",
        examples=study.examples if study else EXAMPLES,
    )
    add = command_parser.add_argument
    default = " (default: all suites of the study)" if study else ""
    add(
        "suites",
        nargs="*",
        metavar="NAME|FILE.yaml",
        help=f"suites and scenarios (--list), or your own files{default}",
    )
    add("--list", action="store_true", help="list all that can be run by name, and exit")
    add(
        "--schemes",
        metavar="A,B=PATH,…",
        help="schemes, a trained one with its policy folder, a program as "
        "NAME=FILE.py:Class or NAME=FILE.so; all, classic (those without a policy), learned "
        "(the policies that come with LeoGym)",
    )
    add("--backend", default="simulator", metavar="NAME", help=f"{', '.join(BACKENDS)} (default: simulator)")
    add("--repeats", type=_repeats, metavar="N", help="repeats of each scenario, instead of the suite's")
    shorter = command_parser.add_mutually_exclusive_group()
    shorter.add_argument(
        "--quick", action="store_true", help="shorter runs and fewer repeats: a look, not a result"
    )
    shorter.add_argument(
        "--spot", action="store_true", help="one scenario per suite, which --backend lab runs in minutes"
    )
    add(
        "--seed",
        type=_natural,
        default=1,
        metavar="S",
        help="seed of all random seeds and offsets (default: 1)",
    )
    add(
        "--jobs",
        type=_natural,
        default=0,
        metavar="N",
        help="runs at a time (default: 0: one per core, two per core of a cluster; one in real time)",
    )
    add("--ray", metavar="ADDRESS", help="run on the Ray cluster at this address; local starts one here")
    add(
        "--cache",
        metavar="DIR|none",
        help="cache of results, shared by all evaluations "
        f"(default: ${cache.ENV}, else results in $LEOGYM_CACHE, $XDG_CACHE_HOME/leogym or "
        "~/.cache/leogym)",
    )
    add(
        "--series",
        choices=("all", "first"),
        default="first" if study else "all",
        help="runs whose time series are kept: all, or first repeats, for figures"
        f"{', and those that the study reads' if study else ''} (default: %(default)s)",
    )
    add_format(command_parser)
    add("--out", type=as_folder, metavar="DIR", help="where to write (default: runs/evaluation-DATE-TIME)")
    add("--resume", action="store_true", help="keep the runs in --out and run the rest")
    return command_parser


def _repeats(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_REPEATS:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from 1 to {MOST_REPEATS}")
    return int(text)


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number of at least 0")
    return int(text)


def run(arguments: Sequence[str], study: Study | None = None) -> int:
    """Run a command line of ``evaluate`` or of a study; the last line printed is the report's path."""
    if arguments[:1] == ["report"]:
        return report_again(arguments[1:], study)
    if arguments[:1] == ["compare"] and study is None:
        return compare.run(arguments[1:])
    if arguments[:1] == ["leobench"] and study is None:
        return leobench.run(arguments[1:])
    program = study.program if study else PROGRAM
    options = parser(study).parse_args(arguments)
    if options.list:
        for line in listed.lines():
            print(line)
        return 0
    if study and not options.suites:
        options.suites = study.suites()
    if not options.suites:
        raise InputError(f"{program}: SUITE: name at least one, such as leo-single (all: {program} --list)")
    if options.resume and options.out is None:
        raise InputError(f"{program}: --resume: needs --out, the folder to continue")
    engine = backend(options.backend)
    if not options.ray:
        require_at_a_time(options.jobs, "--jobs", RUN_BYTES)
    chosen = load_suites(options.suites, options)
    if study and not options.spot:
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
        if options.format == "latex":
            print(latex.write(results))
        print(path)
    return 0


def add_format(to: argparse.ArgumentParser) -> None:
    """Add ``--format``."""
    to.add_argument(
        "--format",
        choices=("html", "latex"),
        default="html",
        help="latex: also write tables and vector figures for a paper to DIR/latex (default: html)",
    )


def report_again(arguments: Sequence[str], study: Study | None = None) -> int:
    """Write the report of an evaluation's folder again and print its path last."""
    options = report_parser(study.program if study else PROGRAM).parse_args(arguments)
    results = Results.read(options.folder)
    with lock.held(options.folder):
        path = page.write(results, study.make_section if study else None)
        if options.format == "latex":
            print(latex.write(results))
        print(path)
    return 0


def report_parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """Return the parser of ``report``, a part of the command ``program``."""
    command_parser = OneLineParser(
        prog=f"{program} report",
        description="Write tables, figures and the report of an evaluation again, from its folder.",
        examples=("runs/a", "runs/a --format latex"),
    )
    command_parser.add_argument("folder", type=as_folder, metavar="DIR", help="an evaluation's folder")
    add_format(command_parser)
    return command_parser


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


@reports_input_errors
def main() -> int:
    """Run the process's command line."""
    return run(sys.argv[1:])
