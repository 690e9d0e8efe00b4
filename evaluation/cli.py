"""``leogym evaluate``, which ``evaluate.py`` starts, too."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from leogym.common.command_line import OneLineParser, as_folder, leogym_command
from leogym.common.errors import InputError, reports_input_errors
from leogym.configs.suite import MOST_REPEATS
from leogym.evaluation import listed
from leogym.evaluation.cache import folder as cache
from leogym.evaluation.runs.backends import BACKENDS

if TYPE_CHECKING:
    from leogym.evaluation.study import Study

PROGRAM = "leogym evaluate"
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
        "--quick", action="store_true", help="shorter runs, fewer repeats and figures: a look, not a result"
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
        from leogym.evaluation.compare import command as compare  # here, as all imports that take time

        return compare.run(arguments[1:])
    if arguments[:1] == ["leobench"] and study is None:
        from leogym.evaluation.leobench import command as leobench

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
    from leogym.evaluation import evaluating

    return evaluating.evaluate(options, study)


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
    from leogym.evaluation import evaluating

    return evaluating.report_again(options, study)


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


@reports_input_errors
def main() -> int:
    """Run the process's command line."""
    return run(sys.argv[1:])
