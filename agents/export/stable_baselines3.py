"""Networks of Stable-Baselines3 and sb3-contrib."""

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor, nn

from leogym.agents.export.models import clipped, discrete_actions, unsquashed
from leogym.agents.export.network import Network, Predict
from leogym.common.errors import InputError


def network(model: Any) -> Network:
    """Return the network that ``model.predict(observation, deterministic=True)`` uses."""
    policy = _copy(getattr(model, "policy", model))
    space = policy.action_space
    if isinstance(space, spaces.Box):
        after: list[nn.Module] = [unsquashed(space) if policy.squash_output else clipped(space)]
    elif isinstance(space, spaces.Discrete):
        after = discrete_actions(space)
    else:
        raise InputError(f"model: action space {space}: must be Box or Discrete")

    def predict(observed: NDArray[np.float32], memory: Any) -> tuple[NDArray[Any], Any]:
        begins = np.array([memory is None])
        action, memory = model.predict(observed[None], state=memory, episode_start=begins, deterministic=True)
        return np.asarray(action[0]), memory

    if hasattr(policy, "lstm_actor"):
        return _recurrent(policy, after, predict)

    def forward(x: Tensor) -> tuple[Tensor, ...]:
        if isinstance(space, spaces.Discrete):
            return (policy.q_net(x) if hasattr(policy, "q_net") else _logits(policy.get_distribution(x)),)
        return (policy._predict(x, deterministic=True),)

    return Network(policy, forward, after, predict=predict)


def _copy(trained: Any) -> Any:
    """Return a copy in the main memory. A policy that has acted holds tensors that cannot be copied."""
    policy = type(trained)(**trained._get_constructor_parameters())
    policy.load_state_dict(trained.state_dict())
    policy.set_training_mode(False)
    return policy.to("cpu")


def _recurrent(policy: Any, after: list[Any], predict: Predict) -> Network:
    """Return a policy of RecurrentPPO, whose states are those of its LSTM."""
    cell = policy.lstm_actor
    shape = (cell.num_layers, 1, cell.hidden_size)

    def forward(x: Tensor, hidden: Tensor, memory: Tensor) -> tuple[Tensor, ...]:
        going_on = torch.zeros(x.shape[0])
        distribution, (hidden, memory) = policy.get_distribution(x, (hidden, memory), going_on)
        discrete = isinstance(policy.action_space, spaces.Discrete)
        action = _logits(distribution) if discrete else distribution.get_actions(deterministic=True)
        return action, hidden, memory

    return Network(policy, forward, after, {"hidden": shape, "cell": shape}, predict)


def _logits(distribution: Any) -> Tensor:
    return distribution.distribution.logits
