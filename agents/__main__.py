"""``leogym agents``: import, judge, search, plot and ship policies; benchmarks of training."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from leogym.agents import bench_options, ship
from leogym.agents.published import actors
from leogym.agents.search import options as search
from leogym.agents.worst_cases import options as worst_cases
from leogym.common import extras
from leogym.common.command_line import OneLineParser, leogym_command
from leogym.common.errors import reports_input_errors

PROGRAM = "leogym agents"


@reports_input_errors
def main() -> int:
    """Run the process's command line; return its exit status."""
    return run(sys.argv[1:])


def parser(searches: bool = False) -> OneLineParser:
    """Return the command line's parser; ``searches`` adds ``search``, which higher rooms carry out."""
    parser = OneLineParser(
        prog=PROGRAM,
        description="Import checkpoints, search programs, evaluate, plot and ship policies.",
        examples=("held-out runs/a", "curves runs/seed-1 runs/seed-2 --metric reward"),
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add = commands.add_parser(
        "import",
        help="convert a checkpoint that a scheme's authors published to a policy",
        examples=("orca CHECKPOINT", "sage CHECKPOINT --out runs/sage-published"),
    )
    add.add_argument("scheme", choices=sorted([*actors.SCHEMES, "sage"]))
    add.add_argument("checkpoint", type=Path, help="its path without .index and .data-…")
    add.add_argument("--out", type=Path, metavar="DIR", help="default: runs/SCHEME-published")
    add = commands.add_parser(
        "held-out",
        help="evaluate a policy on scenarios unused in training and selection; print JSON",
        examples=("runs/a", "agents/trained/astraea --episodes 8 --scenarios leo"),
    )
    add.add_argument("policy", type=Path, help="folder of a training run or an imported policy")
    add.add_argument("--episodes", type=int, default=32)
    add.add_argument(
        "--links",
        type=int,
        default=0,
        metavar="N",
        help="also count on how many of N links the bars of agents/training/bars.py hold",
    )
    add.add_argument(
        "--scenarios",
        metavar="NAME|FILE",
        help="a sampler, scenario or suite, a file of one, or a training configuration that has the ranges "
        "(default: the run's ranges, or the agent's for a policy without a run)",
    )
    add = commands.add_parser(
        "returns",
        help="returns of random actions and shipped policies in the environments, as a table",
        examples=("leo/SingleFlow-v0", "leo/Starlink-v1 --episodes 8"),
    )
    add.add_argument("ids", nargs="*", metavar="ID", help="such as leo/SingleFlow-v0 (default: all)")
    add.add_argument("--episodes", type=int, default=64, help="episodes of each policy (default: 64)")
    add = commands.add_parser(
        "curves",
        help="learning curves over seeds, with intervals",
        examples=("runs/seed-1 runs/seed-2", "runs/a --metric reward --out runs/curves"),
    )
    add.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="folders of training runs")
    add.add_argument(
        "--metric",
        default="held_out_reward",
        help="held_out_COLUMN of evaluation.csv (runs with held_out_episodes), or a column of progress.csv",
    )
    add.add_argument("--out", type=Path, metavar="DIR", default=Path("runs/curves"))
    if searches:
        search.add_to(commands.add_parser("search", help=search.HELP, examples=search.EXAMPLES))
    add = commands.add_parser("worst-cases", help=worst_cases.HELP, examples=worst_cases.EXAMPLES)
    worst_cases.add_to(add)
    add = commands.add_parser(
        "ship",
        help="make a trained/ folder from runs that differ only in their seeds",
        examples=("runs/seed-1 runs/seed-2 --out runs/trained",),
    )
    add.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="folders of training runs")
    add.add_argument("--out", type=Path, metavar="DIR", required=True, help="agents/trained/SCHEME")
    bench_options.add_to(commands)
    return parser


def run(arguments: list[str], search_with: Callable[[argparse.Namespace], int] | None = None) -> int:
    """Run the command line ``arguments``; return the exit status. ``search_with`` carries out ``search``."""
    flags = parser(search_with is not None).parse_args(arguments)
    if flags.command.startswith("bench-"):
        return bench_options.carry_out(flags)
    if flags.command == "import":
        out = flags.out or Path("runs") / f"{flags.scheme}-published"
        if flags.scheme == "sage":
            with extras.needed_by("agents import sage"):
                from leogym.agents.published import sage  # here, because PyTorch takes a second to import

            folder = sage.import_policy(flags.checkpoint, out)
        else:
            folder = actors.import_policy(flags.scheme, flags.checkpoint, out)
        again = leogym_command("evaluate", "SUITE", "--schemes", f"{flags.scheme}-authors={out}")
        print(f"policy: {folder}\n{again}")
        return 0
    if flags.command == "curves":
        from leogym.agents import curves  # here, because drawing takes a second to import

        table, plot = curves.write(curves.curves(flags.runs, flags.metric), flags.metric, flags.out)
        print(f"table: {table}  plot: {plot}")
        return 0
    if flags.command == "search" and search_with is not None:
        return search_with(flags)
    if flags.command == "worst-cases":
        from leogym.agents.worst_cases import command  # here, so that an import needs no compiled module

        print(command.carry_out(flags))
        return 0
    if flags.command == "ship":
        print(f"chosen: {ship.ship(flags.runs, flags.out)}")
        return 0
    if flags.command == "returns":
        from leogym.agents import returns  # here, so that an import needs no compiled module

        print(returns.table(returns.measure(flags.ids or returns.IDS, flags.episodes)))
        return 0
    from leogym.agents import judging  # here, so that an import needs no compiled module

    print(json.dumps(judging.held_out(flags.policy, flags.episodes, flags.scenarios, flags.links)))
    return 0


if __name__ == "__main__":
    sys.argv[0] = PROGRAM
    raise SystemExit(main())
