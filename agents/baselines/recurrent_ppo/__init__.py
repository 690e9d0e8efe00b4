"""PPO with an LSTM before the actor's and the critic's layers, trained by sb3-contrib."""

from leogym.agents.baselines.recurrent_ppo.settings import RecurrentPpoSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="recurrent_ppo",
    summary="PPO with an LSTM: a baseline that remembers",
    settings=RecurrentPpoSettings,
    trainers={"sb3": "leogym.agents.engines.sb3.ppo:train"},
)
