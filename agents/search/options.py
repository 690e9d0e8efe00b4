"""The options of ``leogym agents search``."""

import argparse
from pathlib import Path

from leogym.common.command_line import as_folder

EXAMPLES = (
    "agents/search/programs/queue-target.yaml --out runs/found",
    "mine.yaml --generations 40 --population 16 --ray 10.0.0.1:6379",
    "runs/found/program.yaml --out runs/found-further",
)
HELP = "improve the numbers of a small program by evolution against LeoBench's dev split"


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options to a parser."""
    add = parser.add_argument
    add("program", type=Path, metavar="FILE", help="a program: agents/search/README.md has the grammar")
    add("--out", type=as_folder, default=Path("runs/search"), metavar="DIR", help="(default: runs/search)")
    add("--resume", action="store_true", help="continue the search in --out")
    add("--generations", type=int, default=20, metavar="N", help="0 exports the start (default: 20)")
    add("--population", type=int, default=8, metavar="N", help="candidates of a generation (default: 8)")
    add("--runs", type=int, default=2, metavar="N", help="runs of each suite in a generation (default: 2)")
    add("--seed", type=int, default=1, metavar="S", help="with it the winner is the same (default: 1)")
    add("--jobs", type=int, default=0, metavar="N", help="runs at a time (default: one a core)")
    add("--ray", metavar="ADDRESS", help="run on the Ray cluster at this address; local starts one here")
    add("--version", default="v1", metavar="NAME", help="of LeoBench (default: v1)")
    add(
        "--decision-us",
        type=float,
        default=20.0,
        metavar="US",
        help="CPU time that a decision may take (default: 20)",
    )
