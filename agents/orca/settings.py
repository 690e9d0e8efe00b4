"""Orca's hyperparameters; the defaults are the published ones."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from leogym.agents.astraea.settings import AstraeaSettings
from leogym.agents.training.settings import Count, Fraction, RewardText, Size, Width, ranges_by_name
from leogym.common.strict import NonNegative, Positive
from leogym.configs.sampling import AstraeaSampling, Sampling

PUBLISHED_RANGES = AstraeaSampling(
    flows=(1, 1), rate_mbps=(6.0, 192.0), base_rtt_ms=(4.0, 400.0), queue_bdp=(0.5, 16.0), duration_s=30.0
)
"""Published: 6 to 192 Mbit/s, 4 to 400 ms, buffers of 3 kB to 96 MB. The buffers in BDPs are ours."""


class OrcaSettings(AstraeaSettings):
    """Settings of TD3 as in Orca (SIGCOMM 2020); the defaults are those of the released ``params.json``."""

    spec: str = "orca"
    reward: RewardText = "orca"
    scenarios: Annotated[Sampling, BeforeValidator(ranges_by_name)] = PUBLISHED_RANGES
    interval_ms: Positive = 20.0

    hidden: list[Width] = Field(default=[256, 256], min_length=1)
    centralised: bool = False
    actor_learning_rate: Positive = 1e-4
    critic_learning_rate: Positive = 1e-3
    critic_decay: Fraction = 1.0
    gamma: Fraction = 0.995
    tau: Fraction = 0.001
    batch_size: Size = 512
    policy_delay: Count = 1
    target_noise: NonNegative = 0.1
    target_noise_clip: NonNegative = 0.2
    memory: Size = 2_553_600

    learning_starts: Count = 200
    train_every: Count = 1
    updates_per_training: Count = 4  # published: an update every 5 ms, which is 4 per interval

    exploration_start: Fraction = 0.0
    exploration_end: Fraction = 0.0
    exploration_noise: NonNegative = 0.2
