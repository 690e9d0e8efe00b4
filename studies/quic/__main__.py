"""``python -m studies.quic``: tables of QUIC stacks and Linux's TCP from an evaluation of quic-leo."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import leosim
import numpy as np
import polars as pl

from leogym.common.command_line import OneLineParser
from leogym.common.errors import InputError, reports_input_errors
from leogym.kernel_bridge.lab import image
from leogym.kernel_bridge.quic import stacks
from leogym.results import intervals
from leogym.traces.path import cache

SUITE = "quic-leo"
LOADS = ("100 kB", "1 MB", "4 MB", "10 MB")
LARGE = "4 MB"
LONG = "30 s"
BESIDE = "beside CUBIC"
QUANTITIES = (
    *((f"{load}, s", load, "completion_s", 1, 2) for load in LOADS),
    ("RTT over base", LARGE, "delay_inflation", 1, 2),
    *((f"lost of {load}, %", load, "loss_rate", 100, 1) for load in LOADS[:3]),
    ("share beside CUBIC, %", BESIDE, "share", 100, 0),
)
"""Header, load, column of a run, its factor, and decimals."""
AROUND_S = 2.0
"""Seconds before and after a change of path that are compared."""
CHANGES = {
    "scheme": pl.String,
    "path": pl.String,
    "outage": pl.Boolean,
    "goodput": pl.Float64,
    "lost": pl.Int64,
}
"""Columns of `around_changes`."""
KINDS = {True: "with an outage", False: "without"}
"""Kinds of changes of path, and their words."""


def read(folder: Path) -> pl.DataFrame:
    """Return the suite's runs with their ``path`` and ``load``: of each load, repeats that all schemes have.

    An evaluation that goes on lacks runs of its last repeats.

    Raises:
        InputError: the folder has no runs of the suite.
    """
    file = folder / "runs.parquet"
    runs = pl.read_parquet(file).filter(pl.col("suite") == SUITE) if file.is_file() else None
    if runs is None or runs.is_empty():
        raise InputError(f"{folder}: has no runs of {SUITE}")
    runs = runs.with_columns(
        pl.col("scenario").str.split_exact(", ", 1).struct.rename_fields(["path", "load"])
    )
    # Beside CUBIC, the second flow is CUBIC's.
    runs = runs.unnest("scenario").filter(pl.col("flow") == 0)
    count = pl.len().over("load", "repeat")
    return runs.filter(count == count.max().over("load"))


def versions(schemes: Sequence[str]) -> dict[str, str]:
    """Return the versions of the schemes' stacks on this machine, and that of the lab's kernel.

    Raises:
        InputError: a stack is not installed, or there is no image of the lab.
    """
    known = stacks.registered()
    kernel = f"Linux {image.latest().manifest['kernel']}"
    return {scheme: stacks.version(known[scheme].stack) if scheme in known else kernel for scheme in schemes}


def by_scheme(runs: pl.DataFrame, versions: Mapping[str, str]) -> str:
    """Return a Markdown table with each scheme's means over paths and repeats, and their 95 % intervals.

    Means are over the downloads that ended within the run; the last column counts the others. Beside CUBIC,
    the row is the scheme's own flow.
    """
    lines = [f"| scheme | version | {' | '.join(header for header, *_ in QUANTITIES)} | did not end |"]
    lines.append("|---|---|" + "---:|" * (len(QUANTITIES) + 1))
    for (scheme,), group in runs.group_by("scheme", maintain_order=True):
        downloads = group.filter(pl.col("load").is_in(LOADS))
        ended = downloads.filter(pl.col("completion_s").is_not_null())
        cells = []
        for header, load, column, factor, decimals in QUANTITIES:
            chosen = (group if load == BESIDE else ended).filter(pl.col("load") == load)
            if chosen[column].null_count() == len(chosen):
                cells.append("–")
                continue
            # The mean is over these paths, so their differences are no error of it.
            values = intervals.within((chosen[column] * factor).to_list(), chosen["path"].to_list())
            mean = intervals.interval(values, intervals.seed_of(str(scheme), header))
            cells.append(f"{mean.mean:.{decimals}f} [{mean.low:.{decimals}f}, {mean.high:.{decimals}f}]")
        cells.append(f"{len(downloads) - len(ended)} of {len(downloads)}")
        lines.append(f"| {scheme} | {versions[str(scheme)]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def by_path(runs: pl.DataFrame, load: str) -> str:
    """Return a Markdown table with the mean completion time of a download, in s, on each path."""
    means = runs.filter(pl.col("load") == load).pivot(
        "path", index="scheme", values="completion_s", aggregate_function="mean", maintain_order=True
    )
    lines = ["| " + " | ".join([f"{load}, s", *means.columns[1:]]) + " |"]
    lines.append("|---|" + "---:|" * (len(means.columns) - 1))
    lines += [
        f"| {scheme} | " + " | ".join("–" if value is None else f"{value:.2f}" for value in row) + " |"
        for scheme, *row in means.rows()
    ]
    return "\n".join(lines)


def changes_s(trace: leosim.PathTrace, offset_s: float, until_s: float) -> list[tuple[float, bool]]:
    """Return the changes of path in the first ``until_s`` of a run, and whether each begins with an outage.

    The run begins ``offset_s`` into the path trace.
    """
    begins = np.flatnonzero(np.diff(trace.path_id.astype(np.int64))) + 1
    times_s = (trace.time_ns[begins] / 1e9 - offset_s) % (trace.period_ns / 1e9)
    connected = trace.connected
    changes = [(time_s, not connected[row]) for time_s, row in zip(times_s, begins, strict=True)]
    return sorted((float(time_s), bool(outage)) for time_s, outage in changes if time_s < until_s)


def around_changes(folder: Path, runs: pl.DataFrame) -> pl.DataFrame:
    """Return a row per change of path within a run of `LONG`, away from its begin and end.

    Columns: ``scheme``, ``path``, ``outage``, ``goodput`` (after the change, over that before) and ``lost``
    (packets after it), each within `AROUND_S`.
    """
    series = pl.scan_parquet(folder / "series/flows/*.parquet").filter(pl.col("suite") == SUITE)
    series = series.select("scenario", "scheme", "repeat", "time_s", "goodput_mbps", "lost_packets").collect()
    by_run = series.partition_by("scenario", "scheme", "repeat", as_dict=True)
    rows = []
    for run in runs.filter(pl.col("load") == LONG).to_dicts():
        rows_of_run = by_run[f"{run['path']}, {LONG}", run["scheme"], run["repeat"]]
        time_s = pl.col("time_s")
        for change_s, outage in changes_s(cache.load(run["path"]), run["offset_s"], run["stop_s"]):
            if not 2 * AROUND_S <= change_s <= run["stop_s"] - AROUND_S:
                continue
            before = rows_of_run.filter(time_s > change_s - AROUND_S, time_s <= change_s)
            after = rows_of_run.filter(time_s > change_s, time_s <= change_s + AROUND_S)
            rows.append(
                {
                    **{name: run[name] for name in ("scheme", "path")},
                    "outage": outage,
                    "goodput": after["goodput_mbps"].to_numpy().mean()
                    / before["goodput_mbps"].to_numpy().mean(),
                    "lost": after["lost_packets"].sum(),
                }
            )
    return pl.DataFrame(rows, schema=CHANGES)


def by_change(changes: pl.DataFrame) -> str:
    """Return a Markdown table with each scheme's goodput and losses after changes of path of each kind."""
    headers = [
        f"{kind}: {quantity}"
        for kind in KINDS.values()
        for quantity in ("changes", "goodput, %", "lost packets")
    ]
    lines = ["| scheme | " + " | ".join(headers) + " |", "|---|" + "---:|" * len(headers)]
    for (scheme,), group in changes.group_by("scheme", maintain_order=True):
        cells = []
        for outage, kind in KINDS.items():
            chosen = group.filter(pl.col("outage") == outage)
            cells.append(str(len(chosen)))
            for column, factor, decimals in (("goodput", 100, 0), ("lost", 1, 1)):
                values = (chosen[column] * factor).to_list()
                if not values:
                    cells.append("–")
                    continue
                mean = intervals.interval(values, intervals.seed_of(str(scheme), kind, column))
                cells.append(f"{mean.mean:.{decimals}f} [{mean.low:.{decimals}f}, {mean.high:.{decimals}f}]")
        lines.append(f"| {scheme} | {' | '.join(cells)} |")
    return "\n".join(lines)


@reports_input_errors
def main(words: Sequence[str] | None = None) -> int:
    """Print the tables of an evaluation."""
    parser = OneLineParser(prog="python -m studies.quic", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder of an evaluation of quic-leo")
    folder = parser.parse_args(words).folder
    runs = read(folder)
    schemes = runs["scheme"].unique(maintain_order=True).to_list()
    seeds = runs.group_by("load", maintain_order=True).agg(pl.col("repeat").n_unique()).rows()
    in_words = ", ".join(f"{count} of {load}" for load, count in seeds)
    print(f"{runs['path'].n_unique()} paths; seeds: {in_words}\n")
    changes = around_changes(folder, runs)
    print(by_scheme(runs, versions(schemes)), *(by_path(runs, load) for load in LOADS), sep="\n\n")
    print(f"\n{by_change(changes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
