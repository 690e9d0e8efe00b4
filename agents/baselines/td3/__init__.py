"""TD3 on one flow, trained by Stable-Baselines3."""

from leogym.agents.engines.settings import Td3Settings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="td3",
    summary="TD3 (Fujimoto et al., 2018): a baseline that learns from a replay buffer",
    settings=Td3Settings,
    trainers={"sb3": "leogym.agents.engines.sb3.off_policy:train"},
)
