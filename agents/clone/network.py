"""Sage's recurrent policy."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from leogym.agents.clone.pool import ACTION_ENTRY, ACTION_MAX
from leogym.agents.clone.settings import CloneSettings

CLIP = 10.0
"""Bound on a normalised signal, in deviations from its mean."""

FLOOR = 1e-3
"""Added to a signal before taking its logarithm."""


class Encoder(nn.Module):
    """A dense layer, layer norm and tanh."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., inputs) to (..., width)."""
        return torch.tanh(self.norm(self.dense(x)))


class Block(nn.Module):
    """A residual block: dense, ReLU, dense, skip, layer norm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., width) to (..., width)."""
        return self.norm(x + self.second(functional.relu(self.first(x))))


class Torso(nn.Module):
    """Encoder, gated recurrent unit, encoder, dense layer and residual blocks, in this order."""

    def __init__(self, inputs: int, settings: CloneSettings) -> None:
        super().__init__()
        self.before = Encoder(inputs, settings.width)
        self.gru = nn.GRU(settings.width, settings.gru, batch_first=True)
        self.after = Encoder(settings.gru, settings.width)
        self.dense = nn.Linear(settings.width, settings.width)
        self.blocks = nn.ModuleList(Block(settings.width) for _ in range(settings.blocks))

    def remember(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        """Map inputs (n, length, inputs) and a memory (n, gru), zeros by default, to (n, length, gru)."""
        memories, _ = self.gru(self.before(x), None if memory is None else memory.unsqueeze(0).contiguous())
        return memories

    def read(self, memories: Tensor) -> Tensor:
        """Map (..., gru) to (..., width)."""
        x = self.dense(self.after(memories))
        for block in self.blocks:
            x = block(x)
        return x


class Normaliser(nn.Module):
    """Standardises each signal, or its logarithm, and clips it to ±`CLIP`; the identity unless ``active``.

    `FLOOR` is added before the logarithm, and `ACTION_MAX` to the previous action, which may be negative.
    """

    def __init__(self, dim: int, *, active: bool, logarithms: bool = False) -> None:
        super().__init__()
        self.active = active
        self.logarithms = logarithms
        self.shift = torch.full((dim,), FLOOR)
        self.shift[ACTION_ENTRY:] += ACTION_MAX
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("deviation", torch.ones(dim))

    def fit(self, mean: Tensor, deviation: Tensor) -> None:
        """Set the signals' mean and deviation."""
        self.mean.copy_(mean)
        self.deviation.copy_(deviation)

    def scaled(self, x: Tensor) -> Tensor:
        """Return the signals (..., dim) or their logarithms, as `logarithms` says."""
        return (x + self.shift).clamp(min=FLOOR).log() if self.logarithms else x

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., dim) to (..., dim)."""
        if not self.active:
            return x
        x = self.scaled(x)
        return ((x - self.mean) / self.deviation).clamp(-CLIP, CLIP)


@dataclass(frozen=True)
class Mixture:
    """A mixture of Gaussians over actions; each tensor is (..., components)."""

    logits: Tensor
    means: Tensor
    scales: Tensor

    def log_prob(self, action: Tensor) -> Tensor:
        """Return the log density at ``action`` (...)."""
        deviation = (action.unsqueeze(-1) - self.means) / self.scales
        densities = -0.5 * deviation.square() - self.scales.log() - 0.5 * math.log(2 * math.pi)
        return torch.logsumexp(functional.log_softmax(self.logits, dim=-1) + densities, dim=-1)

    def mean(self) -> Tensor:
        """Return the mean (...), the policy's action without exploration."""
        return (functional.softmax(self.logits, dim=-1) * self.means).sum(dim=-1)


class Policy(nn.Module):
    """Maps a flow's observations so far to a distribution over actions."""

    def __init__(self, observation_dim: int, settings: CloneSettings) -> None:
        super().__init__()
        self.normaliser = Normaliser(
            observation_dim, active=settings.normalise, logarithms=settings.logarithms
        )
        self.torso = Torso(observation_dim, settings)
        self.head = nn.Linear(settings.width, 3 * settings.mixture)
        self._scale_min = settings.scale_min

    def forward(self, observations: Tensor, memory: Tensor | None = None) -> tuple[Mixture, Tensor]:
        """Map observations (n, length, dim) to distributions and memories (n, length, gru)."""
        memories = self.torso.remember(self.normaliser(observations), memory)
        logits, means, scales = self.head(self.torso.read(memories)).chunk(3, dim=-1)
        return Mixture(logits, means, functional.softplus(scales) + self._scale_min), memories
