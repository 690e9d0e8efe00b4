"""``leogym bridge tunnel run|read``."""

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leogym.common.atomic import write_table
from leogym.common.errors import InputError
from leogym.kernel_bridge.runner.run_folder import TooSlowError
from leogym.kernel_bridge.tunnel.local_flow import run
from leogym.kernel_bridge.tunnel.measure import Logs, measured
from leogym.results.measurement import Measurement


def add_to(commands: Any) -> None:
    """Add the command ``tunnel`` to a parser."""
    parser = commands.add_parser(
        "tunnel",
        help="measure a path through pantheon-tunnel",
        examples=("run --seconds 5 --logs runs/tunnel", "read SENDER RECEIVER --scheme cubic"),
    )
    kinds = parser.add_subparsers(dest="tunnel", required=True, metavar="run|read")
    runs = kinds.add_parser(
        "run",
        help="run one flow through a tunnel on this machine: a tunnel's overhead",
        examples=("--seconds 5 --logs runs/tunnel",),
    )
    runs.add_argument("--scheme", default="cubic", help="the kernel's congestion control (default: cubic)")
    runs.add_argument("--seconds", type=float, default=10.0, help="how long the flow sends (default: 10)")
    runs.add_argument("--logs", type=Path, required=True, metavar="DIR", help="folder for both ends' logs")
    reads = kinds.add_parser(
        "read",
        help="make a run log from the logs of both ends",
        examples=("SENDER RECEIVER --scheme cubic --series series.parquet",),
    )
    reads.add_argument("sender", type=Path, help="folder with ingress.log and egress.log of the sending end")
    reads.add_argument("receiver", type=Path, help="the same for the receiving end")
    reads.add_argument("--scheme", default="unknown", help="the sender's congestion control")
    for subparser in (runs, reads):
        subparser.add_argument(
            "--series", type=Path, metavar="FILE.parquet", help="write the series, every 100 ms"
        )


def carry_out(options: argparse.Namespace) -> Iterator[str]:
    """Carry out the command line; yield the flow's summary as JSON.

    Raises:
        InputError: the machine lacks something, or logs cannot be read.
    """
    if options.tunnel == "read":
        log = measured(Logs.read(options.sender, options.receiver), options.scheme)
    else:
        if not (math.isfinite(options.seconds) and options.seconds > 0):
            raise InputError(f"--seconds: {options.seconds:g}: must be a positive number")
        try:
            log = run(options.scheme, options.seconds, options.logs)
        except (TooSlowError, RuntimeError) as error:
            raise InputError(str(error)) from None
    if options.series is not None:
        write_series(log, options.series)
    for flow in log.flows:
        numbers = {name: None if value != value else value for name, value in flow.items()}
        yield json.dumps(numbers)


def write_series(log: Measurement, path: Path) -> None:
    """Write the series of a run log's flows.

    Raises:
        InputError: the file cannot be written.
    """
    import polars as pl  # here, because the import takes time and only --series needs it

    try:
        write_table(path, pl.DataFrame(log.flow_series))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
