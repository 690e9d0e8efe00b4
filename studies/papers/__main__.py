"""``leogym papers``: run the suites of papers' claims and check the claims."""

import argparse
import sys
from collections.abc import Callable, Sequence

from leogym.common import entry_point
from leogym.common.errors import reports_input_errors
from leogym.evaluation import cli
from leogym.evaluation.study import Study
from studies.papers import cost, keep, suite_tables, suites
from studies.papers.section import conclusion, make_section

PROGRAM = "leogym papers"
STUDY = Study(
    program=PROGRAM,
    description="Run the suites of papers' claims, each with its own schemes and "
    f"{', '.join(suites.TWELVE)}, and compare the papers' claims with the results. keep DIR reduces an "
    "evaluation to the files of this study's results; tables writes them into the papers' pages; cost "
    "estimates the CPU time of suites.",
    examples=(
        "--quick --out runs/papers-quick",
        "latency-jump --out runs/latency-jump",
        "latency-jump --schemes bbr,cubic,satcp --out runs/jump",
        "report runs/latency-jump",
    ),
    suites=suites.of_claims,
    with_schemes=suites.with_common_schemes,
    reads_series=lambda run: suites.reads_over_time(run.suite, run.scheme),
    make_section=make_section,
    conclusion=conclusion,
)
COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "keep": keep.run,
    "tables": suite_tables.run,
    "cost": cost.run,
}


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    return cli.parser(STUDY)


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit status."""
    if arguments and arguments[0] in COMMANDS:
        return COMMANDS[arguments[0]](arguments[1:])
    return cli.run(arguments, STUDY)


@reports_input_errors
def main() -> int:
    """Run the process's command line and return its exit status."""
    return run(sys.argv[1:])


if __name__ == "__main__":
    raise SystemExit(entry_point.run(PROGRAM, "studies.papers.__main__"))
