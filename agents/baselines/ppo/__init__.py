"""PPO with parameters shared by all flows, trained by Stable-Baselines3 or RLlib."""

from leogym.agents.engines.settings import Sb3Settings
from leogym.agents.training.scheme import Scheme
from leogym.agents.training.settings import Count, Fraction, Size
from leogym.common.strict import NonNegative, Positive


class PpoSettings(Sb3Settings):
    """Settings of a PPO run; task-independent defaults follow Schulman et al. (2017)."""

    gae_lambda: Fraction = 0.95
    clip_range: Positive = 0.2
    entropy_coefficient: NonNegative = 0.0
    max_gradient_norm: Positive = 0.5
    rollout_steps: Size = 256  # monitor intervals of each simulation per update
    minibatch_size: Size = 256
    """Samples of a minibatch; a smaller rollout is one minibatch."""
    epochs: Count = 10

    @property
    def samples_per_minibatch(self) -> int:
        """``minibatch_size``, or the samples of a rollout if they are fewer."""
        return min(self.minibatch_size, self.rollout_steps * self.num_envs)


SCHEME = Scheme(
    name="ppo",
    summary="PPO (Schulman et al., 2017): a baseline that any RL library trains",
    settings=PpoSettings,
    trainers={
        "sb3": "leogym.agents.engines.sb3.ppo:train",
        "rllib": "leogym.agents.engines.rllib.online:train",
    },
)
