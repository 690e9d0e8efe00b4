"""Hyperparameters of PPO with an LSTM."""

from leogym.agents.baselines.ppo.settings import PpoSettings
from leogym.agents.training.settings import Width


class RecurrentPpoSettings(PpoSettings):
    """Settings of a recurrent PPO run."""

    memory_cells: Width = 64  # cells of the actor's and of the critic's LSTM
