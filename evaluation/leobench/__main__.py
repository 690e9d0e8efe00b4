"""``python -m evaluation.leobench``: freeze a version, check that a frozen one has not moved, the board."""

import sys
from collections.abc import Sequence
from pathlib import Path

from leogym.configs.command_line import OneLineParser
from leogym.configs.errors import InputError, reports_input_errors
from leogym.evaluation.leobench import board, freezing, version

PROGRAM = "python -m evaluation.leobench"


def run(arguments: Sequence[str]) -> int:
    """Run a command line; return 1 if a frozen version has moved."""
    parser = OneLineParser(
        prog=PROGRAM,
        description="Freeze a version of LeoBench, check that what can move its numbers has not moved, "
        "or write the scoreboard from a folder of results to FOLDER/board.html.",
        examples=("freeze v1", "check v1", "board leobench/results"),
    )
    parser.add_argument("what", choices=("freeze", "check", "board"))
    parser.add_argument("of", metavar="VERSION|FOLDER", help=f"{', '.join(version.names())}; of results")
    options = parser.parse_args(arguments)
    if options.what == "board":
        page = Path(options.of) / "board.html"
        print(f"{board.write(Path(options.of), page)} results", file=sys.stderr)
        print(page)
        return 0
    found = version.load(options.of)
    if options.what == "freeze":
        print(freezing.freeze(found))
        return 0
    if found.status == "draft":
        raise InputError(f"{PROGRAM}: {found.name}: is a draft: there is nothing to check")
    lines = freezing.moved(found)
    for line in lines:
        print(line)
    return 1 if lines else 0


@reports_input_errors
def main() -> int:
    """Run the process's command line."""
    return run(sys.argv[1:])


if __name__ == "__main__":
    raise SystemExit(main())
