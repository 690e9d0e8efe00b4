"""A fixed first layer that decorrelates observations (ZCA: Bell and Sejnowski, 1997).

Five intervals of a flow are nearly equal, and a rule depends on their small differences: a window step, a
millisecond of queue. Gradient descent learns the directions of largest variance long before those. Whitening
gives all directions equal weight. Without it, small weight changes in training also make an actor forget the
rule that it learned in lessons.
"""

import torch
from torch import Tensor, nn

LEAST_VARIANCE = 1e-6  # added to every direction's variance; much less would be rounding error


class Whitening(nn.Module):
    """Whitens observations (n, dim); the identity before `fit`."""

    mean: Tensor
    whiten: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("whiten", torch.eye(dim))

    def fit(self, observations: Tensor) -> None:
        """Fit mean and covariance to ``observations`` (n, dim)."""
        exact = observations.double()
        variances, directions = torch.linalg.eigh(torch.cov(exact.T))
        scales = (variances.clamp(min=0) + LEAST_VARIANCE).sqrt()
        self.mean.copy_(exact.mean(0))
        self.whiten.copy_(directions @ torch.diag(1 / scales) @ directions.T)

    def forward(self, observations: Tensor) -> Tensor:
        """Whiten observations (n, dim)."""
        return (observations - self.mean) @ self.whiten

    def folded(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Return weight and bias of one layer equal to this layer followed by the given one."""
        exact = weight.double() @ self.whiten.double().T
        return exact.to(weight.dtype), (bias.double() - exact @ self.mean.double()).to(bias.dtype)

    def unfolded(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Undo `folded`."""
        exact = weight.double() @ torch.linalg.inv(self.whiten.double()).T
        return exact.to(weight.dtype), (bias.double() + weight.double() @ self.mean.double()).to(bias.dtype)
