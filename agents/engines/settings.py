"""Settings that the algorithms of Stable-Baselines3 and RLlib share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from agents.training.settings import Count, Engine, Fraction, TrainSettings
from configs.strict import Positive

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv


class Sb3Settings(TrainSettings):
    """What `agents.engines.sb3.loop` and `agents.engines.rllib.online` ask of a run's settings."""

    engine: Engine = "sb3"

    learning_rate: Positive = 3e-4
    gamma: Fraction = 0.98
    hidden: list[Count] = Field(default=[64, 64], min_length=1)
    """Widths of the hidden layers of actor and critic."""
    activation: Literal["leaky_relu", "tanh"] = "leaky_relu"
    """Between layers."""
    policies: Literal["shared", "separate"] = "shared"
    """With rllib, whether all flows act and learn through one policy, or the first, the second and so on each
    through its own; ``policy/`` is the first's, ``policies/`` has all of them."""
    reward_scale: Positive = 1.0
    """Factor on the rewards that sb3 learns from, so that values are within its critic's reach; progress.csv
    has rewards as they are."""

    def wrap(self, environment: VecEnv) -> VecEnv:
        """Return what is learned on, made of ``environment``; rewards are scaled afterwards."""
        return environment
