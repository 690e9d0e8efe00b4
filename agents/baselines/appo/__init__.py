"""Asynchronous PPO with parameters shared by all flows, trained by RLlib."""

from leogym.agents.baselines.appo.settings import AppoSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="appo",
    summary="APPO (RLlib's asynchronous PPO, after IMPALA, 2018): samples while it learns",
    settings=AppoSettings,
    trainers={"rllib": "leogym.agents.engines.rllib.online:train"},
)
