"""PPO with parameters shared by all flows, trained by Stable-Baselines3 or RLlib."""

from leogym.agents.baselines.ppo.settings import PpoSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="ppo",
    summary="PPO (Schulman et al., 2017): a baseline that any RL library trains",
    settings=PpoSettings,
    trainers={
        "sb3": "leogym.agents.engines.sb3.ppo:train",
        "rllib": "leogym.agents.engines.rllib.online:train",
    },
)
