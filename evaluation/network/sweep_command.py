"""``leogym network sweep``."""

import argparse
from typing import Any

from leogym.common import signals
from leogym.common.command_line import as_folder
from leogym.common.errors import InputError
from leogym.configs import network as schema
from leogym.evaluation.network import cells, sweep


def add_to(commands: Any, help_text: str) -> None:
    """Add the command's parser to those of ``leogym network``."""
    command = commands.add_parser(
        "sweep",
        help="run networks with several schemes, loads and seeds, here or on a Ray cluster",
        examples=("hotspot --schemes cubic,bbr3,cubic+bbr3 --loads 1,2 --seeds 1,2,3 --out runs/sweep",),
    )
    add = command.add_argument
    add("networks", nargs="+", metavar="FILE", help=help_text)
    add("--out", type=as_folder, required=True, metavar="DIR", help="the output folder")
    add("--seeds", default="1,2,3", metavar="N,…", help="seeds (default: 1,2,3)")
    add(
        "--schemes",
        metavar="NAME[=DIR][+NAME…],…",
        help="schemes of all traffic, a run for each; + mixes several in equal shares",
    )
    add("--loads", default="1", metavar="X,…", help="factors on the rates of arrivals (default: 1)")
    add("--duration", type=float, metavar="S", help="replaces duration_s")
    add("--series-ms", type=float, default=1000.0, help="interval of the series (default: 1000)")
    add("--jobs", type=int, default=0, metavar="N", help="runs at a time (default: one per core)")
    add("--ray", metavar="ADDRESS", help="run on the Ray cluster at this address; local starts one here")
    add("--resume", action="store_true", help="keep the finished runs of a sweep that ended early")


def run(options: argparse.Namespace) -> None:
    """Run the sweep and print the table's path."""
    if options.jobs < 0:
        raise InputError(f"--jobs: must be at least 0, not {options.jobs}")
    networks = [schema.load(network) for network in options.networks]
    if options.duration is not None:
        networks = [
            schema.parse(network.model_dump() | {"duration_s": options.duration}, "--duration")
            for network in networks
        ]
    groups, given = [], {}
    if options.schemes is not None:
        groups, contestants = cells.parse_schemes(options.schemes)
        given = contestants.policies
    planned = cells.plan(
        networks, groups, _numbers(options.loads, "--loads", float), _numbers(options.seeds, "--seeds", int)
    )
    signals.on_interrupt(f"interrupted: {sweep.RESUME}")
    table = sweep.carry_out(
        planned,
        given,
        options.out,
        jobs=options.jobs,
        ray=options.ray,
        resume=options.resume,
        series_ms=options.series_ms,
    )
    print(f"{len(planned)} runs, {len(table)} rows: {options.out / sweep.TABLE}")


def _numbers(text: str, flag: str, kind: Any) -> list[Any]:
    try:
        numbers = [kind(item) for item in text.split(",")]
    except ValueError:
        raise InputError(f"{flag}: {text!r}: must be numbers separated by commas") from None
    if len(set(numbers)) < len(numbers) or min(numbers) < 0:
        raise InputError(f"{flag}: {text!r}: must be different numbers, at least 0")
    return numbers
