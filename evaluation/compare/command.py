"""``leogym evaluate compare RUN_A RUN_B``."""

import argparse
import shutil
import sys
from collections.abc import Sequence

from leogym.common.command_line import OneLineParser, as_folder
from leogym.common.errors import InputError
from leogym.evaluation.compare import formats
from leogym.evaluation.compare.changes import changes
from leogym.evaluation.compare.effects import effects
from leogym.evaluation.recorded.results import Results


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    command_parser = OneLineParser(
        prog="leogym evaluate compare",
        description="Show what changed between two evaluations, and whether it is significant.",
        examples=("runs/a runs/b", "runs/a runs/b --format csv"),
    )
    command_parser.add_argument("a", type=as_folder, metavar="RUN_A", help="an evaluation's folder")
    command_parser.add_argument("b", type=as_folder, metavar="RUN_B", help="another evaluation's folder")
    command_parser.add_argument(
        "--format",
        choices=("text", "markdown", "csv"),
        default="text",
        help="text and markdown show significant differences, csv all (default: text)",
    )
    return command_parser


def run(arguments: Sequence[str]) -> int:
    """Print what changed between two evaluations; the exit status is 0 either way."""
    options = parser().parse_args(arguments)
    a, b = Results.read(options.a), Results.read(options.b)
    try:
        differences = effects(a.runs, b.runs)
    except InputError as error:
        raise InputError(f"{options.a}, {options.b}: {error}") from None
    setup = changes(a.description, b.description)
    if options.format == "csv":
        print(formats.csv(differences), end="")
    elif options.format == "markdown":
        print(formats.markdown(setup, differences), end="")
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print(formats.text(setup, differences, width), end="")
    return 0
