"""The training loop's interface to an algorithm of Stable-Baselines3, and its environments."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper, VecMonitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn
from torch import nn

from leogym.agents.engines.settings import Sb3Settings
from leogym.agents.training.curriculum import Curriculum
from leogym.envs.sb3 import LeoVecEnv


def _no_lstm(model: Any) -> None:
    return None


def _nothing(model: Any, folder: Path) -> None:
    pass


@dataclass(frozen=True)
class Algorithm:
    """The training loop's interface to an algorithm."""

    make: Callable[[Any, VecEnv], BaseAlgorithm]
    """``make(settings, environment)`` returns an untrained model."""
    dense: Callable[[Any], list[nn.Linear]]
    """Returns the actor's dense layers in order; the action is the tanh of the last."""
    columns: Mapping[str, str]
    """Columns of progress.csv and the names under which the model logs them."""
    lstm: Callable[[Any], nn.LSTM | None] = _no_lstm
    """Returns the LSTM before the actor's dense layers, or None."""
    write: Callable[[Any, Path], None] = _nothing
    """``write(model, folder)`` saves state other than weights, optimisers and counters."""
    read: Callable[[Any, Path], None] = _nothing
    """``read(model, folder)`` restores it into an untrained model."""
    data_parallel: bool = False
    """Whether ``workers`` are data-parallel processes; otherwise they are simulation threads."""

    def processes(self, settings: Sb3Settings) -> int:
        """Return the number of training processes; on real TCP only one scenario runs at a time."""
        return settings.workers if self.data_parallel and settings.backend == "simulator" else 1


class ScaledRewards(VecEnvWrapper):
    """Scales rewards, and counts the steps of all processes for the curriculum."""

    def __init__(self, environment: VecEnv, factor: float, curriculum: Curriculum, processes: int) -> None:
        super().__init__(environment)
        self._factor, self.curriculum = np.float32(factor), curriculum
        self._steps = self.num_envs * processes

    def reset(self) -> VecEnvObs:
        """Reset the environment."""
        return self.venv.reset()

    def step_wait(self) -> VecEnvStepReturn:
        """Step the environment and scale the rewards."""
        self.curriculum.steps += self._steps
        observations, rewards, dones, infos = self.venv.step_wait()
        return observations, rewards * self._factor, dones, infos


def make_environment(settings: Sb3Settings, steps: int, processes: int = 1) -> ScaledRewards:
    """Return ``settings.num_envs`` simulations of one learning flow each, after ``steps`` of the run.

    All ``processes`` together step their simulations in ``settings.workers`` threads.
    """
    curriculum = Curriculum(settings, learning_flows=1)
    curriculum.steps = steps
    environment = LeoVecEnv(
        settings.num_envs,
        curriculum,
        settings.spec,
        settings.backend,
        reward=settings.reward,
        interval_ms=settings.interval_ms,
        threads=max(1, settings.workers // processes),
    )
    monitored = settings.wrap(VecMonitor(environment))
    return ScaledRewards(monitored, settings.reward_scale, curriculum, processes)
