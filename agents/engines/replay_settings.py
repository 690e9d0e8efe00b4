"""Hyperparameters of the algorithms that learn from a replay buffer."""

from leogym.agents.engines.settings import Sb3Settings
from leogym.agents.training.settings import Count, Fraction, Size, Width
from leogym.common.strict import NonNegative


class ReplaySettings(Sb3Settings):
    """Settings of SAC, which TD3 and TQC extend; defaults follow Haarnoja et al. (2018)."""

    tau: Fraction = 0.005
    """Share of the online weights in the target weights' moving average."""
    batch_size: Size = 256
    memory: Size = 100_000
    """Capacity of the replay buffer in transitions."""
    learning_starts: Count = 1_000
    """Environment steps before the first update; until then actions are random."""
    train_every: Count = 1
    """Monitor intervals between trainings."""
    updates_per_training: Count = 1


class TqcSettings(ReplaySettings):
    """Settings of TQC; defaults follow Kuznetsov et al. (2020)."""

    quantiles: Width = 25
    """Per critic."""
    dropped_quantiles: Width = 2
    """Highest quantiles of each critic to drop, against overestimation."""


class Td3Settings(ReplaySettings):
    """Settings of TD3; defaults follow Fujimoto et al. (2018)."""

    policy_delay: Count = 2
    """Critic updates per update of the actor and the targets."""
    target_noise: NonNegative = 0.2
    """Standard deviation of the target policy's smoothing noise, in actions."""
    target_noise_clip: NonNegative = 0.5
    exploration_noise: NonNegative = 0.1
    """Standard deviation, in actions."""
