"""Observations without correlation, for an actor to learn from: its first, fixed layer.

Five intervals of a flow are nearly the same numbers, and what a rule goes by is how little they differ: by a
step of a window, by a millisecond of a queue. Gradient descent finds the directions in which observations
vary most long before those. Whitened (zero-phase component analysis: Bell and Sejnowski, 1997), all
directions count alike, in lessons and in what comes after them: an actor that takes observations as they are
forgets a rule by small steps of its weights that mean much to its actions.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

LEAST_VARIANCE = 1e-6
"""Added to every direction's: far less is rounding."""


class Whitening(nn.Module):
    """Maps observations (n, dim) to whitened ones; to themselves before it is fitted.

    Args:
        dim: width of an observation.
    """

    mean: Tensor
    whiten: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("whiten", torch.eye(dim))

    def fit(self, observations: Tensor) -> None:
        """Whiten observations like those given, (n, dim), from now on."""
        exact = observations.double()
        variances, directions = torch.linalg.eigh(torch.cov(exact.T))
        scales = (variances.clamp(min=0) + LEAST_VARIANCE).sqrt()
        self.mean.copy_(exact.mean(0))
        self.whiten.copy_(directions @ torch.diag(1 / scales) @ directions.T)

    def forward(self, observations: Tensor) -> Tensor:
        """Map observations to whitened ones."""
        return (observations - self.mean) @ self.whiten

    def folded(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Return weight and bias of one layer that does what this one and the given one after it do."""
        exact = weight.double() @ self.whiten.double().T
        return exact.to(weight.dtype), (bias.double() - exact @ self.mean.double()).to(bias.dtype)

    def unfolded(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Undo `folded`."""
        exact = weight.double() @ torch.linalg.inv(self.whiten.double()).T
        return exact.to(weight.dtype), (bias.double() + weight.double() @ self.mean.double()).to(bias.dtype)


def with_whitening(state: dict[str, Any], dim: int) -> dict[str, Any]:
    """Return an actor's state that may be of before actors had a whitening, which then does nothing."""
    nothing = {f"whitening.{name}": tensor for name, tensor in Whitening(dim).state_dict().items()}
    return nothing | state
