"""PPO's hyperparameters that Stable-Baselines3 and RLlib share."""

from leogym.agents.engines.settings import Sb3Settings
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
    epochs: Count = 10
