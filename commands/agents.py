"""``leogym agents``, with the search of programs, which LeoBench judges."""

import argparse
import sys

from leogym.agents import __main__ as agents
from leogym.common import extras
from leogym.common.command_line import OneLineParser
from leogym.common.errors import reports_input_errors


def parser() -> OneLineParser:
    """Return the command line's parser."""
    return agents.parser(searches=True)


def run(arguments: list[str]) -> int:
    """Run the command line ``arguments``; return the exit status."""
    return agents.run(arguments, search)


@reports_input_errors
def main() -> int:
    """Run the process's command line and return its exit status."""
    return run(sys.argv[1:])


def search(options: argparse.Namespace) -> int:
    """Search a program's numbers against LeoBench's public split."""
    with extras.needed_by("agents search"):
        from leogym.evaluation.leobench import searching  # here, because PyTorch takes a second to import
    return searching.run(options)
