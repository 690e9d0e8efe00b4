"""``leogym agents``: import, judge, search, plot and ship policies; benchmarks of training."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from leogym.agents import ship
from leogym.agents.published import actors
from leogym.common import extras
from leogym.common.command_line import OneLineParser, as_folder, leogym_command
from leogym.common.errors import reports_input_errors

PROGRAM = "leogym agents"
ENGINES = ("sb3", "rllib", "native")
OBJECTIVES = ("power", "share")


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
        "--scenarios",
        metavar="NAME|FILE",
        help="a sampler, scenario or suite, a file of one, or a training configuration that has the ranges "
        "(default: the run's ranges, or the agent's for a policy without a run)",
    )
    add = commands.add_parser(
        "returns",
        help="returns of random actions and shipped policies in the environments, as a table",
        examples=("leo/SingleFlow-v0", "leo/Starlink-v2 --episodes 8"),
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
        _add_search(commands)
    _add_worst_cases(commands)
    add = commands.add_parser(
        "ship",
        help="make a trained/ folder from runs that differ only in their seeds",
        examples=("runs/seed-1 runs/seed-2 --out runs/trained",),
    )
    add.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="folders of training runs")
    add.add_argument("--out", type=Path, metavar="DIR", required=True, help="agents/trained/SCHEME")
    _add_benchmarks(commands)
    return parser


def _add_search(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "search",
        help="improve the numbers of a small program by evolution against LeoBench's dev split",
        examples=(
            "agents/search/programs/queue-target.yaml --out runs/found",
            "mine.yaml --generations 40 --population 16 --ray 10.0.0.1:6379",
            "runs/found/program.yaml --out runs/found-further",
        ),
    )
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


def _add_worst_cases(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "worst-cases",
        help="search the scenarios in which a scheme or policy does worst beside the oracle",
        examples=(
            "orbit",
            "runs/a --objective share --restarts 8",
            "cubic --scenario runs/worst-cubic/power-1.yaml",
        ),
    )
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


def _add_benchmarks(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser(
        "bench-engines",
        help="check that the engines learn the same specification equally well",
        examples=("--seeds 3", "--engines sb3 native --steps 20000"),
    )
    command.add_argument("--seeds", type=positive, default=3, help="per engine; an interval needs two")
    command.add_argument("--steps", type=int, default=60_000)
    command.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    command = commands.add_parser(
        "bench-clone",
        help="compare a policy's power with that of the best scheme of the pool",
        examples=("runs/clone/policy", "agents/trained/clone/policy --scenarios 40 --duration 21"),
    )
    command.add_argument("policy", type=Path)
    command.add_argument("--scenarios", type=positive, default=20)
    command.add_argument("--duration", type=float, default=28.0, help="seconds per run")
    command.add_argument("--threads", type=int, default=1)


def benchmark(flags: argparse.Namespace) -> int:
    """Run a benchmark, which prints one JSON object per line; return its exit status."""
    with extras.needed_by(f"agents {flags.command}"):
        if flags.command == "bench-engines":
            from leogym.agents.engines import bench  # here, as all, because PyTorch takes a second to import

            return bench.compare(flags.seeds, flags.steps, flags.engines)
        from leogym.agents.clone import evaluation

        return evaluation.compare(flags.policy, flags.scenarios, flags.duration, flags.threads)


def positive(text: str) -> int:
    """Parse a whole number above 0 for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be a whole number above 0")
    return int(text)


def run(arguments: list[str], search_with: Callable[[argparse.Namespace], int] | None = None) -> int:
    """Run the command line ``arguments``; return the exit status. ``search_with`` carries out ``search``."""
    flags = parser(search_with is not None).parse_args(arguments)
    if flags.command.startswith("bench-"):
        return benchmark(flags)
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

    print(json.dumps(judging.held_out(flags.policy, flags.episodes, flags.scenarios)))
    return 0


if __name__ == "__main__":
    sys.argv[0] = PROGRAM
    raise SystemExit(main())
