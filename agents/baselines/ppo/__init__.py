"""PPO with parameters shared by all flows, trained by Stable-Baselines3 or RLlib."""

from agents.baselines.ppo.settings import PpoSettings
from agents.training.scheme import Scheme

SCHEME = Scheme(
    name="ppo",
    summary="PPO (Schulman et al., 2017): a baseline that any RL library trains",
    settings=PpoSettings,
    trainers={"sb3": "agents.engines.sb3.ppo:train", "rllib": "agents.engines.rllib.online:train"},
)
