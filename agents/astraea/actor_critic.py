"""Astraea's actor and twin critics."""

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

HIDDEN = (256, 128, 64)
NEGATIVE_SLOPE = 0.2
BATCH_NORM_EPSILON = 1e-3


class Actor(nn.Module):
    """Maps a flow's observation to its action: 50-256-128-64-1, batch norm and leaky ReLU, tanh at the end.

    Batch norm has no scale: the next layer learns it.
    ``momentum`` is the share of a batch in its running statistics. ``output_scale`` multiplies the last
    layer's initial weights, and so, roughly, the initial actions.
    """

    def __init__(
        self,
        observation_dim: int,
        action_dim: int,
        momentum: float,
        hidden: Sequence[int] = HIDDEN,
        output_scale: float = 1.0,
    ) -> None:
        super().__init__()
        widths = (observation_dim, *hidden)
        self.dense = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(widths))
        self.norm = nn.ModuleList(
            nn.BatchNorm1d(width, eps=BATCH_NORM_EPSILON, momentum=momentum) for width in hidden
        )
        self.last = nn.Linear(hidden[-1], action_dim)
        for norm in self.norm:
            assert isinstance(norm, nn.BatchNorm1d)
            norm.weight.requires_grad_(False)
        for layer in [*self.dense, self.last]:
            assert isinstance(layer, nn.Linear)
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        with torch.no_grad():
            self.last.weight.mul_(output_scale)

    def before_tanh(self, observation: Tensor) -> Tensor:
        """Map observations (n, observation_dim) to unbounded outputs (n, action_dim)."""
        x = observation
        for dense, norm in zip(self.dense, self.norm, strict=True):
            x = functional.leaky_relu(norm(dense(x)), NEGATIVE_SLOPE)
        return self.last(x)

    def forward(self, observation: Tensor) -> Tensor:
        """Map (n, observation_dim) to actions (n, action_dim) in [-1, 1]."""
        return torch.tanh(self.before_tanh(observation))

    def folded(self) -> list[tuple[Tensor, Tensor]]:
        """Return (weight, bias) of each layer with batch norm's statistics folded in."""
        layers = []
        for dense, norm in zip(self.dense, self.norm, strict=True):
            assert isinstance(dense, nn.Linear)
            assert isinstance(norm, nn.BatchNorm1d)
            assert norm.running_mean is not None
            assert norm.running_var is not None
            scale = torch.rsqrt(norm.running_var + norm.eps)
            layers.append(
                (dense.weight * scale[:, None], (dense.bias - norm.running_mean) * scale + norm.bias)
            )
        return [(w.detach(), b.detach()) for w, b in [*layers, (self.last.weight, self.last.bias)]]


class TwinCritics(nn.Module):
    """Two critics without shared weights: local observation and global state (62) -256-[+action]-128-64-1.

    Weights are stacked, (2, in, out), so that one product serves both. ``layer_norm`` normalises hidden
    layers before their activation, without a scale (Ba, Kiros and Hinton, 2016). Values then stay bounded far
    from the training data. ``global_dim`` is 0 without a global state.
    """

    def __init__(
        self,
        observation_dim: int,
        global_dim: int,
        action_dim: int,
        hidden: Sequence[int] = HIDDEN,
        layer_norm: bool = False,
    ) -> None:
        super().__init__()
        self._layer_norm = layer_norm
        first, *inner_widths = hidden
        inputs = (observation_dim + global_dim, first + action_dim, *inner_widths)
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for fan_in, fan_out in zip(inputs, (*hidden, 1), strict=True):
            bound = math.sqrt(6 / (fan_in + fan_out))  # Glorot and Bengio (2010)
            self.weights.append(nn.Parameter(torch.empty(2, fan_in, fan_out).uniform_(-bound, bound)))
            self.biases.append(nn.Parameter(torch.zeros(2, 1, fan_out)))

    def forward(self, state: Tensor, action: Tensor) -> Tensor:
        """Map states (n, observation_dim + global_dim) and actions (n, action_dim) to values (2, n)."""
        return self._values(state, action, list(self.weights), list(self.biases))

    def first(self, state: Tensor, action: Tensor) -> Tensor:
        """Map states and actions to the first critic's values (n,); only the action has a gradient."""
        weights = [weight.detach()[:1] for weight in self.weights]
        biases = [bias.detach()[:1] for bias in self.biases]
        return self._values(state, action, weights, biases)[0]

    def _values(self, state: Tensor, action: Tensor, weights: list[Tensor], biases: list[Tensor]) -> Tensor:
        critics = len(weights[0])
        x = state.expand(critics, -1, -1)
        for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            if layer:
                if self._layer_norm:
                    x = functional.layer_norm(x, x.shape[-1:])
                x = functional.leaky_relu(x, NEGATIVE_SLOPE)
            if layer == 1:
                # Two products, so that nothing joins the action to the wide layer.
                weight, of_action = weight.split([x.shape[2], action.shape[1]], dim=1)
                bias = torch.baddbmm(bias, action.expand(critics, -1, -1), of_action)
            x = torch.baddbmm(bias, x, weight)
        return x.squeeze(-1)
