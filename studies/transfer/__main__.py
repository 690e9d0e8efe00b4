"""``python -m studies.transfer``: how far policies on real TCP are from the simulator."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from leogym.common.command_line import OneLineParser
from leogym.common.errors import InputError, reports_input_errors

RUN = ["suite", "scenario", "scheme", "repeat", "flow"]
METRICS = {"goodput": "goodput_mbps", "RTT": "rtt_mean_ms"}


def distances(folder: Path) -> pl.DataFrame:
    """Return a row per run on a real kernel with its goodput and mean RTT over the simulator's, less 1.

    ``folder`` has an evaluation of the same suites in ``simulator`` and in one folder per other backend.
    """
    files = sorted(folder.glob("*/runs.parquet"))
    runs = {file.parent.name: pl.read_parquet(file, columns=[*RUN, *METRICS.values()]) for file in files}
    if "simulator" not in runs or len(runs) < 2:
        raise InputError(f"{folder}: has no evaluations in simulator/ and a folder beside it")
    simulated = runs.pop("simulator")
    rows = []
    for backend, measured in runs.items():
        joined = measured.join(simulated, on=RUN, suffix="_simulated")
        ratios = [
            (pl.col(column) / pl.col(f"{column}_simulated") - 1).alias(name)
            for name, column in METRICS.items()
        ]
        rows.append(joined.select(pl.lit(backend).alias("backend"), "scheme", "scenario", *ratios))
    return pl.concat(rows)


def table(rows: pl.DataFrame) -> str:
    """Return the median and the largest distance of each scheme on each backend as a Markdown table."""
    lines = ["| scheme | backend | goodput, median (largest) | mean RTT, median (largest) | runs |"]
    lines.append("|---|---|---:|---:|---:|")
    for (scheme, backend), group in rows.group_by("scheme", "backend", maintain_order=True):
        cells = [f"{group[name].abs().median():.1%} ({max(group[name], key=abs):+.1%})" for name in METRICS]
        lines.append(f"| {scheme} | {backend} | {' | '.join(cells)} | {len(group)} |")
    return "\n".join(lines)


@reports_input_errors
def main(words: Sequence[str] | None = None) -> int:
    """Print the table of the evaluations in a folder, and every run with ``--runs``."""
    parser = OneLineParser(prog="python -m studies.transfer", description=__doc__)
    parser.add_argument("folder", type=Path, help="with an evaluation in simulator/, and in lab/, kernel/, …")
    parser.add_argument("--runs", action="store_true", help="every run")
    arguments: Namespace = parser.parse_args(words)
    rows = distances(arguments.folder).sort("scheme", "backend", "scenario")
    if arguments.runs:
        for backend, scheme, scenario, goodput, rtt in rows.iter_rows():
            print(f"{scheme:10} {backend:9} {scenario:24} goodput {goodput:+7.1%}  mean RTT {rtt:+7.1%}")
        return 0
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
