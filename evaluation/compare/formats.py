"""Formats a comparison as text, Markdown or CSV."""

import io
from collections import Counter
from collections.abc import Sequence

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from leogym.evaluation.compare.changes import Change
from leogym.evaluation.compare.effects import Effect
from leogym.results.metrics import METRICS

HEADER = ("suite", "scenario", "scheme", "metric", "A", "B", "difference", "95 % interval", "q", "B is")
_WIDE = 10_000
_VERDICTS = ("better", "worse", "changed", "unclear", "same")


def csv(effects: Sequence[Effect]) -> str:
    """Return all effects with unrounded values, one per line."""
    schema = {
        **dict.fromkeys(("suite", "scenario", "scheme", "backend", "metric"), pl.String),
        **dict.fromkeys(("mean_a", "mean_b", "difference", "ci_low", "ci_high"), pl.Float64),
        **dict.fromkeys(("n_a", "n_b"), pl.Int64),
        "paired": pl.Boolean,
        **dict.fromkeys(("p", "q", "size"), pl.Float64),
        "verdict": pl.String,
    }
    rows = [
        (e.suite, e.scenario, e.scheme, e.backend, e.metric, e.mean_a, e.mean_b, e.difference, e.low, e.high,
         e.n_a, e.n_b, e.paired, e.p, e.q, e.size, e.verdict)
        for e in effects
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row").write_csv()


def text(changes: Sequence[Change], effects: Sequence[Effect], width: int | None = None) -> str:
    """Return changes in the setup and significant differences, for a terminal of ``width`` columns."""
    console = Console(file=io.StringIO(), width=width or _WIDE)
    if changes:
        setup = Table("setup", "A", "B", box=None, pad_edge=False)
        for change in changes:
            setup.add_row(*(escape(part) for part in change))
        console.print(setup, highlight=False)
    else:
        console.print("setup: nothing differs")
    console.print()
    significant = [effect for effect in effects if effect.significant]
    if significant:
        table = Table(*HEADER, box=None, pad_edge=False)
        for effect in significant:
            table.add_row(*(escape(cell) for cell in cells(effect)))
        console.print(table, highlight=False)
        console.print()
    console.print(counts(effects), highlight=False, soft_wrap=True)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


def markdown(changes: Sequence[Change], effects: Sequence[Effect]) -> str:
    """Return the same as Markdown tables."""
    parts = [
        "## Setup",
        _table(("setup", "A", "B"), changes) if changes else "Nothing differs.",
        "## Results",
    ]
    significant = [cells(effect) for effect in effects if effect.significant]
    if significant:
        parts.append(_table(HEADER, significant))
    return "\n\n".join([*parts, counts(effects)]) + "\n"


def cells(effect: Effect) -> list[str]:
    """Return an effect's formatted cells, in the metric's unit."""
    metric = METRICS[effect.metric]
    unit = f" ({metric.unit})" if metric.unit else ""
    scheme = effect.scheme if effect.backend == "simulator" else f"{effect.scheme} on {effect.backend}"
    ends = [effect.low, effect.high]
    interval = ", ".join(metric.show(end) for end in ends if end is not None)
    return [
        effect.suite,
        effect.scenario,
        scheme,
        metric.label + unit,
        metric.show(effect.mean_a),
        metric.show(effect.mean_b),
        f"{effect.difference * metric.scale:+,.{metric.digits}f}",
        f"[{interval}]" if interval else "–",
        "–" if effect.q is None else f"{effect.q:.3f}" if effect.q >= 0.001 else "< 0.001",
        effect.verdict,
    ]


def counts(effects: Sequence[Effect]) -> str:
    """Return a sentence with the number of differences per verdict and the test."""
    verdicts = Counter(effect.verdict for effect in effects)
    listing = ", ".join(f"{verdicts[name]} {name}" for name in _VERDICTS if verdicts[name])
    paired = sum(effect.paired for effect in effects)
    return (
        f"{len(effects)} differences (B - A), {paired} of them in pairs of equal seeds: {listing}; "
        "significant at a false discovery rate of 5 % (Benjamini-Hochberg)"
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
