"""Wrappers between network and environment, as steps of the policy."""

from typing import Any

from torch import nn

from leogym.agents.export.layers import Copies, layers
from leogym.agents.export.network import Standardized
from leogym.agents.export.probing import Steps, steps_of


def steps(env: Any, copies: Copies) -> Steps:
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
        return (
            [Standardized(statistics.mean, statistics.var, env.epsilon, env.clip_obs)]
            if env.norm_obs
            else None
        )
    return [Standardized(statistics.mean, statistics.var, env.epsilon)]
