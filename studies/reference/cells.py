"""The table's cells, each an algorithm in an environment with a seed: hyperparameters and order."""

import copy
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from leogym.common import yaml_text
from leogym.common.errors import InputError
from studies.reference.learners import ALGORITHMS
from studies.reference.learners.tasks import TASKS, task

HYPERPARAMETERS = Path(__file__).parent / "hyperparameters"
SEEDS = (1, 2, 3)
POINTS = (10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
"""Steps after which the policy is evaluated."""
SHOWN = (50_000, 200_000, 1_000_000)
"""The points of the tables, which cells reach one after another."""


@dataclass(frozen=True)
class Cell:
    """One training."""

    algorithm: str
    id: str
    seed: int

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise InputError(f"{self.algorithm}: unknown algorithm (there are: {', '.join(ALGORITHMS)})")
        task(self.id)

    @property
    def points(self) -> tuple[int, ...]:
        """Steps after which the policy is evaluated, up to the hyperparameters' ``n_timesteps``."""
        most = self.hyperparameters().get("n_timesteps", POINTS[-1])
        return tuple(point for point in POINTS if point <= most)

    def hyperparameters(self) -> dict[str, Any]:
        """Return a copy of the hyperparameters of the algorithm in this environment."""
        by_id = _by_id(self.algorithm)
        if self.id not in by_id:
            raise InputError(f"{_file(self.algorithm)}: {self.id}: missing")
        # Stable-Baselines3 adds keys to the mappings that it gets.
        return copy.deepcopy(by_id[self.id])

    def digest(self) -> str:
        """Return a digest of the hyperparameters and of the environment's arguments."""
        of = task(self.id)
        text = json.dumps([self.hyperparameters(), of.arguments, of.actions], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def folder(self, out: Path) -> Path:
        """Return the cell's folder within ``out``."""
        return out / self.algorithm / self.id.replace("/", "-") / f"seed-{self.seed}"


def _file(algorithm: str) -> Path:
    return HYPERPARAMETERS / f"{algorithm}.yml"


@cache
def _by_id(algorithm: str) -> dict[str, dict[str, Any]]:
    path = _file(algorithm)
    return yaml_text.parse(path.read_text(encoding="utf-8"), str(path))


@dataclass(frozen=True)
class Part:
    """A cell up to a number of steps."""

    cell: Cell
    steps: int


def parts(algorithms: Sequence[str], ids: Sequence[str], seeds: Sequence[int]) -> Iterator[Part]:
    """Yield the parts of the table in the order in which they run.

    All cells of a seed get the first number of `SHOWN` before the next seed begins, then all get the second,
    then the third or their last point before it. So each unfinished table compares all algorithms and
    environments.
    """
    for before, shown in pairwise((0, *SHOWN)):
        for seed in seeds:
            for algorithm in algorithms:
                for name in ids:
                    cell = Cell(algorithm, name, seed)
                    steps = max(point for point in cell.points if point <= shown)
                    if steps > before:
                        yield Part(cell, steps)


def every_id() -> tuple[str, ...]:
    """Return the ids of all environments of the table."""
    return tuple(TASKS)
