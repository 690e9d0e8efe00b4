"""The algorithms of the reference results, each behind the interface `Learner`."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from studies.reference.learners.tasks import Policy, Task

MODULES = {
    "ppo": "stable_baselines3",
    "sac": "stable_baselines3",
    "cma_es": "evolution",
    "single_file_ppo": "single_file_ppo",
    "td3": "stable_baselines3",
    "single_file_sac": "single_file_sac",
    "tqc": "stable_baselines3",
    "rllib_ppo": "rllib",
    "rllib_appo": "rllib",
    "recurrent_ppo": "stable_baselines3",
}
"""The algorithms in the order in which the table is made, and the module of `learners` that has each."""

LABELS = {
    "ppo": "PPO (SB3)",
    "recurrent_ppo": "recurrent PPO (sb3-contrib)",
    "sac": "SAC (SB3)",
    "td3": "TD3 (SB3)",
    "tqc": "TQC (sb3-contrib)",
    "single_file_ppo": "PPO (one file, as CleanRL)",
    "single_file_sac": "SAC (one file, as CleanRL)",
    "rllib_ppo": "PPO (RLlib)",
    "rllib_appo": "APPO (RLlib)",
    "cma_es": "CMA-ES, separable",
}
"""The algorithms as tables and figures name them."""

ON_POLICY = ("ppo", "recurrent_ppo", "single_file_ppo", "rllib_ppo", "rllib_appo", "cma_es")
"""Algorithms without a replay buffer, which also have results at a million steps."""


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
    return _module(algorithm).make(algorithm, of, hyperparameters, seed)


def load(algorithm: str, of: Task, hyperparameters: Mapping[str, Any], seed: int, file: Path) -> Learner:
    """Return the learner that ``save`` wrote to ``file``."""
    return _module(algorithm).load(algorithm, of, hyperparameters, seed, file)


def _module(algorithm: str) -> Any:
    return importlib.import_module(f"{__name__}.{MODULES[algorithm]}")
