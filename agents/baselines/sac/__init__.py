"""Soft actor-critic, trained by Stable-Baselines3 on one flow or by RLlib on all of them."""

from leogym.agents.engines.settings import ReplaySettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="sac",
    summary="SAC (Haarnoja et al., 2018): a baseline that learns from a replay buffer",
    settings=ReplaySettings,
    trainers={
        "sb3": "leogym.agents.engines.sb3.off_policy:train",
        "rllib": "leogym.agents.engines.rllib.online:train",
    },
)
