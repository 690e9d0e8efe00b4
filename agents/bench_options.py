"""``leogym agents bench-learning|bench-engines|bench-sage``: their options, without their imports."""

import argparse
from pathlib import Path

from leogym.agents.training.settings import CONFIGS
from leogym.common import extras

ENGINES = ("sb3", "rllib", "native")


def add_to(commands: argparse._SubParsersAction) -> None:
    """Add the three commands."""
    command = commands.add_parser(
        "bench-learning",
        help="train for minutes from several seeds, and compare each policy with the untrained network",
        examples=("--seeds 3 --minutes 4",),
    )
    command.add_argument("--seeds", type=positive, default=3)
    command.add_argument("--minutes", type=float, default=4.0)
    command.add_argument("--config", type=Path, default=CONFIGS / "astraea-minutes.yaml")
    command = commands.add_parser(
        "bench-engines",
        help="check that the engines learn the same specification equally well",
        examples=("--seeds 3", "--engines sb3 native --steps 20000"),
    )
    command.add_argument("--seeds", type=positive, default=3, help="per engine; an interval needs two")
    command.add_argument("--steps", type=int, default=60_000)
    command.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    command = commands.add_parser(
        "bench-sage",
        help="compare a policy's power with that of the best scheme of Sage's pool",
        examples=("runs/sage/policy", "agents/trained/sage/policy --scenarios 40 --duration 21"),
    )
    command.add_argument("policy", type=Path)
    command.add_argument("--scenarios", type=int, default=20)
    command.add_argument("--duration", type=float, default=28.0, help="seconds per run")
    command.add_argument("--threads", type=int, default=1)


def carry_out(flags: argparse.Namespace) -> int:
    """Run a benchmark, which prints one JSON object per line; return its exit status."""
    with extras.needed_by(f"agents {flags.command}"):
        if flags.command == "bench-learning":
            from leogym.agents.astraea import bench  # here, as all, because PyTorch takes a second to import

            return bench.compare(flags.seeds, flags.minutes, flags.config)
        if flags.command == "bench-engines":
            from leogym.agents.engines import bench

            return bench.compare(flags.seeds, flags.steps, flags.engines)
        from leogym.agents.sage import evaluation

        return evaluation.compare(flags.policy, flags.scenarios, flags.duration, flags.threads)


def positive(text: str) -> int:
    """Parse a whole number above 0 for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be a whole number above 0")
    return int(text)
