"""A claim's comparisons of our values with a region or with each other."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leogym.configs.suite import Value as GridValue
from leogym.results.intervals import Interval, seed_of
from studies.papers.claim import Claim, Part
from studies.papers.kinds import AnyClaim, Bound, Ordering, Ratio, Trend, Value
from studies.papers.measures import MEASURES
from studies.papers.readings import NotRun, Reading, mean_of
from studies.papers.region import Outcome, Region

EQUAL = 0.02
"""Values whose relative difference (to the lower one) is smaller count as equal."""


@dataclass(frozen=True)
class Ours:
    """One of our values in a comparison."""

    label: str
    interval: Interval
    unit: str
    digits: int

    @property
    def text(self) -> str:
        """The mean, its interval if any, and the unit."""
        interval = self.interval
        mean, low, high = (
            f"{value:,.{self.digits}f}" for value in (interval.mean, interval.low, interval.high)
        )
        edges = " (one run)" if math.isnan(interval.low) else f" [{low}, {high}]"
        return mean + edges + (f" {self.unit}" if self.unit else "")


@dataclass(frozen=True)
class Compared:
    """One comparison of a claim: one scheme or pair in one scenario."""

    label: str
    outcome: Outcome
    ours: tuple[Ours, ...]


Read = Callable[[Claim, Part, str], list[Reading]]
"""Returns a claim's readings for one of its parts and a scheme, or raises `NotRun`."""


def compare(claim: AnyClaim, margin: float, read: Read) -> list[Compared]:
    """Return all comparisons of a claim, or raise `NotRun`."""
    match claim:
        case Value() | Bound():
            readings = [reading for scheme in claim.schemes for reading in read(claim, Part(), scheme)]
            return _in_region(readings, claim.region(margin), _maker_of_ours(claim))
        case Ordering():
            return _ordering(claim, read)
        case Ratio():
            return _ratios(claim, margin, read)
        case Trend():
            return _trends(claim, read)


def from_kept(
    claim: Value | Bound | Ratio | Trend, margin: float, intervals: dict[str, Interval]
) -> list[Compared]:
    """Return a claim's comparisons of kept intervals, by label."""
    region, make_ours = claim.region(margin), _maker_of_ours(claim)
    return [
        Compared(label, region.outcome(mine), (make_ours(label, mine),)) for label, mine in intervals.items()
    ]


def _in_region(
    readings: list[Reading], region: Region, make_ours: Callable[[str, Interval], Ours]
) -> list[Compared]:
    place = _places(readings)
    compared = []
    for reading in readings:
        label, mine = reading.scheme + place(reading), reading.interval
        compared.append(Compared(label, region.outcome(mine), (make_ours(label, mine),)))
    return compared


def _ordering(claim: Ordering, read: Read) -> list[Compared]:
    by_scheme = {scheme: read(claim, Part(), scheme) for scheme in claim.under_test}
    place = _places([reading for readings in by_scheme.values() for reading in readings])
    make_ours = _maker_of_ours(claim)
    compared = []
    # All schemes have the same scenarios; the highest or lowest value is a single reading.
    for index in range(len(by_scheme[claim.under_test[0]])):
        here = {scheme: readings[index] for scheme, readings in by_scheme.items()}
        ours = {
            scheme: make_ours(reading.scheme + place(reading), reading.interval)
            for scheme, reading in here.items()
        }
        for higher, lower in zip(claim.groups, claim.groups[1:], strict=False):
            for upper, below in itertools.product(higher, lower):
                label = f"{here[upper].scheme} > {here[below].scheme}{place(here[upper])}"
                outcome = here[upper].above(here[below], EQUAL)
                compared.append(Compared(label, outcome, (ours[upper], ours[below])))
    return compared


def _ratios(claim: Ratio, margin: float, read: Read) -> list[Compared]:
    readings = []
    for scheme in claim.schemes or [None]:
        sides = [read(claim, part, part.scheme or scheme or "") for part in (claim.of, claim.to)]
        overridden = set(claim.of.scenarios) | set(claim.to.scenarios)
        for upper in sides[0]:
            for lower in _counterparts(upper, sides[1], overridden):
                readings.append(upper.over(lower))
    if not readings:
        raise NotRun("no scenario of one side has its like on the other")
    return _in_region(readings, claim.region(margin), _maker_of_ours(claim))


def _counterparts(reading: Reading, candidates: list[Reading], overridden: set[str]) -> list[Reading]:
    """Return those of ``candidates`` at ``reading``'s place, apart from the keys that differ by side."""
    here = reading.place.without(overridden) if reading.place else {}
    counterparts = []
    for candidate in candidates:
        there = candidate.place.without(overridden) if candidate.place else {}
        if all(here[key] == there[key] for key in here.keys() & there.keys()):
            counterparts.append(candidate)
    return counterparts


def _trends(claim: Trend, read: Read) -> list[Compared]:
    # Fitting a line needs all points, for any `over` of the claim.
    points = claim.model_copy(update={"over": "each"})
    lines = []
    for scheme in claim.schemes:
        groups: dict[tuple[object, ...], list[Reading]] = {}
        for reading in read(points, Part(), scheme):
            if reading.place is None or claim.along not in reading.place.values:
                raise NotRun(f"{claim.suite} has no grid of {claim.along}")
            fixed_values = tuple(_fixed_values(reading, claim.along).items()) if claim.over == "each" else ()
            groups.setdefault(fixed_values, []).append(reading)
        lines += [_change(group, claim.along) for group in groups.values()]
    return _in_region(lines, claim.region(0.0), _maker_of_ours(claim))


def _change(readings: list[Reading], along: str) -> Reading:
    """Return the change of the fitted line from the lowest to the highest ``along``."""
    by_place: dict[float, list[Reading]] = {}
    for reading in readings:
        place = reading.place.values[along] if reading.place else ""
        if isinstance(place, str):
            raise NotRun(f"{along} is no number")
        by_place.setdefault(float(place), []).append(reading)
    if len(by_place) < 2:
        raise NotRun(f"only one value of {along}")
    means = {place: mean_of(group).samples for place, group in by_place.items()}
    places = np.array(list(means))
    shared = sorted(set.intersection(*(set(samples) for samples in means.values())))
    if not shared:
        raise NotRun(f"no repeat that all values of {along} have")
    samples = {
        repeat: float(np.polyfit(places, [means[place][repeat] for place in means], 1)[0] * np.ptp(places))
        for repeat in shared
    }
    first = readings[0]
    label = f"change from {along} {places.min():g} to {places.max():g}"
    fixed_values = [f"{key} {value}" for key, value in _fixed_values(first, along).items()]
    label += f", {', '.join(fixed_values)}" if fixed_values and len(readings) == len(by_place) else ""
    seed = seed_of(first.scheme, label, str(first.seed))
    return Reading(first.scheme, label, None, samples, seed, first.centre)


def _fixed_values(reading: Reading, along: str) -> dict[str, GridValue]:
    return reading.place.without([along]) if reading.place else {}


def _maker_of_ours(claim: Claim) -> Callable[[str, Interval], Ours]:
    if isinstance(claim, Ratio):
        return lambda label, mine: Ours(label, mine, "×", 2)
    metric = MEASURES[claim.metric or ""] if claim.metric else None
    unit, digits = (metric.unit, metric.digits) if metric else ("", 3)
    return lambda label, mine: Ours(label, mine, unit, digits)


def _places(readings: list[Reading]) -> Callable[[Reading], str]:
    """Return a function that labels readings by scenario where there are several, and medians as such."""
    several = len({reading.scenario for reading in readings}) > 1

    def label(reading: Reading) -> str:
        where = f", {reading.scenario}" if several or reading.place is None else ""
        return where + (", median" if reading.centre == "median" else "")

    return label
