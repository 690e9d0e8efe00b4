"""Settings shared by the algorithms of Stable-Baselines3 and RLlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from leogym.agents.training.settings import Engine, Fraction, TrainSettings, Width
from leogym.common.strict import Positive

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv


class Sb3Settings(TrainSettings):
    """Settings that `agents.engines.sb3.loop` and `agents.engines.rllib.online` need."""

    engine: Engine = "sb3"

    learning_rate: Positive = 3e-4
    gamma: Fraction = 0.98
    hidden: list[Width] = Field(default=[64, 64], min_length=1)
    """Widths of the hidden layers of actor and critic, with ``activation`` between them."""
    activation: Literal["leaky_relu", "tanh"] = "leaky_relu"
    policies: Literal["shared", "separate"] = "shared"
    """With rllib, whether all flows share one policy or each has its own by its number. ``policy/`` holds the
    first policy, ``policies/`` all of them."""
    reward_scale: Positive = 1.0
    """Factor on the rewards that sb3 learns from, for values in its critic's range; progress.csv has unscaled
    rewards."""

    def wrap(self, environment: VecEnv) -> VecEnv:
        """Return ``environment`` as the algorithm should see it; rewards are scaled afterwards."""
        return environment
