"""A trained network with everything between it and the environment, as one module."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Forward = Callable[..., tuple[Tensor, ...]]
"""From the observation (batch, n) and the states to the action (batch, m) and the next states."""

Predict = Callable[[NDArray[np.float32], Any], tuple[NDArray[Any], Any]]
"""From an observation (n,) and the memory, None at first, to the environment's action and the next memory."""


class Standardized(nn.Module):
    """Running statistics: ``clip((x - mean) / sqrt(variance + epsilon), -bound, bound)``."""

    mean: Tensor
    deviation: Tensor

    def __init__(
        self, mean: NDArray[Any], variance: NDArray[Any], epsilon: float, bound: float = np.inf
    ) -> None:
        super().__init__()
        self.register_buffer("mean", torch.as_tensor(np.asarray(mean, np.float32)))
        deviation = np.sqrt(np.asarray(variance, np.float64) + epsilon)
        self.register_buffer("deviation", torch.as_tensor(deviation.astype(np.float32)))
        self.bound = bound

    def forward(self, x: Tensor) -> Tensor:
        """Standardise each row of ``x`` (batch, n)."""
        x = (x - self.mean) / self.deviation
        return x if np.isinf(self.bound) else torch.clamp(x, -self.bound, self.bound)


class Scaled(nn.Module):
    """An affine function of each component: ``x · scale + shift``."""

    scale: Tensor
    shift: Tensor

    def __init__(self, scale: NDArray[Any], shift: NDArray[Any]) -> None:
        super().__init__()
        self.register_buffer("scale", torch.as_tensor(np.asarray(scale, np.float32)))
        self.register_buffer("shift", torch.as_tensor(np.asarray(shift, np.float32)))

    def forward(self, x: Tensor) -> Tensor:
        """Scale each row of ``x`` (batch, n)."""
        return x * self.scale + self.shift


class Clipped(nn.Module):
    """Every component within its bounds."""

    low: Tensor
    high: Tensor

    def __init__(self, low: NDArray[Any], high: NDArray[Any]) -> None:
        super().__init__()
        self.register_buffer("low", torch.as_tensor(np.asarray(low, np.float32)))
        self.register_buffer("high", torch.as_tensor(np.asarray(high, np.float32)))

    def forward(self, x: Tensor) -> Tensor:
        """Clip each row of ``x`` (batch, n)."""
        return torch.maximum(torch.minimum(x, self.high), self.low)


class Best(nn.Module):
    """The action of the highest score: scores (batch, n) to the rows (n, m) of a table."""

    table: Tensor

    def __init__(self, table: NDArray[Any]) -> None:
        super().__init__()
        self.register_buffer("table", torch.as_tensor(np.asarray(table, np.float32)))

    def forward(self, scores: Tensor) -> Tensor:
        """Return the rows of the highest scores, the first of equal ones."""
        return self.table[scores.argmax(-1)]


@dataclass
class Network:
    """A network as its library trained it."""

    module: nn.Module
    """Holds the weights; `forward` uses it."""
    forward: Forward
    after: list[nn.Module] = field(default_factory=list)
    """Steps from its outputs to the environment's action, such as squashing."""
    states: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Name and shape of each state in a batch of one, initially zeros."""
    predict: Predict | None = None
    """The library's own way from an observation to an action, where it has one."""


class Actor(nn.Module):
    """From the observation of `leosim` to an action within [-1, 1], and from states to the next ones.

    Args:
        network: the network.
        before: steps from the observation to the network's input, in order.
        after: steps from the network's action to the simulator's, in order.
        arguments: ``agent`` and ``interval_ms`` of the training, as far as they are known.
    """

    def __init__(
        self,
        network: Network,
        before: list[nn.Module],
        after: list[nn.Module],
        arguments: Mapping[str, Any],
    ) -> None:
        super().__init__()
        self.network, self.states, self.arguments = network.module, network.states, dict(arguments)
        self._forward, self._own, self._predict = network.forward, network.after, network.predict
        self.before = nn.Sequential(*before)
        self.passed_on = nn.Sequential(*after, nn.Hardtanh(-1.0, 1.0))
        """From an action of the network to the simulator's."""
        self.after = nn.Sequential(*network.after, *self.passed_on)
        self.eval()

    def forward(self, observation: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        """Return the action (batch, action_dim) and the next states."""
        action, *following = self._forward(self.before(observation), *states)
        action = self.after(action)
        return (action.reshape(observation.shape[0], -1), *following)

    def predict(self, observed: NDArray[np.float32], memory: Any) -> tuple[NDArray[Any], Any]:
        """Return the library's action and memory for an observation (n,) of the environment (`Predict`)."""
        if self._predict is not None:
            return self._predict(observed, memory)
        if memory is None:
            memory = [torch.zeros(shape) for shape in self.states.values()]
        with torch.no_grad():
            action, *following = self._forward(torch.from_numpy(observed[None]), *memory)
            if self._own and isinstance(self._own[0], Best):
                return action[0].argmax().numpy(), following
            return nn.Sequential(*self._own)(action)[0].reshape(-1).numpy(), following
