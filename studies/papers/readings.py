"""Our runs' values for one side of a claim: one per repeat, by scenario or over all."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from leogym.configs.suite import Suite, Value
from leogym.evaluation.recorded.results import Results
from leogym.results.intervals import Interval, interval, median_interval, seed_of
from studies.papers.claim import AUTHORS, LEARNED, Centre, Claim, Over, Part, Scenarios, Span
from studies.papers.measures import MEASURES, Samples, of_runs
from studies.papers.region import Outcome, above


@dataclass(frozen=True)
class Place:
    """A scenario's place in its suite's grid."""

    values: dict[str, Value]
    together: frozenset[str] = frozenset()
    """Keys of these that change together: the suite's ``spread``."""

    def without(self, keys: Collection[str]) -> dict[str, Value]:
        """Return the values without ``keys`` and the keys that change together with one of them."""
        dropped = {*keys, *(self.together if self.together & set(keys) else ())}
        return {key: value for key, value in self.values.items() if key not in dropped}


@dataclass(frozen=True)
class Chosen:
    """A scenario's name and its place."""

    name: str
    place: Place


def choose(suite: Suite, wanted: Scenarios) -> list[Chosen]:
    """Return a suite's scenarios with wanted values only; raise a KeyError if the suite lacks a key."""
    spread = suite.spread[0] if suite.spread else {}
    keys = [*suite.grid, *spread]
    chosen = {}
    # Any scheme will do, also for names that contain it: names are compared within one suite.
    for case in suite.cases("cubic"):
        if all(among(case.values[key], choice) for key, choice in wanted.items()):
            name = case.scenario.name
            place = Place({key: case.values[key] for key in keys}, frozenset(spread))
            chosen[name] = Chosen(name, place)
    return list(chosen.values())


def among(value: Value, choice: Value | list[Value] | Span) -> bool:
    """Return whether a grid value is a chosen one."""
    if isinstance(choice, Span):
        return choice.holds(value)
    return value in choice if isinstance(choice, list) else value == choice


class NotRun(Exception):
    """The results lack something that a claim needs; the text says what."""


@dataclass(frozen=True)
class Reading:
    """A value per repeat, in the metric's unit in the report."""

    scheme: str
    scenario: str
    """Its name, or for several ``mean of 10``."""
    place: Place | None
    """None for a value over several scenarios."""
    samples: Samples
    seed: int
    centre: Centre = "mean"

    @property
    def interval(self) -> Interval:
        """The mean over repeats with its 95 % interval, as in ``summary.csv``, or the median with its own."""
        return interval_of(self.centre, list(self.samples.values()), self.seed)

    def above(self, lower: "Reading", equal: float) -> Outcome:
        """Return whether this value lies above another, paired by repeat: repeats share seeds.

        ``equal``: the relative difference, to the lower value, below which both count as equal.
        """
        shared = sorted(self.samples.keys() & lower.samples.keys())
        differences = [self.samples[repeat] - lower.samples[repeat] for repeat in shared]
        if not differences:
            return "undecided"
        centre = np.mean if lower.centre == "mean" else np.median
        usual = float(centre([lower.samples[repeat] for repeat in shared]))
        seed = seed_of(self.scheme, lower.scheme, str(self.seed))
        return above(interval_of(self.centre, differences, seed), equal * abs(usual))

    def over(self, lower: "Reading") -> "Reading":
        """Return the ratio to another value in each repeat that both have; repeats share seeds."""
        samples = {
            repeat: value / lower.samples[repeat]
            for repeat, value in self.samples.items()
            if lower.samples.get(repeat)
        }
        if not samples:
            raise NotRun(f"nothing to divide by: {lower.scheme} has no value but 0 in {lower.scenario}")
        scheme, scenario = quotient_names(self, lower)
        seed = seed_of(str(self.seed), str(lower.seed))
        return Reading(scheme, scenario, self.place, samples, seed, self.centre)


AnyReading = TypeVar("AnyReading", bound=Reading)


def quotient_names(upper: Reading, lower: Reading) -> tuple[str, str]:
    """Return the scheme's and the scenario's name of a ratio of two readings."""
    scheme = upper.scheme if upper.scheme == lower.scheme else f"{upper.scheme} / {lower.scheme}"
    places = (upper.scenario, lower.scenario)
    return scheme, upper.scenario if places[0] == places[1] else " / ".join(places)


def interval_of(centre: Centre, values: list[float], seed: int) -> Interval:
    """Return the interval of a statistic over repeats."""
    return (interval if centre == "mean" else median_interval)(values, seed)


def read(results: Results, claim: Claim, part: Part, scheme: str, backend: str) -> list[Reading]:
    """Return one reading per scenario, or a single one as the claim's ``over`` says.

    ``part`` has the differences on this side of a ratio; it is empty for other claims.
    """
    scheme = judged_scheme(scheme)
    if scheme not in results.schemes:
        raise NotRun(missing_scheme(scheme))
    readings = [
        _of_scenario(results, claim, part, chosen, scheme, backend)
        for chosen in chosen_by(results.suites, claim, part)
    ]
    if claim.over == "deviation":
        return [_deviation_of(readings)]
    if claim.over == "mean" and len(readings) > 1:
        return [mean_of(readings)]
    return extreme_of(readings, claim.over)


def extreme_of(readings: list[AnyReading], over: Over) -> list[AnyReading]:
    """Return the reading with the highest or the lowest value, or all of them if none of the two is meant."""
    if over not in ("max", "min") or len(readings) == 1:
        return readings
    pick, word = (max, "highest") if over == "max" else (min, "lowest")
    extreme = pick(readings, key=lambda reading: reading.interval.mean)
    return [replace(extreme, scenario=f"{word}, in {extreme.scenario}", place=None)]


def chosen_by(suites: Iterable[Suite], claim: Claim, part: Part) -> list[Chosen]:
    """Return the scenarios of one side of a claim, or raise `NotRun`."""
    name = part.suite or claim.suite
    suite = next((candidate for candidate in suites if candidate.name == name), None)
    if suite is None:
        raise NotRun(f"no run of the suite {name}")
    wanted = {**claim.scenarios, **part.scenarios}
    try:
        chosen = choose(suite, wanted)
    except KeyError as error:
        raise NotRun(f"{name} has no {error.args[0]}") from None
    if not chosen:
        choices = ", ".join(f"{key} {choice}" for key, choice in wanted.items())
        raise NotRun(f"{name} has no scenario with {choices}")
    return chosen


def mean_of(readings: Sequence[Reading]) -> Reading:
    """Return the mean over several scenarios, per repeat that all of them have."""
    shared = set.intersection(*(set(reading.samples) for reading in readings))
    if not shared:
        raise NotRun(f"no repeat that all {len(readings)} scenarios have")
    samples = {
        repeat: float(np.mean([reading.samples[repeat] for reading in readings])) for repeat in sorted(shared)
    }
    first = readings[0]
    label = f"mean of {len(readings)}"
    seed = seed_of(first.scheme, label, str(first.seed))
    return Reading(first.scheme, label, None, samples, seed, first.centre)


def _deviation_of(readings: Sequence[Reading]) -> Reading:
    samples = {
        index: float(np.std(list(reading.samples.values()), ddof=1))
        for index, reading in enumerate(readings)
        if len(reading.samples) > 1
    }
    if not samples:
        raise NotRun("no scenario has two repeats")
    first = readings[0]
    label = f"deviation from run to run in {len(samples)}"
    return Reading(first.scheme, label, None, samples, seed_of(first.scheme, label, str(first.seed)))


def judged_scheme(scheme: str) -> str:
    """Return the scheme to check a claim with: of a learned one ``NAME-authors``, its authors' weights."""
    return scheme + AUTHORS if scheme in LEARNED else scheme


def missing_scheme(scheme: str) -> str:
    """Return what is missing where a scheme did not run."""
    name = scheme.removesuffix(AUTHORS)
    return f"{name}'s authors' weights did not run" if name != scheme else f"no run of {scheme}"


def _of_scenario(
    results: Results, claim: Claim, part: Part, chosen: Chosen, scheme: str, backend: str
) -> Reading:
    metric = part.metric or claim.metric
    if metric is None:
        raise NotRun(f"no measure of it: {claim.needs}")
    suite = part.suite or claim.suite
    flows = part.flows if part.flows is not None else claim.flows
    window_s = part.window_s or claim.window_s
    samples = of_runs(
        results,
        suite=suite,
        scenario=chosen.name,
        backend=backend,
        scheme=scheme,
        metric=metric,
        flows=flows,
        window_s=window_s,
    )
    if not samples:
        when = f" from {window_s[0]:g} to {window_s[1]:g} s" if isinstance(window_s, tuple) else ""
        raise NotRun(f"no {metric} of {scheme} in {suite}, {chosen.name}{when}")
    scale = MEASURES[metric].scale
    return Reading(
        scheme,
        chosen.name,
        chosen.place,
        {repeat: value * scale for repeat, value in samples.items()},
        seed_of(suite, chosen.name, scheme, backend, metric),
        claim.centre,
    )
