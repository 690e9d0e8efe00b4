"""APPO's hyperparameters: PPO's, learned from fragments as they come."""

from __future__ import annotations

from agents.baselines.ppo.settings import PpoSettings
from agents.training.settings import Count, Engine


class AppoSettings(PpoSettings):
    """Settings of an APPO run. ``minibatch_size`` does not count: an update takes all of its batch."""

    engine: Engine = "rllib"
    rollout_steps: Count = 64
    """Monitor intervals of each simulation in a fragment, which is what V-trace corrects over."""
    epochs: Count = 1
