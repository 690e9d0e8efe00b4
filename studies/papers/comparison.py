"""A claim's comparisons of our values with a region or with each other."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leogym.configs.suite import Value as GridValue
from leogym.evaluation.recorded.results import Results
from leogym.results.intervals import Interval, seed_of
from studies.papers.claim import Claim, Part
from studies.papers.kinds import AnyClaim, Bound, Ordering, Ratio, Trend, Value
from studies.papers.measures import MEASURES
from studies.papers.readings import NotRun, Reading, chosen_by, interval_of, mean_of, read
from studies.papers.region import Outcome, Region, above

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
        edges = f" [{low}, {high}]" if interval.n > 1 else " (one run)"
        return mean + edges + (f" {self.unit}" if self.unit else "")


@dataclass(frozen=True)
class Compared:
    """One comparison of a claim: one scheme or pair in one scenario."""

    label: str
    outcome: Outcome
    ours: tuple[Ours, ...]


def compare(results: Results, claim: AnyClaim, margin: float, backend: str) -> list[Compared]:
    """Return all comparisons of a claim, or raise `NotRun`."""
    match claim:
        case Value():
            return _each(results, claim, claim.number.region(margin), backend)
        case Bound():
            return _each(results, claim, claim.bounds.region(), backend)
        case Ordering():
            return _ordering(results, claim, backend)
        case Ratio():
            return _ratios(results, claim, margin, backend)
        case Trend():
            return _trends(results, claim, backend)


def _each(results: Results, claim: Value | Bound, region: Region, backend: str) -> list[Compared]:
    readings = [
        reading for scheme in claim.schemes for reading in read(results, claim, Part(), scheme, backend)
    ]
    return _in_region(claim, readings, region, _maker_of_ours(claim))


def _in_region(
    claim: Claim, readings: list[Reading], region: Region, make_ours: Callable[[str, Interval], Ours]
) -> list[Compared]:
    place = _places(readings)
    compared = []
    for reading in readings:
        label, mine = reading.scheme + place(reading), reading.interval
        compared.append(Compared(label, region.outcome(mine), (make_ours(label, mine),)))
    return compared


def _ordering(results: Results, claim: Ordering, backend: str) -> list[Compared]:
    by_scheme = {scheme: read(results, claim, Part(), scheme, backend) for scheme in claim.under_test}
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
                outcome = _above(here[upper], here[below])
                compared.append(Compared(label, outcome, (ours[upper], ours[below])))
    return compared


def _above(upper: Reading, lower: Reading) -> Outcome:
    """Return whether one value lies above another, paired by repeat: repeats share seeds."""
    shared = sorted(upper.samples.keys() & lower.samples.keys())
    differences = [upper.samples[repeat] - lower.samples[repeat] for repeat in shared]
    if not differences:
        return "undecided"
    usual = float(
        (np.mean if lower.centre == "mean" else np.median)([lower.samples[repeat] for repeat in shared])
    )
    difference = interval_of(upper.centre, differences, seed_of(upper.scheme, lower.scheme, str(upper.seed)))
    return above(difference, EQUAL * abs(usual))


def _ratios(results: Results, claim: Ratio, margin: float, backend: str) -> list[Compared]:
    readings = []
    for scheme in claim.schemes or [None]:
        sides = [
            read(results, claim, part, part.scheme or scheme or "", backend) for part in (claim.of, claim.to)
        ]
        overridden = set(claim.of.scenarios) | set(claim.to.scenarios)
        for upper in sides[0]:
            for lower in _counterparts(upper, sides[1], overridden):
                readings.append(_quotient(upper, lower))
    if not readings:
        raise NotRun("no scenario of one side has its like on the other")
    return _in_region(claim, readings, claim.region(margin), lambda label, mine: Ours(label, mine, "×", 2))


def _counterparts(reading: Reading, candidates: list[Reading], overridden: set[str]) -> list[Reading]:
    """Return those of ``candidates`` at ``reading``'s place, apart from the keys that differ by side."""
    here = reading.place.without(overridden) if reading.place else {}
    counterparts = []
    for candidate in candidates:
        there = candidate.place.without(overridden) if candidate.place else {}
        if all(here[key] == there[key] for key in here.keys() & there.keys()):
            counterparts.append(candidate)
    return counterparts


def _quotient(upper: Reading, lower: Reading) -> Reading:
    """Return the ratio in each repeat that both have; repeats share seeds."""
    samples = {
        repeat: value / lower.samples[repeat]
        for repeat, value in upper.samples.items()
        if lower.samples.get(repeat)
    }
    if not samples:
        raise NotRun(f"nothing to divide by: {lower.scheme} has no value but 0 in {lower.scenario}")
    scheme = upper.scheme if upper.scheme == lower.scheme else f"{upper.scheme} / {lower.scheme}"
    places = (upper.scenario, lower.scenario)
    scenario = upper.scenario if places[0] == places[1] else " / ".join(places)
    seed = seed_of(str(upper.seed), str(lower.seed))
    return Reading(scheme, scenario, upper.place, samples, seed, upper.centre)


def _trends(results: Results, claim: Trend, backend: str) -> list[Compared]:
    if not all(claim.along in chosen.place.values for chosen in chosen_by(results, claim, Part())):
        raise NotRun(f"{claim.suite} has no grid of {claim.along}")
    lines = []
    for scheme in claim.schemes:
        groups: dict[tuple[object, ...], list[Reading]] = {}
        for reading in _all(results, claim, scheme, backend):
            fixed_values = tuple(_fixed_values(reading, claim.along).items()) if claim.over == "each" else ()
            groups.setdefault(fixed_values, []).append(reading)
        lines += [_change(group, claim.along) for group in groups.values()]
    metric = MEASURES[claim.metric or ""]
    return _in_region(
        claim, lines, claim.region(), lambda label, mine: Ours(label, mine, metric.unit, metric.digits)
    )


def _all(results: Results, claim: Trend, scheme: str, backend: str) -> list[Reading]:
    """Return all scenarios' readings, for any ``over`` of the claim: fitting a line needs all points."""
    return read(results, claim.model_copy(update={"over": "each"}), Part(), scheme, backend)


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
