"""PPO with an LSTM before the actor's and the critic's layers, trained by sb3-contrib."""

from leogym.agents.baselines.ppo import PpoSettings
from leogym.agents.training.scheme import Scheme
from leogym.agents.training.settings import Width


class RecurrentPpoSettings(PpoSettings):
    """Settings of a recurrent PPO run."""

    memory_cells: Width = 64  # cells of the actor's and of the critic's LSTM


SCHEME = Scheme(
    name="recurrent_ppo",
    summary="PPO with an LSTM: a baseline that remembers",
    settings=RecurrentPpoSettings,
    trainers={"sb3": "leogym.agents.engines.sb3.ppo:train"},
)
