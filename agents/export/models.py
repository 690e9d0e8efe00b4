"""The networks of each library and the wrappers around them: from an observation to an action."""

import copy
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from leogym.agents.export.layers import Copies, innermost, layers
from leogym.agents.export.network import Actor, Best, Clipped, Network, Scaled, Standardized
from leogym.agents.export.probing import Steps, steps_of
from leogym.common.errors import InputError
from leogym.envs.interface import control_loop

SB3 = {"stable_baselines3", "sb3_contrib"}


def environment_of(model: Any, env: Any) -> Any:
    """Return the environment of an id, the one that ``model`` was trained in if ``env`` is None, or None."""
    if isinstance(env, str):
        return gymnasium.make(env)
    if env is None and _libraries(model) & SB3:
        return model.get_env()  # None for a model that was loaded alone
    return env


def actor_of(model: Any, env: Any, copies: Copies, states: dict[str, tuple[int, ...]]) -> Actor:
    """Return ``model`` as an `Actor`; see `agents.export.save_policy`.

    ``copies`` are those of ``env``, which may be None.
    """
    if model is None:
        raise InputError(
            "model: None: RLlib's get_module() needs a name where flows have modules of their own: pass the "
            'Algorithm, whose modules an error names, or algorithm.get_module("NAME")'
        )
    library = _libraries(model)
    if library & SB3:
        from leogym.agents.export import stable_baselines3 as source

        network = source.network(model)
    elif "ray" in library or isinstance(model, str | Path):
        from leogym.agents.export import rllib as source

        network = source.network(model, env)
    elif isinstance(model, nn.Module):
        network = module_network(model, env, states)
    else:
        raise InputError(f"model: {type(model).__name__}: is of no library that is known here")
    network.module.eval()
    if env is None:
        return Actor(network, [], [], {})
    before, after = wrapper_steps(env, copies)
    arguments = control_loop(innermost(env))
    if arguments.get("normalize_observations"):
        before.insert(0, nn.Softsign())
    return Actor(network, before, after, arguments)


def module_network(module: nn.Module, env: Any, states: dict[str, tuple[int, ...]]) -> Network:
    """Return a plain module, or an agent or actor of a CleanRL script, by its members."""
    network = on_cpu(module)
    discrete = [] if env is None else discrete_actions(single_action_space(env))

    def forward(x: Tensor, *memory: Tensor) -> tuple[Tensor, ...]:
        if hasattr(network, "actor_mean"):  # CleanRL: PPO
            return (network.actor_mean(x),)
        if discrete and isinstance(getattr(network, "actor", None), nn.Module):  # CleanRL: discrete PPO
            return (network.actor(x),)
        if hasattr(network, "fc_mean") and hasattr(network, "action_scale"):  # CleanRL: SAC
            mean = network(x)[0]
            return (torch.tanh(mean) * network.action_scale + network.action_bias,)
        out = network(x, *memory)
        out = out if isinstance(out, tuple) else (out,)
        if len(out) < 1 + len(states):
            raise InputError(
                f"model: returns {len(out)} tensors: must be the action and {len(states)} states"
            )
        return (out[0], *out[1 : 1 + len(states)])

    return Network(network, forward, discrete, states)


def on_cpu(module: nn.Module) -> Any:
    """Return a copy of ``module`` in the main memory, so that the trained module does not change."""
    return copy.deepcopy(module).cpu().eval()


def _libraries(model: Any) -> set[str]:
    return {base.__module__.partition(".")[0] for base in type(model).__mro__}


def single_action_space(env: Any) -> spaces.Space[Any]:
    """Return the action space of one environment or agent of ``env``."""
    if agents := getattr(env, "possible_agents", None):
        return env.action_spaces[agents[0]]
    return getattr(env, "single_action_space", None) or env.action_space


def discrete_actions(space: spaces.Space[Any]) -> list[nn.Module]:
    """Return the step from the scores of discrete actions to their levels; none for continuous ones."""
    if isinstance(space, spaces.Discrete):
        return [Best(np.linspace(-1.0, 1.0, int(space.n))[:, None])]
    if isinstance(space, spaces.Box):
        return []
    raise InputError(f"env: action space {space}: must be Box or Discrete")


def unsquashed(space: spaces.Box) -> Scaled:
    """Return the step from [-1, 1] to the bounds of ``space``."""
    low, high = np.asarray(space.low, np.float64), np.asarray(space.high, np.float64)
    return Scaled((high - low) / 2, (high + low) / 2)


def clipped(space: spaces.Box) -> Clipped:
    """Return the step that clips actions to the bounds of ``space``."""
    return Clipped(space.low, space.high)


def wrapper_steps(env: Any, copies: Copies) -> Steps:
    """Return the effect of ``env``'s wrappers on observations and actions.

    Raises:
        InputError: a wrapper does something that a policy cannot, or that cannot be known.
    """
    before: list[nn.Module] = []
    after: list[nn.Module] = []
    for layer in layers(env):
        if layer.is_harmless:
            continue
        observed, acted = steps_of(layer, copies, _statistics(layer.env))
        before[:0] = observed
        after += acted
    return before, after


def _statistics(env: Any) -> list[nn.Module] | None:
    """Return the steps of a wrapper with running statistics of observations, as they are now."""
    statistics = getattr(env, "__dict__", {}).get("obs_rms")
    if statistics is None or not hasattr(statistics, "var"):
        return None
    if hasattr(env, "norm_obs"):  # Stable-Baselines3
        if not env.norm_obs:
            return None
        return [Standardized(statistics.mean, statistics.var, env.epsilon, env.clip_obs)]
    return [Standardized(statistics.mean, statistics.var, env.epsilon)]
