"""Names of what the project ships to run: scenario files, suites and samplers."""

import difflib
from collections.abc import Iterable
from pathlib import Path

from leogym.configs import sampling, suite

SCENARIOS = Path(__file__).parent / "scenarios"


def scenarios() -> dict[str, Path]:
    """Return the scenario files of ``configs/scenarios`` by name."""
    return {path.stem: path for path in sorted(SCENARIOS.glob("*.yaml"))}


def known() -> list[str]:
    """Return the names of samplers, scenario files and suites, each once, in this order."""
    return list(dict.fromkeys([*sampling.names(), *scenarios(), *suite.shipped()]))


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three of ``names`` that resemble ``name``, the nearest first."""
    return difflib.get_close_matches(name, [*names], n=3, cutoff=0.5)
