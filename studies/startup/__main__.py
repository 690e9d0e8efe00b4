"""``python -m studies.startup``: when the first flow of each run uses 90 % of its capacity."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np
import polars as pl
from numpy.typing import NDArray

from leogym.common.command_line import OneLineParser
from leogym.common.errors import InputError, reports_input_errors
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.recorded.series import read_table
from leogym.results.metrics import PAYLOAD_SHARE

USED = 0.9
"""Share of the capacity, in an interval of the series."""


@dataclass(frozen=True)
class Start:
    """A run's first flow."""

    suite: str
    scenario: str
    scheme: str
    after_s: float | None
    """From the flow's start, with its handshake, until `USED`; None if it did not get there."""
    rtts: float | None
    """The same in mean base RTTs, from the first data on if there was a handshake."""
    loss_rate: float


def after_s(
    end_s: NDArray[np.float64], goodput_mbps: NDArray[np.float64], capacity_mbps: NDArray[np.float64]
) -> float | None:
    """Return the end of the first interval whose goodput is at least `USED` of the payload's capacity."""
    full = np.flatnonzero((capacity_mbps > 0) & (goodput_mbps >= USED * PAYLOAD_SHARE * capacity_mbps))
    return float(end_s[full[0]]) if len(full) else None


def starts(results: Results) -> Iterator[Start]:
    """Yield the start of each run whose series are there."""
    for row in results.runs.filter(pl.col("flow") == 0).sort("suite", "scenario").iter_rows(named=True):
        where = row["suite"], row["scenario"], row["run_scheme"]
        files = results.series_files(*where, row["repeat"])
        if files is None:
            continue
        flows, links = read_table(files["flows"]), read_table(files["links"])
        capacity = links.group_by("time_s", maintain_order=True).agg(pl.col("capacity_mbps").min())
        mine = flows.filter(pl.col("flow") == 0).join(capacity, on="time_s", maintain_order="left")
        end_s = mine["time_s"].to_numpy() - row["start_s"]
        after = after_s(end_s, mine["goodput_mbps"].to_numpy(), mine["capacity_mbps"].to_numpy())
        scenario = results.scenario(row["suite"], row["scenario"], row["run_scheme"])
        shakes = 1.0 if scenario is not None and scenario.handshake else 0.0
        rtts = None if after is None else after * 1e3 / row["base_rtt_mean_ms"] - shakes
        yield Start(*where, after, rtts, row["loss_rate"])


def lines(measured: Sequence[Start], order: Sequence[str]) -> Iterator[str]:
    """Yield a table in Markdown: means over the repeats that got there, and how many did."""
    yield "| suite | scenario | scheme | 90 % after (s) | RTTs | repeats | loss (%) |"
    yield "|---|---|---|---|---|---|---|"
    groups: dict[tuple[str, str, str], list[Start]] = {}
    for start in measured:
        groups.setdefault((start.suite, start.scenario, start.scheme), []).append(start)
    for key in sorted(groups, key=lambda key: (key[0], key[1], order.index(key[2]))):
        mine = groups[key]
        there = [start for start in mine if start.after_s is not None]
        after = f"{mean(start.after_s or 0.0 for start in there):.2f}" if there else "–"
        rtts = f"{mean(start.rtts or 0.0 for start in there):.1f}" if there else "–"
        loss = mean(start.loss_rate for start in mine)
        yield f"| {' | '.join(key)} | {after} | {rtts} | {len(there)} of {len(mine)} | {loss:.2%} |".replace(
            "% |", " |"
        )


@reports_input_errors
def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table for an evaluation's folder."""
    parser = OneLineParser(prog="python -m studies.startup", description=__doc__)
    parser.add_argument("folder", type=Path, help="an evaluation with series of all its runs")
    options = parser.parse_args(arguments)
    results = Results.read(options.folder)
    measured = list(starts(results))
    if not measured:
        raise InputError(f"{options.folder}: series: there are none; evaluate with --series all")
    for line in lines(measured, list(dict.fromkeys(start.scheme for start in measured))):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
