"""``leogym papers tables``: write what is kept in ``results/`` into the study's pages.

These are the tables of suites, the counts of verdicts (`verdict_counts`) and the page of findings. A comment
in a page names a suite and its metrics; everything up to the next comment is replaced::

    <!-- results of leo-pair: goodput_ratio, utilization in 60 ms.* -->
    <!-- end of results -->

The first metric gets its interval. The regular expression after ``in`` selects scenarios.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from leogym.common.atomic import write_atomically
from leogym.common.command_line import OneLineParser
from leogym.common.errors import InputError
from leogym.configs import suite
from leogym.results.metrics import METRICS, Metric
from studies.papers import findings, keep, verdict_counts
from studies.papers.claim import AUTHORS

PAGES = Path(__file__).parent
TASK = PAGES.parents[1] / "docs" / "tasks" / "paper-figure.md"
END = "<!-- end of results -->"
BLOCK = re.compile(
    r"(?P<begin><!-- results of (?P<suite>[\w-]+): (?P<metrics>[\w, ]+?)(?: in (?P<scenarios>.+?))? -->\n)"
    rf".*?{re.escape(END)}",
    re.DOTALL,
)
DIGITS = 2
"""Most decimals: a page shows fewer than the report."""


def with_tables(page: str, summary: pl.DataFrame) -> str:
    """Return a page with its suites' tables as ``summary`` has them.

    Raises:
        InputError: the page names an unknown metric, or ``summary`` lacks what it asks for.
    """
    return BLOCK.sub(lambda block: _filled(block, summary), page)


def _filled(block: re.Match[str], summary: pl.DataFrame) -> str:
    name = block["suite"]
    asked = [metric.strip() for metric in block["metrics"].split(",")]
    if unknown := [metric for metric in asked if metric not in METRICS]:
        raise InputError(f"{name}: no metric {unknown[0]!r}")
    metrics = [METRICS[metric] for metric in asked]
    of_suite = summary.filter((pl.col("suite") == name) & pl.col("metric").is_in(asked))
    ran = set(of_suite["scheme"])
    schemes = [
        column
        for scheme in suite.load(name).schemes
        for column in (scheme, scheme + AUTHORS)
        if column == scheme or column in ran
    ]
    rows = of_suite.filter(pl.col("scheme").is_in(schemes))
    cells = {
        (row["scenario"], row["scheme"], row["metric"]): row
        for row in rows.iter_rows(named=True)
        if re.fullmatch(block["scenarios"] or ".*", row["scenario"])
    }
    if not cells:
        raise InputError(f"{name}: {keep.PLACE.name}/ has nothing for {block['begin'].strip()}")
    scenarios = sorted({scenario for scenario, _, _ in cells}, key=_natural)
    lines = [
        f"| | {' | '.join(schemes)} |",
        "|---" * (len(schemes) + 1) + "|",
        *(
            f"| {scenario} | {' | '.join(_cell(cells, scenario, scheme, metrics) for scheme in schemes)} |"
            for scenario in scenarios
        ),
    ]
    counts = sorted({row["n"] for row in cells.values()})
    runs = f"{counts[0]} runs" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} runs"
    first, *further_labels = [metric.label for metric in metrics]
    titles = ", ".join([f"{first} (95 % interval)", *further_labels])
    source = f"{titles}; {runs} each, from [results](results/README.md)"
    source += f" (`{AUTHORS}`: the authors' weights):" if any(AUTHORS in name for name in schemes) else ":"
    return f"{block['begin']}\n{source}\n\n" + "\n".join(lines) + f"\n\n{END}"


def _cell(
    cells: dict[tuple[str, str, str], dict[str, float]], scenario: str, scheme: str, metrics: list[Metric]
) -> str:
    means = []
    for metric in metrics:
        row = cells.get((scenario, scheme, metric.name))
        if row is None:
            return "–"
        mean = _show(metric, row["mean"])
        if not means and row["ci_low"] is not None:
            mean += f" ({_show(metric, row['ci_low'])} to {_show(metric, row['ci_high'])})"
        means.append(mean)
    return ", ".join(means)


def _show(metric: Metric, value: float) -> str:
    return f"{value * metric.scale:,.{min(metric.digits, DIGITS)}f}"


def _natural(text: str) -> list[tuple[float, str]]:
    """Return a key that sorts numbers in a text by their size."""
    return [
        (float(part), "") if part[:1].isdigit() else (0.0, part)
        for part in re.split(r"(\d+(?:\.\d+)?)", text)
    ]


def pages() -> dict[Path, str]:
    """Return the study's pages as the kept results make them."""
    kept = keep.Kept.read(keep.PLACE)
    written = {
        path: verdict_counts.with_counts(
            with_tables(path.read_text(encoding="utf-8"), kept.summary), kept.claims
        )
        for path in [*sorted(PAGES.glob("*.md")), TASK]
    }
    return written | {findings.PAGE: findings.page(kept)}


def run(arguments: Sequence[str]) -> int:
    """Run a command line."""
    OneLineParser(
        prog="leogym papers tables",
        description="Write the study's pages from the results in studies/papers/results.",
        examples=("",),
    ).parse_args(arguments)
    for path, written in pages().items():
        if not path.exists() or written != path.read_text(encoding="utf-8"):
            write_atomically(path, written.encode())
            print(path)
    return 0
