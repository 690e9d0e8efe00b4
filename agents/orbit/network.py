"""Orbit's network: an LSTM on the observation that detects competitors and names two rates."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from leogym.agents.training.onnx_export import recurrent

HEADS = 3
"""Outputs that are learned, the last of an action: competition, target, start."""

Memory = tuple[Tensor, Tensor]


class OrbitNetwork(nn.Module):
    """Maps observations (steps, flows, inputs) to the learned part of actions, before tanh."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, width)
        self.heads = nn.Linear(width, HEADS)
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("deviation", torch.ones(inputs))

    def forward(self, observations: Tensor, memory: Memory | None = None) -> tuple[Tensor, Memory]:
        """Return the outputs (steps, flows, 3) and the memory after the last step."""
        states, after = self.lstm((observations - self.mean) / self.deviation, memory)
        return self.heads(states), after

    def scale(self, observations: NDArray[np.float32]) -> None:
        """Scale inputs by the mean and the deviation of ``observations`` (rows, inputs)."""
        self.mean.copy_(torch.from_numpy(observations.mean(axis=0)))
        # A feature that hardly varies in these episodes may do so in others.
        self.deviation.copy_(torch.from_numpy(observations.std(axis=0) + 0.05))

    def export(self, actions: int, description: str) -> bytes:
        """Return the policy as ONNX; the first ``actions - 3`` numbers of its actions are 0."""
        state: dict[str, NDArray[Any]] = {
            name: tensor.detach().double().numpy() for name, tensor in self.state_dict().items()
        }
        by_input = state["lstm.weight_ih_l0"] / state["deviation"]
        bias = state["lstm.bias_ih_l0"] - by_input @ state["mean"]
        cell = (by_input, state["lstm.weight_hh_l0"], bias, state["lstm.bias_hh_l0"])
        weight = np.zeros((actions, self.lstm.hidden_size))
        weight[-HEADS:] = state["heads.weight"]
        heads = np.zeros(actions)
        heads[-HEADS:] = state["heads.bias"]
        layer = weight.astype(np.float32), heads.astype(np.float32)
        return recurrent(tuple(array.astype(np.float32) for array in cell), [layer], None, description)
