"""The options of ``leogym agents worst-cases``, without the search's imports."""

import argparse
from pathlib import Path

HELP = "search the scenarios in which a scheme or policy does worst beside the oracle"
EXAMPLES = (
    "orbit",
    "runs/a --objective share --restarts 8",
    "cubic --scenario runs/worst-cubic/power-1.yaml",
)
OBJECTIVES = ("power", "share")


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add("policy", help="a scheme, a shipped policy, or a policy's folder")
    help_text = "power of all flows together, or the lowest share of a flow (default: both in turn)"
    add("--objective", choices=OBJECTIVES, help=help_text)
    add("--restarts", type=int, default=4, metavar="N", help="searches of each (default: 4)")
    help_text = "generations of a search, of 8 scenarios each (default: 8)"
    add("--generations", type=int, default=8, metavar="N", help=help_text)
    add("--seed", type=int, default=1, metavar="S")
    add("--out", type=Path, metavar="DIR", help="default: runs/worst-NAME")
    help_text = "measure in this scenario instead of searching"
    add("--scenario", type=Path, metavar="FILE", help=help_text)
