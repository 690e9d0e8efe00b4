"""Hyperparameters of PPO with an LSTM."""

from __future__ import annotations

from agents.baselines.ppo.settings import PpoSettings
from agents.training.settings import Count


class RecurrentPpoSettings(PpoSettings):
    """Settings of a run of recurrent PPO: those of PPO, and the size of the memory."""

    memory_cells: Count = 64
    """Cells of the actor's LSTM, and of the critic's."""
