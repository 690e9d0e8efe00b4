"""``python -m studies.quic``: tables of QUIC stacks and Linux's TCP from an evaluation of quic-leo."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from leogym.common.command_line import OneLineParser
from leogym.common.errors import InputError, reports_input_errors
from leogym.kernel_bridge.lab import image
from leogym.kernel_bridge.quic import stacks
from leogym.results import intervals

SUITE = "quic-leo"
SMALL, LARGE = "100 kB", "4 MB"
QUANTITIES = (
    (f"{SMALL}, s", SMALL, "completion_s", 1, 2),
    (f"{LARGE}, s", LARGE, "completion_s", 1, 2),
    ("RTT over base", LARGE, "delay_inflation", 1, 2),
    (f"lost of {LARGE}, %", LARGE, "loss_rate", 100, 1),
    (f"lost of {SMALL}, %", SMALL, "loss_rate", 100, 1),
)
"""Header, download, column of a run, its factor, and decimals."""


def read(folder: Path) -> pl.DataFrame:
    """Return the suite's runs with their ``path`` and ``load``, of the repeats that all schemes have.

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
    runs = runs.unnest("scenario")
    count = pl.len().over("repeat")
    return runs.filter(count == count.max())


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

    Means are over the downloads that ended within the run; the last column counts the others.
    """
    lines = [f"| scheme | version | {' | '.join(header for header, *_ in QUANTITIES)} | did not end |"]
    lines.append("|---|---|" + "---:|" * (len(QUANTITIES) + 1))
    for (scheme,), group in runs.group_by("scheme", maintain_order=True):
        ended = group.filter(pl.col("completion_s").is_not_null())
        cells = []
        for header, load, column, factor, decimals in QUANTITIES:
            chosen = ended.filter(pl.col("load") == load)
            # The mean is over these paths, so their differences are no error of it.
            values = intervals.within((chosen[column] * factor).to_list(), chosen["path"].to_list())
            mean = intervals.interval(values, intervals.seed_of(str(scheme), header))
            cells.append(f"{mean.mean:.{decimals}f} [{mean.low:.{decimals}f}, {mean.high:.{decimals}f}]")
        cells.append(f"{len(group) - len(ended)} of {len(group)}")
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


@reports_input_errors
def main(words: Sequence[str] | None = None) -> int:
    """Print the tables of an evaluation."""
    parser = OneLineParser(prog="python -m studies.quic", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder of an evaluation of quic-leo")
    runs = read(parser.parse_args(words).folder)
    schemes = runs["scheme"].unique(maintain_order=True).to_list()
    print(f"{runs['repeat'].n_unique()} seeds, {runs['path'].n_unique()} paths\n")
    print(by_scheme(runs, versions(schemes)), by_path(runs, SMALL), by_path(runs, LARGE), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
