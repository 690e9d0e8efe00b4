"""PPO's hyperparameters, in the terms that Stable-Baselines3 and RLlib share."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agents.settings import Count, Engine, Fraction, TrainSettings
from configs.strict import NonNegative, Positive


class PpoSettings(TrainSettings):
    """Settings of a PPO run; defaults follow Schulman et al. (2017) where they do not depend on the task."""

    engine: Engine = "sb3"

    learning_rate: Positive = 3e-4
    gamma: Fraction = 0.98
    gae_lambda: Fraction = 0.95
    clip_range: Positive = 0.2
    entropy_coefficient: NonNegative = 0.0
    max_gradient_norm: Positive = 0.5
    rollout_steps: Count = 256
    """Monitor intervals that each simulation contributes to an update."""
    minibatch_size: Count = 256
    epochs: Count = 10
    hidden: list[Count] = Field(default=[64, 64], min_length=1)
    """Widths of the hidden layers of actor and critic."""
    activation: Literal["leaky_relu", "tanh"] = "leaky_relu"
    """Between layers."""
    reward_scale: Positive = 1.0
    """Factor on the rewards that sb3 learns from, so that values are within its critic's reach; progress.csv
    has rewards as they are."""
