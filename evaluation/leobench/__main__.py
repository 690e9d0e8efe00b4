"""``leogym leobench``: judge entries, freeze and check versions, compare on many seeds, write the board."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from leogym.common.command_line import OneLineParser, as_folder
from leogym.common.errors import InputError, reports_input_errors
from leogym.evaluation.leobench import command, version
from leogym.evaluation.leobench.command import NEWEST

PROGRAM = "leogym leobench"


def parser() -> OneLineParser:
    """Return the command line's parser."""
    parser = OneLineParser(
        prog=PROGRAM,
        description="Judge entries by LeoBench, freeze a version, check that what can move its numbers has "
        "not moved, compare two entries on many judge seeds, or write the scoreboard of a folder of results.",
        examples=(
            "judge mine=runs/a/policy",
            "check v1",
            "seeds cubic reno --seeds 3",
            "board docs/leobench/results",
        ),
    )
    commands = parser.add_subparsers(dest="what", required=True, metavar="judge|freeze|check|seeds|board")
    command.add_to(commands.add_parser("judge", help=command.HELP, examples=command.EXAMPLES))
    for name, help_text in (
        ("freeze", "write frozen.json, once"),
        ("check", "print what has moved since a version was frozen; the exit status is 1 if anything has"),
    ):
        add = commands.add_parser(name, help=help_text, examples=(NEWEST,))
        add.add_argument("version", metavar="VERSION", help=", ".join(version.names()))
    add = commands.add_parser(
        "seeds",
        help="judge two entries on several judge seeds, and tell how often their order is the same",
        examples=("orbit cubic", "mine=runs/a/policy careful.py:Careful --seeds 3 --first 100"),
    )
    add.add_argument("entries", nargs=2, metavar="[NAME=]ENTRY", help=f"as for {command.PROGRAM}")
    add.add_argument("--version", default=NEWEST, metavar="NAME", help=f"(default: {NEWEST})")
    add.add_argument("--seeds", type=int, default=10, metavar="N", help="number of seeds (default: 10)")
    add.add_argument("--first", type=int, default=1, metavar="S", help="the first seed (default: 1)")
    add.add_argument("--jobs", type=int, default=0, metavar="N", help="runs at a time (default: one a core)")
    add.add_argument("--ray", metavar="ADDRESS", help="run on the Ray cluster at this address")
    add.add_argument(
        "--out",
        type=as_folder,
        default=Path("runs/leobench-seeds"),
        metavar="DIR",
        help="results, which a second call keeps (default: runs/leobench-seeds)",
    )
    add = commands.add_parser(
        "board", help="write FOLDER/board.html from the results there", examples=("docs/leobench/results",)
    )
    add.add_argument("folder", type=Path, metavar="FOLDER", help="of results")
    return parser


def run(arguments: Sequence[str]) -> int:
    """Run a command line; return 1 if a frozen version has moved."""
    options = parser().parse_args(arguments)
    if options.what == "judge":
        return command.carry_out(options)
    # Here, because their imports take time, as those of the functions below.
    if options.what == "board":
        from leogym.evaluation.leobench import board

        page = options.folder / "board.html"
        print(f"{board.write(options.folder, page)} results", file=sys.stderr)
        print(page)
        return 0
    benchmark = version.load(options.version)
    if options.what == "seeds":
        return _seeds(options, benchmark)
    from leogym.evaluation.leobench import freezing

    if options.what == "freeze":
        print(freezing.freeze(benchmark))
        return 0
    if benchmark.status == "draft":
        raise InputError(f"{PROGRAM}: {benchmark.name}: is a draft: there is nothing to check")
    lines = freezing.moved(benchmark)
    for line in lines:
        print(line)
    return 1 if lines else 0


def _seeds(options: argparse.Namespace, benchmark: version.Version) -> int:
    if not 1 <= options.seeds <= 1000 or options.first < 0:
        raise InputError(f"{PROGRAM} seeds: --seeds, --first: must be from 1 to 1000, and at least 0")
    from leogym.evaluation.leobench import entering, seeds

    first, second = (entering.entrant(text, benchmark) for text in options.entries)
    names = first[0], second[0]
    if names[0] == names[1]:
        raise InputError(f"{PROGRAM} seeds: {names[0]}: two entries have this name; give NAME=ENTRY")
    print(f"| seed | {names[0]} | {names[1]} | ahead |\n|---|---|---|---|", flush=True)
    asked = range(options.first, options.first + options.seeds)
    meetings = []
    for meeting in seeds.meet(
        (first, second), benchmark, asked, options.out, jobs=options.jobs, ray=options.ray
    ):
        meetings.append(meeting)
        print(seeds.line(meeting, names), flush=True)
    print(seeds.verdict(meetings, names))
    return 0


@reports_input_errors
def main() -> int:
    """Run the process's command line."""
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.argv[0] = PROGRAM
    raise SystemExit(main())
