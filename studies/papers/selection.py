"""Select a suite's scenarios for a claim."""

from collections.abc import Collection
from dataclasses import dataclass

from leogym.configs.suite import Suite, Value
from studies.papers.claim import Scenarios, Span


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
        if all(_among(case.values[key], choice) for key, choice in wanted.items()):
            name = case.scenario.name
            place = Place({key: case.values[key] for key in keys}, frozenset(spread))
            chosen[name] = Chosen(name, place)
    return list(chosen.values())


def _among(value: Value, choice: Value | list[Value] | Span) -> bool:
    if isinstance(choice, Span):
        return choice.holds(value)
    return value in choice if isinstance(choice, list) else value == choice
