"""PPO with an LSTM before the actor's and the critic's layers, trained by sb3-contrib."""

from agents.baselines.recurrent_ppo.settings import RecurrentPpoSettings
from agents.training.scheme import Scheme

SCHEME = Scheme(
    name="recurrent_ppo",
    summary="PPO with an LSTM: a baseline that remembers",
    settings=RecurrentPpoSettings,
    trainers={"sb3": "agents.engines.sb3.recurrent_ppo:train"},
)
