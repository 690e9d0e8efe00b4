"""The scoreboard: one static page from a folder of results, which opens from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.lines import Line2D

from leogym.common.atomic import write_atomically
from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError
from leogym.evaluation.leobench import scoring
from leogym.evaluation.leobench.result import Entry, Estimate, Result, read_all
from leogym.evaluation.leobench.version import PARTS, TIERS, Part, Tier
from leogym.evaluation.report.page import TEMPLATES as REPORT
from leogym.evaluation.report.templates import environment
from leogym.results import figure_style
from leogym.results.aggregates import improvement, performance_profile
from leogym.results.figure_style import Look, Panel, canvas, legend_above

TEMPLATES = Path(__file__).parent / "templates"
TITLES: dict[Tier, str] = {
    "lab": "Linux in virtual time",
    "kernel": "real TCP",
    "mahimahi": "real TCP in mahimahi",
}
DRAWN = 10
"""Lines in a performance profile, at most: those with the best scores."""
_THRESHOLDS = np.linspace(0, 1, 101)


@dataclass(frozen=True)
class Gap:
    """The gap between the simulator and a real kernel on the runs that both ran."""

    tier: str
    kernel: float
    """The score on the kernel."""
    simulator: float
    parts: dict[Part, float]
    """The kernel's value less the simulator's, by part."""

    @property
    def score(self) -> float:
        """The kernel's score less the simulator's."""
        return self.kernel - self.simulator

    @classmethod
    def of(cls, result: Result) -> Gap:
        """Return the gap in a result of a tier beside the simulator."""
        beside = result.simulated
        assert beside is not None
        parts: dict[Part, float] = {
            part: estimate.value - beside.parts[part].value for part, estimate in result.parts.items()
        }
        return cls(result.judged.tier, result.score.value, beside.score.value, parts)


@dataclass(frozen=True)
class Standing:
    """What an entry reached on all seeds of a group."""

    entry: Entry
    judgements: list[Result]
    """One for each seed."""
    values: dict[Part, dict[str, list[float]]]
    """Of the runs of all seeds, by part and suite."""
    score: Estimate
    parts: dict[Part, Estimate]
    suites: dict[str, dict[Part, float]]

    @classmethod
    def of(cls, judgements: Sequence[Result]) -> Standing:
        """Return the standing of an entry that was judged once per seed; the runs of all seeds are pooled."""
        values: dict[Part, dict[str, list[float]]] = {}
        for part in PARTS:
            for result in judgements:
                for suite, its in result.strata(part).items():
                    values.setdefault(part, {}).setdefault(suite, []).extend(its)
        first = judgements[0]
        if len(judgements) == 1:
            return cls(first.entry, [first], values, first.score, first.parts, first.suites)
        return cls(
            first.entry,
            list(judgements),
            values,
            Estimate.of(scoring.score(values)),
            {part: Estimate.of(interval) for part, interval in scoring.parts(values).items()},
            scoring.suites(values),
        )

    @property
    def runs(self) -> int:
        """The number of runs."""
        return sum(len(result.runs) for result in self.judgements)

    @property
    def failures(self) -> int:
        """The number of runs in which the entry failed."""
        return sum(result.failures for result in self.judgements)


@dataclass(frozen=True)
class Row:
    """An entry's row."""

    place: str
    """Its place; entries whose intervals overlap that of the place's first share it."""
    standing: Standing
    beats_next: float | None
    """Probability that a run is better than one of the next row, of the same suite and part."""
    gaps: list[Gap]
    """By tier, for those that judged the same entry."""
    dev: Estimate | None
    """In a group of judge seeds: the entry's score on dev."""


@dataclass(frozen=True)
class Group:
    """Results that may be compared: of one version, split, tier, and the same seeds."""

    key: str
    title: str
    draft: bool
    tier: Tier
    rows: list[Row]
    suites: dict[str, list[Part]]
    profiles: list[Markup]

    @property
    def has_gaps(self) -> bool:
        """Whether a real kernel judged one of the entries, too."""
        return any(row.gaps for row in self.rows)

    @property
    def has_dev(self) -> bool:
        """Whether the group is of judge seeds, and one of the entries was judged on dev, too."""
        return any(row.dev for row in self.rows)


def write(folder: Path, out: Path) -> int:
    """Write the page from all results in ``folder``; return how many there are."""
    results = read_all(folder)
    if not results:
        command = leogym_command("leobench", "judge", "ENTRY", "--out", folder)
        raise InputError(f"{folder}: holds no result: {command} writes one")
    write_atomically(out, render(results).encode())
    return len(results)


def render(results: Sequence[Result]) -> str:
    """Return the page's HTML."""
    looks = figure_style.looks(sorted({result.entry.name for result in results}))
    return (
        environment(TEMPLATES, REPORT)
        .get_template("board.html.j2")
        .render(
            groups=groups(results, looks),
            parts=PARTS,
            titles=TITLES,
            looks=looks,
            shown=shown,
            signed=signed,
            light=figure_style.css_variables(dark=False),
            dark=figure_style.css_variables(dark=True),
        )
    )


def groups(results: Sequence[Result], looks: dict[str, Look]) -> list[Group]:
    """Return the results in groups that may be compared, each best first; judge seeds come before dev."""
    by_entry: dict[tuple[Any, ...], dict[str, list[Result]]] = {}
    for result in sorted(results, key=lambda result: result.judged.seed):
        judged = result.judged
        # The simulator's first, as it runs all.
        tier = TIERS.index(judged.tier)
        linux = judged.kernel or ""
        key = (judged.version, judged.split != "judge", tier, linux, judged.status, judged.files_sha256)
        by_entry.setdefault(key, {}).setdefault(result.entry.name, []).append(result)
    by_seeds: dict[tuple[Any, ...], list[Standing]] = {}
    for key, entries in sorted(by_entry.items()):
        for name, judgements in entries.items():
            seeds = tuple(result.judged.seed for result in judgements)
            if len(set(seeds)) < len(seeds) or any(it.entry != judgements[0].entry for it in judgements):
                split = judgements[0].judged.split
                raise InputError(f"{key[0]}, {split}: two results of one entry, {name}: keep those of one")
            by_seeds.setdefault((*key, -len(seeds), seeds), []).append(Standing.of(judgements))
    on_dev = [result for result in results if result.judged.split == "dev"]
    groups_by_seeds = []
    for index, (key, standings) in enumerate(sorted(by_seeds.items())):
        version, is_dev, tier, linux, status, files, _, seeds = key
        same_version = [
            result
            for result in on_dev
            if (result.judged.version, result.judged.files_sha256) == (version, files)
        ]
        ordered = sorted(standings, key=lambda standing: (-standing.score.value, standing.entry.name))
        name = f"{version}{' draft' if status == 'draft' else ''}, {'dev' if is_dev else 'judge'}"
        name += f", {TITLES[TIERS[tier]]} ({linux})" if tier else ""
        if not is_dev:
            name += f", seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
        beside = [result for result in same_version if not tier and is_dev and result.simulated is not None]
        dev = [] if is_dev else [result for result in same_version if result.judged.tier == TIERS[tier]]
        groups_by_seeds.append(
            Group(
                key=f"group-{index}",
                title=name,
                draft=status == "draft",
                tier=TIERS[tier],
                rows=rows(ordered, beside, dev),
                suites={suite: list(its) for suite, its in ordered[0].suites.items()},
                profiles=[profile(ordered[:DRAWN], part, looks, index) for part in PARTS],
            )
        )
    return groups_by_seeds


def rows(ordered: Sequence[Standing], beside: Sequence[Result] = (), dev: Sequence[Result] = ()) -> list[Row]:
    """Return the rows of standings that are ordered by score, with their places.

    ``beside`` are results of real kernels, ``dev`` those on the public split, for a group of judge seeds.
    """
    rows_by_place: list[Row] = []
    first, place = ordered[0], 1
    for index, standing in enumerate(ordered):
        if not overlap(standing.score, first.score):
            first, place = standing, index + 1
        after = ordered[index + 1] if index + 1 < len(ordered) else None
        beats = improvement(_strata(standing), _strata(after)) if after is not None else None
        gaps = [Gap.of(other) for other in beside if other.entry == standing.entry]
        on_dev = next((other.score for other in dev if other.entry == standing.entry), None)
        rows_by_place.append(Row(str(place), standing, beats, gaps, on_dev))
    return rows_by_place


def overlap(first: Estimate, other: Estimate) -> bool:
    """Return whether two intervals overlap; a value without an interval is one of no width."""
    low, high = (
        (first.value, first.value) if first.low is None or first.high is None else (first.low, first.high)
    )
    least, most = (
        (other.value, other.value) if other.low is None or other.high is None else (other.low, other.high)
    )
    return low <= most and least <= high


def profile(standings: Sequence[Standing], part: Part, looks: dict[str, Look], group: int) -> Markup:
    """Return the performance profiles of a part: for each value, the share of runs above it."""
    with canvas(4.4, 3.0) as (figure, [axes]):
        handles = []
        for standing in standings:
            look = looks[standing.entry.name]
            shares = performance_profile(standing.values[part], _THRESHOLDS)
            axes.step(_THRESHOLDS, shares, where="post", color=look.color, linestyle=look.dash)
            handles.append(Line2D([], [], color=look.color, linestyle=look.dash, label=standing.entry.name))
        axes.set_xlabel(part)
        axes.set_ylabel("share of runs above")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.02)
        legend_above(figure, handles)
    label = f"Performance profile of {part}: the share of runs above each value"
    panel = Panel(f"profile-{group}-{part}", label, figure)
    return Markup(figure_style.themed(figure_style.svg(panel), label))


def shown(estimate: Estimate, digits: int) -> tuple[str, str]:
    """Return a value and its interval as text; the latter is empty without one."""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.{digits}f}", ""
    return f"{estimate.value:.{digits}f}", f"{estimate.low:.{digits}f} – {estimate.high:.{digits}f}"


def signed(value: float, digits: int) -> str:
    """Return a difference as text, with its sign; 0 has none."""
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")


def _strata(standing: Standing) -> dict[str, list[float]]:
    return {f"{part}/{suite}": its for part in PARTS for suite, its in standing.values.get(part, {}).items()}
