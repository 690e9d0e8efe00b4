"""Scores summarized over repeats: a row per group of paths, detector and lateness of the hints."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from leogym.results.intervals import Interval, intervals, seed_of
from studies.detection.runs import Scored

METRICS = ("precision", "recall", "recall_of_steps", "lag_s", "power")
HEADINGS = ("precision", "recall", "of steps", "lag (s)", "power")


@dataclass(frozen=True)
class Row:
    """One detector on one group of paths, with equally late hints."""

    group: str
    detector: str
    error_s: float | None
    """How late the hints are; None: it hears none."""
    metrics: dict[str, Interval]
    """By the names of `METRICS`. Repeats without a value are left out, as are metrics without any."""


def summarized(scores: Sequence[Scored]) -> list[Row]:
    """Return means over repeats with 95 % intervals, bootstrapped as those of ``summary.csv``."""
    groups: dict[tuple[str, str, float | None], list[Scored]] = {}
    for scored in scores:
        groups.setdefault((scored.group, scored.detector, scored.error_s), []).append(scored)
    order = {key: rank for rank, key in enumerate(dict.fromkeys((key[0], key[1]) for key in groups))}
    rows = [Row(*key, _intervals(key, runs)) for key, runs in groups.items()]
    return sorted(rows, key=lambda row: (order[row.group, row.detector], row.error_s or 0.0))


def _intervals(key: tuple[object, ...], runs: Sequence[Scored]) -> dict[str, Interval]:
    values = {name: [_value(scored, name) for scored in runs] for name in METRICS}
    there = {name: [value for value in column if value is not None] for name, column in values.items()}
    metrics: dict[str, Interval] = {}
    # One bootstrap serves all metrics of the same runs.
    for n in sorted({len(column) for column in there.values()} - {0}):
        alike = [name for name in METRICS if len(there[name]) == n]
        seed = seed_of("detection", *map(str, key))
        metrics |= zip(alike, intervals([there[name] for name in alike], seed), strict=True)
    return metrics


def _value(scored: Scored, metric: str) -> float | None:
    return scored.power if metric == "power" else getattr(scored.score, metric)


def as_csv(rows: Sequence[Row]) -> str:
    """Return the rows as CSV in long form, like ``summary.csv``; an interval of one repeat is empty."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["paths", "detector", "hint_error_s", "metric", "mean", "ci_low", "ci_high", "n"])
    for row in rows:
        for name, interval in row.metrics.items():
            ends = [
                "" if value != value else f"{value:.6g}"
                for value in (interval.mean, interval.low, interval.high)
            ]
            error = "" if row.error_s is None else f"{row.error_s:g}"
            table.writerow([row.group, row.detector, error, name, *ends, interval.n])
    return text.getvalue()


def _cells(row: Row) -> list[str]:
    error = "–" if row.error_s is None else f"{row.error_s:g}"
    return [row.group, row.detector, error, *(_text(row.metrics.get(name)) for name in METRICS)]


def _text(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    return (
        f"{interval.mean:.2f}"
        if interval.low != interval.low
        else f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
    )


def as_table(rows: Sequence[Row]) -> Table:
    """Return the rows as a table for the terminal."""
    table = Table("paths", "detector", "hints late by (s)", box=None, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*_cells(row))
    return table


def as_markdown(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = [["paths", "detector", "hints late by (s)", *HEADINGS], ["---"] * 8, *map(_cells, rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
