"""The algorithms of the reference results, each behind the interface `Learner`."""

import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from studies.reference.learners.tasks import Policy, Task

ALGORITHMS = {
    "ppo": "stable_baselines3.Sb3Learner",
    "sac": "stable_baselines3.Sb3Learner",
    "cma_es": "evolution.EvolutionLearner",
    "single_file_ppo": "single_file_ppo.PpoLearner",
    "td3": "stable_baselines3.Sb3Learner",
    "single_file_sac": "single_file_sac.SacLearner",
    "tqc": "stable_baselines3.Sb3Learner",
    "rllib_ppo": "rllib.RllibLearner",
    "recurrent_ppo": "stable_baselines3.Sb3Learner",
}
"""The algorithms in the order in which the table is made, and the class in `learners` of each."""

LABELS = {
    "ppo": "PPO (SB3)",
    "recurrent_ppo": "recurrent PPO (sb3-contrib)",
    "sac": "SAC (SB3)",
    "td3": "TD3 (SB3)",
    "tqc": "TQC (sb3-contrib)",
    "single_file_ppo": "PPO (one file, as CleanRL)",
    "single_file_sac": "SAC (one file, as CleanRL)",
    "rllib_ppo": "PPO (RLlib)",
    "cma_es": "CMA-ES, separable",
}
"""The algorithms as tables and figures name them."""


class Learner(Protocol):
    """A training that can stop anywhere and continue."""

    steps: int
    """Environment steps so far: monitor intervals of one simulation, with any number of flows."""

    def learn_until(self, steps: int) -> None:
        """Train to the first end of a rollout or update at or after ``steps`` environment steps."""
        ...

    def policy(self, rows: int) -> Policy:
        """Return the deterministic policy for ``rows`` flows at a time."""
        ...

    def save(self, file: Path) -> None:
        """Write everything that `load` needs to continue."""
        ...


def make(algorithm: str, of: Task, hyperparameters: Mapping[str, Any], seed: int) -> Learner:
    """Return an untrained learner."""
    return _class(algorithm)(algorithm, of, hyperparameters, seed)


def load(algorithm: str, of: Task, hyperparameters: Mapping[str, Any], seed: int, file: Path) -> Learner:
    """Return the learner that ``save`` wrote to ``file``."""
    return _class(algorithm).load(file, algorithm, of, hyperparameters, seed)


def import_modules(algorithms: Iterable[str]) -> None:
    """Import what the learners of ``algorithms`` need, so that processes forked later do not."""
    for algorithm in algorithms:
        _class(algorithm)
    # PyTorch imports it with the first optimiser, in four seconds.
    importlib.import_module("torch._dynamo")


def _class(algorithm: str) -> Any:
    module, _, name = ALGORITHMS[algorithm].partition(".")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
