"""APPO's hyperparameters: those of PPO, with updates on fragments as they arrive."""

from leogym.agents.baselines.ppo.settings import PpoSettings
from leogym.agents.training.settings import Count, Engine, Size


class AppoSettings(PpoSettings):
    """Settings of an APPO run. ``minibatch_size`` has no effect: an update uses its whole batch."""

    engine: Engine = "rllib"
    rollout_steps: Size = 64
    """Monitor intervals of each simulation per fragment, over which V-trace corrects."""
    epochs: Count = 1
