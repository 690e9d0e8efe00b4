"""Aurora's hyperparameters; the defaults are the published ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field

from leogym.agents.baselines.ppo import PpoSettings
from leogym.agents.training.settings import Count, Fraction, RewardText, Size, Width, ranges_by_name
from leogym.common.strict import NonNegative, Positive
from leogym.configs.sampling import AuroraSampling, Sampling

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv


class AuroraSettings(PpoSettings):
    """Settings of PPO as in Aurora (Jay et al., ICML 2019).

    Defaults are those of the released training script, or of the PPO that it calls (Stable Baselines' PPO1).
    """

    spec: str = "aurora"
    reward: RewardText = "aurora"
    scenarios: Annotated[Sampling, BeforeValidator(ranges_by_name)] = AuroraSampling()
    interval_ms: Positive = 50.0
    """Length of the intervals before the first RTT sample in ms; later ones are half an RTT long."""

    learning_rate: Positive = 1e-3
    gamma: Fraction = 0.99
    entropy_coefficient: NonNegative = 0.01
    rollout_steps: Size = 512
    """Published: 8,192 steps per update, which is 512 of 16 simulations."""
    minibatch_size: Size = 2048
    epochs: Count = 4
    hidden: list[Width] = Field(default=[32, 16], min_length=1)
    activation: Literal["leaky_relu", "tanh"] = "tanh"
    relative_rewards: bool = False
    """Whether sb3 learns from rewards relative to their path, see `agents.aurora.relative`."""

    def wrap(self, environment: VecEnv) -> VecEnv:
        """Wrap ``environment`` for training."""
        if not self.relative_rewards:
            return environment
        from leogym.agents.aurora.relative import RelativeRewards  # here, because its import takes seconds

        return RelativeRewards(environment)
