"""The study's generated text: README.md's answer and tables, and a figure per environment."""

import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from leogym.registration import PRESETS
from leogym.results import baselines
from studies.reference.anchors import ANCHORS
from studies.reference.cells import SEEDS, SHOWN, Cell, every_id
from studies.reference.learners import ALGORITHMS, LABELS

PAGE = Path(__file__).parent / "README.md"
FIGURES = Path(__file__).parent / "figures"
BEGIN, END = "<!-- begin: written by `python -m studies.reference page` -->", "<!-- end -->"
_ANSWER = re.compile(r"\*\*Answer\.\*\* .*?(?=\n\n)", re.DOTALL)
THRESHOLDS = {preset.id: preset.threshold for preset in PRESETS}
FIRST = ("ppo", "sac")
"""The algorithms that the answer compares with Cubic and Orbit."""
JUDGED = ("ppo", "single_file_ppo", "rllib_ppo", "sac", "single_file_sac")
"""PPO and SAC in each library, one of which should reach each threshold."""


def write() -> None:
    """Write the answer and the tables into README.md, and the figures."""
    table = baselines.runs()
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), table), encoding="utf-8")
    FIGURES.mkdir(exist_ok=True)
    for name in learned_ids(table):
        baselines.plot(name).savefig(figure_file(name), dpi=110)


def rewritten(text: str, table: pl.DataFrame) -> str:
    """Return the page ``text`` with the answer and the tables of ``table``."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    paragraph = textwrap.fill(f"**Answer.** {' '.join(answer(table))}", 120, break_on_hyphens=False)
    head = _ANSWER.sub(lambda _: paragraph, head)
    return "\n".join([f"{head}{BEGIN}", "", *generated(table), f"{END}{tail}"])


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
    yield from thresholds_table(table)
    yield from times_table(table)
    for name in learned_ids(table):
        yield f"![learning curves in {name}](figures/{figure_file(name).name})"
        yield ""


def answer(table: pl.DataFrame) -> Iterator[str]:
    """Yield the sentences of the page's answer."""
    names, point = every_id(), SHOWN[0]
    anchors = {name: [_mean(table, anchor, name, 0) for anchor in ("cubic", "orbit")] for name in names}
    for algorithm in FIRST:
        returns = {name: _mean(table, algorithm, name, point) for name in names}
        returns = {name: value for name, value in returns.items() if value > -math.inf}
        if not returns:
            continue
        above = [sum(value > anchors[name][place] for name, value in returns.items()) for place in range(2)]
        yield (
            f"After {point:,} steps, {LABELS[algorithm]} earns more than Cubic in {above[0]} of "
            f"{len(returns)} environments and more than Orbit in {above[1]}."
        )
    best = Counter(
        max(ALGORITHMS, key=lambda algorithm: _mean(table, algorithm, name, point))
        for name in learned_ids(table)
    )
    if best:
        parts = [f"{LABELS[algorithm]} in {count}" for algorithm, count in best.most_common()]
        yield f"The highest return is that of {', of '.join(parts)}."
    far = [
        f"`{name}`"
        for name in THRESHOLDS
        if not any(first_point(table, algorithm, name) for algorithm in JUDGED)
    ]
    yield (
        f"With the steps trained so far, PPO or SAC of some library reaches the threshold of "
        f"{len(THRESHOLDS) - len(far)} of {len(THRESHOLDS)} ids"
        + (f", not of {', '.join(far)}." if far else ".")
    )


def first_point(table: pl.DataFrame, algorithm: str, name: str) -> int | None:
    """Return the first point at which the mean over seeds reaches the threshold of id ``name``."""
    for point in Cell(algorithm, name, SEEDS[0]).points:
        if _mean(table, algorithm, name, point) >= THRESHOLDS[name]:
            return point
    return None


def thresholds_table(table: pl.DataFrame) -> Iterator[str]:
    """Yield the table of steps to the ids' thresholds."""
    yield "### Steps to the threshold"
    yield ""
    yield (
        "The first evaluation whose mean over seeds reaches `reward_threshold`. "
        "`> 50,000`: none up to 50,000 steps does."
    )
    yield ""
    yield f"| algorithm | {' | '.join(f'`{name}`' for name in THRESHOLDS)} |"
    yield f"|---|{'---:|' * len(THRESHOLDS)}"
    yield f"| *threshold* | {' | '.join(_number(value) for value in THRESHOLDS.values())} |"
    for algorithm in ALGORITHMS:
        cells = [_first(table, algorithm, name) for name in THRESHOLDS]
        yield f"| {LABELS[algorithm]} | {' | '.join(cells)} |"
    yield ""


def _first(table: pl.DataFrame, algorithm: str, name: str) -> str:
    """Return the steps to a threshold, with the number of seeds if there are fewer than `SEEDS`."""
    point = first_point(table, algorithm, name)
    if point is None:
        points = [p for p in Cell(algorithm, name, SEEDS[0]).points if _of(table, algorithm, name, p)]
        return f"> {points[-1]:,}" if points else "missing"
    seeds = len(_of(table, algorithm, name, point))
    return f"{point:,}" if seeds == len(SEEDS) else f"{point:,} ({_seeds(seeds)})"


def returns_table(table: pl.DataFrame, point: int) -> Iterator[str]:
    """Yield the table of returns after ``point`` steps: a row per algorithm, a column per environment.

    After the first of `SHOWN` it has only algorithms with a result.
    """
    names = every_id()
    returns = {
        algorithm: [
            _of(table, algorithm, name, point) if point in Cell(algorithm, name, SEEDS[0]).points else None
            for name in names
        ]
        for algorithm in ALGORITHMS
    }
    columns = [values for row in returns.values() for values in row if values is not None]
    if point > SHOWN[0]:
        returns = {algorithm: row for algorithm, row in returns.items() if any(row)}
        if not returns:
            return
    yield f"### After {point:,} steps"
    yield ""
    yield f"{sum(map(len, columns))} of {len(columns) * len(SEEDS)} cells."
    yield ""
    yield f"| algorithm | {' | '.join(f'`{name}`' for name in names)} |"
    yield f"|---|{'---:|' * len(names)}"
    for anchor in ANCHORS:
        cells = [_number(_mean(table, anchor, name, 0)) for name in names]
        yield f"| *{anchor}* | {' | '.join(cells)} |"
    for algorithm, row in returns.items():
        yield f"| {LABELS[algorithm]} | {' | '.join(map(_value, row))} |"
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


def _of(table: pl.DataFrame, algorithm: str, name: str, point: int) -> list[float]:
    rows = table.filter(
        pl.col("algorithm") == algorithm, pl.col("id") == name, pl.col("point") == point
    ).sort("seed")
    if algorithm in ALGORITHMS:
        rows = rows.filter(pl.col("digest") == Cell(algorithm, name, SEEDS[0]).digest())
    return rows["return_mean"].to_list()


def _mean(table: pl.DataFrame, algorithm: str, name: str, point: int) -> float:
    """Return the interquartile mean of a cell over its seeds, or minus infinity if there are none."""
    values = _of(table, algorithm, name, point)
    return baselines.interquartile_mean(values) if values else -math.inf


def _value(values: list[float] | None) -> str:
    """Return the interquartile mean, its interval, and the number of seeds if some are missing.

    None stands for a cell that ends before.
    """
    if values is None:
        return "–"
    if not values:
        return "missing"
    mean = _number(baselines.interquartile_mean(values))
    low, high = baselines.interval(values)
    notes = [] if low is None or high is None else [f"{_number(low)} to {_number(high)}"]
    if len(values) < len(SEEDS):
        notes.append(_seeds(len(values)))
    return f"{mean} ({'; '.join(notes)})"


def _seeds(count: int) -> str:
    return f"{count} seed{'s' * (count > 1)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"
