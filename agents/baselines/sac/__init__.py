"""Soft actor-critic, trained by Stable-Baselines3 on one flow or by RLlib on all of them."""

from agents.engines.replay_settings import ReplaySettings
from agents.training.scheme import Scheme

SCHEME = Scheme(
    name="sac",
    summary="SAC (Haarnoja et al., 2018): a baseline that learns from a replay buffer",
    settings=ReplaySettings,
    trainers={"sb3": "agents.engines.sb3.off_policy:train_sac", "rllib": "agents.engines.rllib.online:train"},
)
