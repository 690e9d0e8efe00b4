"""Hyperparameters of PPO with an LSTM."""

from leogym.agents.baselines.ppo.settings import PpoSettings
from leogym.agents.training.settings import Count


class RecurrentPpoSettings(PpoSettings):
    """Settings of a recurrent PPO run."""

    memory_cells: Count = 64  # cells of the actor's and of the critic's LSTM
