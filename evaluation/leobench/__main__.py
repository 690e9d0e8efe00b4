"""``python -m evaluation.leobench``: freeze a version, or check that a frozen one has not moved."""

import sys
from collections.abc import Sequence

from leogym.configs.command_line import OneLineParser
from leogym.configs.errors import InputError, reports_input_errors
from leogym.evaluation.leobench import freezing, version

PROGRAM = "python -m evaluation.leobench"


def run(arguments: Sequence[str]) -> int:
    """Run a command line; return 1 if a frozen version has moved."""
    parser = OneLineParser(
        prog=PROGRAM,
        description="Freeze a version of LeoBench, or check that what can move its numbers has not moved.",
        examples=("freeze v1", "check v1"),
    )
    parser.add_argument("what", choices=("freeze", "check"))
    parser.add_argument("version", metavar="VERSION", help=", ".join(version.names()))
    options = parser.parse_args(arguments)
    found = version.load(options.version)
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
