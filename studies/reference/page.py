"""The study's generated files: the tables of README.md, a figure per environment, and the missing cells."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from leogym.results import baselines
from studies.reference import records
from studies.reference.anchors import ANCHORS
from studies.reference.cells import SEEDS, Cell, every_id
from studies.reference.learners import ALGORITHMS, LABELS, ON_POLICY

PAGE = Path(__file__).parent / "README.md"
FIGURES = Path(__file__).parent / "figures"
BEGIN, END = "<!-- begin: written by `python -m studies.reference page` -->", "<!-- end -->"
SHOWN = (50_000, 200_000, 1_000_000)
"""The points of the tables."""


def write() -> None:
    """Write the tables into README.md, and the figures."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    text = "\n".join(generated(baselines.runs()))
    PAGE.write_text(f"{head}{BEGIN}\n\n{text}\n{END}{tail}", encoding="utf-8")
    FIGURES.mkdir(exist_ok=True)
    for name in learned_ids(baselines.runs()):
        baselines.plot(name).savefig(figure_file(name), dpi=110)


def figure_file(name: str) -> Path:
    """Return the file of the figure of environment ``name``."""
    return FIGURES / f"{name.replace('/', '-')}.png"


def learned_ids(table: pl.DataFrame) -> list[str]:
    """Return the environments in which an algorithm has results."""
    learned = set(table.filter(pl.col("point") > 0)["id"])
    return [name for name in every_id() if name in learned]


def generated(table: pl.DataFrame) -> Iterator[str]:
    """Yield the lines between the page's marks."""
    for point in SHOWN:
        yield from returns_table(table, point)
    yield from times_table(table)
    yield from missing(table)
    for name in learned_ids(table):
        yield f"![learning curves in {name}](figures/{figure_file(name).name})"
        yield ""


def returns_table(table: pl.DataFrame, point: int) -> Iterator[str]:
    """Yield the table of returns after ``point`` steps: a row per algorithm, a column per environment."""
    names = every_id()
    algorithms = [name for name in ALGORITHMS if point <= 200_000 or name in ON_POLICY]
    yield f"### After {point:,} steps"
    yield ""
    yield f"| algorithm | {' | '.join(f'`{name}`' for name in names)} |"
    yield f"|---|{'---:|' * len(names)}"
    for anchor in ANCHORS:
        cells = [_value(_of(table, anchor, name, 0)) for name in names]
        yield f"| *{anchor}* | {' | '.join(cells)} |"
    for algorithm in algorithms:
        cells = [_value(_of(table, algorithm, name, point)) for name in names]
        yield f"| {LABELS[algorithm]} | {' | '.join(cells)} |"
    yield ""


def times_table(table: pl.DataFrame) -> Iterator[str]:
    """Yield the table of seconds of CPU per 100,000 steps."""
    yield "### CPU time"
    yield ""
    yield "Seconds of one core for 100,000 steps of training, without evaluation; median over cells."
    yield ""
    yield "| algorithm | s | cells |"
    yield "|---|---:|---:|"
    latest = table.filter(pl.col("point") > 0).sort("point").group_by("algorithm", "id", "seed").last()
    for algorithm in ALGORITHMS:
        rows = latest.filter(pl.col("algorithm") == algorithm)
        if len(rows):
            seconds = (rows["cpu_s"] / rows["steps"] * 1e5).median()
            yield f"| {LABELS[algorithm]} | {seconds:.0f} | {len(rows)} |"
    yield ""


def missing(table: pl.DataFrame) -> Iterator[str]:
    """Yield the paragraph on cells that have not reached their last point."""
    cells = [Cell(algorithm, name, seed) for algorithm in ALGORITHMS for name in every_id() for seed in SEEDS]
    reached = {cell: records.reached(cell, table) for cell in cells}
    yield "### Missing cells"
    yield ""
    for point in SHOWN:
        of_point = [cell for cell in cells if cell.points[-1] >= point]
        done = sum(reached[cell] >= point for cell in of_point)
        yield f"- {point:,} steps: {done} of {len(of_point)} cells are there"
    yield ""


def _of(table: pl.DataFrame, algorithm: str, name: str, point: int) -> list[float]:
    rows = table.filter(
        pl.col("algorithm") == algorithm, pl.col("id") == name, pl.col("point") == point
    ).sort("seed")
    if algorithm in ALGORITHMS:
        rows = rows.filter(pl.col("digest") == Cell(algorithm, name, SEEDS[0]).digest())
    return rows["return_mean"].to_list()


def _value(values: list[float]) -> str:
    """Return the interquartile mean with its interval and number of seeds, or "missing"."""
    if not values:
        return "missing"
    mean = baselines.interquartile_mean(values)
    low, high = baselines.interval(values)
    if low is None or high is None:
        return _number(mean)
    return f"{_number(mean)} ({_number(low)} to {_number(high)}; {len(values)} seeds)"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"
