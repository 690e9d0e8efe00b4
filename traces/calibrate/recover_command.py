"""The command ``traces recover``: data of known parameters, and how well ``calibrate`` finds these again."""

import argparse
from typing import Any

import numpy as np

from leogym.common.errors import InputError
from leogym.traces.capacity import terminal

FEWEST_SLOTS, MOST_SLOTS = 8, 20_000
MOST_REPEATS = 100


def add(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "recover",
        help="make data of known parameters, and say how well calibrate finds them",
        examples=("--slots 960 --repeats 4", "starlink-victoria-2024 --slots 240"),
    )
    parser.add_argument(
        "truth", nargs="?", metavar="NAME|FILE", help="the known parameters, default a made-up terminal"
    )
    parser.add_argument("--slots", type=int, default=240, metavar="N", help="data, in 15 s; default 240")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="sets of data, default 3")
    parser.add_argument(
        "--model", default="starlink", metavar="NAME|FILE", help="parameters that the fits begin with"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first set, default 0")


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand and return its exit status."""
    for flag, value, low, high in (
        ("slots", arguments.slots, FEWEST_SLOTS, MOST_SLOTS),
        ("repeats", arguments.repeats, 1, MOST_REPEATS),
    ):
        if not low <= value <= high:
            raise InputError(f"recover: --{flag}: must be from {low} to {high:,}, not {value}")
    if arguments.seed < 0:
        raise InputError(f"recover: --seed: must be at least 0, not {arguments.seed}")
    start = terminal.load(arguments.model)
    named = None if arguments.truth is None else terminal.load(arguments.truth)
    # It imports libraries that load slowly.
    from leogym.traces.calibrate import recovery

    truth = recovery.known() if named is None else named
    recovered = recovery.recover(truth, start, arguments.slots, arguments.repeats, arguments.seed)
    hours = arguments.slots * recovery.PERIOD_S / 3600
    print(f"{arguments.repeats} times {arguments.slots} slots of {recovery.PERIOD_S} s ({hours:.1f} h)")
    print(f"{'relative to a mean':<32}{'error':>8}{'bias':>8}{'spread':>8}{'slots for 5 %':>15}")
    for parameter in recovered:
        shares = (parameter.error, parameter.bias, parameter.spread)
        cells = "".join(f"{'' if np.isnan(share) else f'{share:.1%}':>8}" for share in shares)
        needs = "" if np.isnan(parameter.needs) else f"{max(1, round(parameter.needs * arguments.slots)):,}"
        print(f"  {parameter.field:<30}{cells}{needs:>15}")
    return 0
