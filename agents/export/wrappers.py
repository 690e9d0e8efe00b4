"""Wrappers between network and environment, as steps of the policy."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium import wrappers as gym_wrappers
from gymnasium.wrappers import vector as vector_wrappers
from numpy.typing import NDArray
from torch import nn

from leogym.agents.export.network import Clipped, Scaled, Standardized
from leogym.configs.errors import InputError

Steps = tuple[list[nn.Module], list[nn.Module]]
"""Steps from the simulator's observation to the network's, and from the network's action back."""


def steps(env: Any) -> Steps:
    """Return what the wrappers of ``env``, the outermost first, do to observations and actions.

    Raises:
        InputError: a wrapper changes observations or actions in a way that is not known here.
    """
    before: list[nn.Module] = []
    after: list[nn.Module] = []
    while env is not None:
        inner = _inner(env)
        if inner is None:
            break
        seen, acted = _of(env)
        before[:0] = seen
        after += acted
        env = inner
    return before, after


def _inner(env: Any) -> Any:
    """Return what ``env`` wraps, or the first environment of a vector; None for an environment itself."""
    if members := getattr(env, "envs", None):
        return members[0]
    if (inner := getattr(env, "venv", None)) is not None:
        return inner
    if isinstance(env, gymnasium.Wrapper | gymnasium.vector.VectorWrapper):
        return env.env
    return None


def _of(env: Any) -> Steps:
    """Return the steps of one wrapper."""
    kind = type(env)
    if getattr(env, "obs_rms", None) is not None and hasattr(env, "venv"):
        if not env.norm_obs:
            return [], []
        statistics = env.obs_rms
        return [Standardized(statistics.mean, statistics.var, env.epsilon, env.clip_obs)], []
    if issubclass(kind, gym_wrappers.NormalizeObservation | vector_wrappers.NormalizeObservation):
        statistics = env.obs_rms
        return [Standardized(statistics.mean, statistics.var, env.epsilon)], []
    if issubclass(kind, gym_wrappers.RescaleAction):
        return [], [_rescaled(env.action_space, env.env.action_space)]
    if issubclass(kind, gym_wrappers.ClipAction):
        space = env.env.action_space
        return [], [Clipped(space.low, space.high)]
    if issubclass(kind, gym_wrappers.RescaleObservation):
        return [_rescaled(env.env.observation_space, env.observation_space)], []
    if issubclass(kind, gymnasium.ObservationWrapper):
        return _observation(env), []
    if issubclass(kind, gymnasium.ActionWrapper):
        raise InputError(f"env: {type(env).__name__}: changes actions in a way that cannot be exported")
    if issubclass(kind, gymnasium.Wrapper) and env.observation_space.shape != env.env.observation_space.shape:
        raise InputError(f"env: {type(env).__name__}: changes observations in a way that cannot be exported")
    return [], []


def _rescaled(source: Any, target: Any) -> Scaled:
    """Return the affine function from the bounds of one box to those of another."""
    low, high, to_low, to_high = (
        np.asarray(bound, np.float64) for bound in (source.low, source.high, target.low, target.high)
    )
    scale = (to_high - to_low) / (high - low)
    return Scaled(scale, to_low - low * scale)


def _observation(env: Any) -> list[nn.Module]:
    """Return the steps of a wrapper of observations, whose function is known by what it does to some.

    It may leave them as they are, or clip them.
    """
    space = env.env.observation_space
    if not isinstance(space, spaces.Box) or env.observation_space.shape != space.shape:
        raise InputError(f"env: {type(env).__name__}: changes observations in a way that cannot be exported")

    def shown(x: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(env.observation(x.astype(np.float32)), np.float64)

    top = np.full(space.shape, 1e30)
    low, high = shown(-top), shown(top)
    random = np.random.default_rng(0)
    for scale in (0.1, 1.0, 10.0, 100.0, 1e4):
        x = random.normal(0.0, scale, space.shape).astype(np.float32)
        if not np.allclose(shown(x), np.clip(x, low, high), rtol=1e-6, atol=1e-6):
            raise InputError(
                f"env: {type(env).__name__}: changes observations in a way that cannot be exported"
            )
    return [] if (high >= 1e29).all() and (low <= -1e29).all() else [Clipped(low, high)]
