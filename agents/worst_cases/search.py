"""Search the situations in which a scheme does worst, by an evolution strategy with restarts."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leogym.agents.training.evolution import Evolution
from leogym.agents.worst_cases.measure import Beside, Contestant, measured
from leogym.agents.worst_cases.situation import Situation, Vector, axes

POPULATION = 8
DEVIATION = 0.4
SPREAD = 0.8
"""Restarts begin at random within this part of the box."""


@dataclass(frozen=True)
class Objective:
    """A measure that the search makes small."""

    name: str
    of: Callable[[Beside], float]
    flows: tuple[int, int]

    def value(self, beside: Beside) -> float:
        """Return the measure; the oracle's own, 1, where nothing was measured."""
        measure = self.of(beside)
        return measure if np.isfinite(measure) else 1.0


OBJECTIVES = {
    "power": Objective("power", lambda beside: beside.relative_power, (1, 4)),
    "share": Objective("share", lambda beside: beside.relative_share, (2, 4)),
}


@dataclass(frozen=True)
class WorstCase:
    """The worst situation of one restart."""

    objective: str
    situation: Situation
    beside: Beside

    @property
    def value(self) -> float:
        """The objective's value."""
        return OBJECTIVES[self.objective].value(self.beside)


def search(
    contestant: Contestant,
    objective: str,
    *,
    restarts: int,
    generations: int,
    seed: int,
    threads: int = 0,
    report: Callable[[WorstCase], None] = lambda _: None,
) -> list[WorstCase]:
    """Return the worst situation of each restart, worst first; the same arguments give the same result.

    The box is that of the policy's known ranges, or of `situation.DEFAULT`.
    """
    goal = OBJECTIVES[objective]
    box = axes(None if contestant.policy is None else contestant.policy.known_ranges)
    cases = []
    for restart in range(restarts):
        rng = np.random.default_rng([seed, restart, sorted(OBJECTIVES).index(objective)])
        evolution = Evolution.around(rng.uniform(-SPREAD, SPREAD, len(box)), DEVIATION)
        worst: WorstCase | None = None
        for _ in range(generations):
            points = evolution.candidates(rng, POPULATION)
            situations = [Situation.at(point, box, goal.flows) for point in points]
            results = measured(contestant, [situation.scenario("worst") for situation in situations], threads)
            values = np.array([goal.value(result) for result in results])
            index = int(np.argmin(values))
            if worst is None or values[index] < worst.value:
                worst = WorstCase(objective, situations[index], results[index])
            evolution.learn(points, -values - _beyond(points))
        if worst is not None:
            cases.append(worst)
            report(worst)
    return sorted(cases, key=lambda case: case.value)


def _beyond(points: Vector) -> Vector:
    """Return the squared distance of each point from the box: beyond it, situations are alike."""
    return ((points - np.clip(points, -1.0, 1.0)) ** 2).sum(axis=1)
