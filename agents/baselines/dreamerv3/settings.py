"""DreamerV3's hyperparameters; defaults follow Hafner et al. (2023), but for the size."""

from __future__ import annotations

from typing import Literal

from agents.training.settings import Count, Engine, Fraction, TrainSettings
from configs.strict import Positive


class DreamerV3Settings(TrainSettings):
    """Settings of a DreamerV3 run, which has one learning flow in each simulation."""

    engine: Engine = "rllib"
    num_envs: Count = 1

    model_size: Literal["nano", "micro", "mini", "XXS", "XS", "S", "M", "L", "XL"] = "XXS"
    """From XS on, those of the paper's table; those below are RLlib's, for small problems and tests."""
    training_ratio: Positive = 32.0
    """Replayed steps for each step of the environment; the paper's range is 32 to 1,024."""
    gamma: Fraction = 0.997
    learning_rate: Positive = 3e-5
    """Of actor and critic."""
    world_model_learning_rate: Positive = 1e-4
    batch_size: Count = 16
    """Sequences in an update …"""
    sequence: Count = 64
    """… and their length in intervals."""
    horizon: Count = 15
    """Intervals that are dreamed ahead."""
    memory: Count = 1_000_000
    """Capacity of the replay buffer in intervals."""
