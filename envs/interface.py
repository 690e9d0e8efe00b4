"""The parts of an environment that other rooms may read: its simulations and its control loop's arguments."""

from collections.abc import Mapping
from typing import Any

from leogym.common.errors import InputError


def simulations(env: Any) -> Any:
    """Return the `envs.simulation.Simulations` of ``env``; None if it is not an environment of this package.

    Wrappers and vectors of other libraries do not count.
    """
    own = getattr(env, "__dict__", {})
    return own.get("_simulations") or getattr(own.get("_flows"), "_simulations", None)


def is_environment(env: Any) -> bool:
    """Return whether ``env`` itself is an environment of this package."""
    return simulations(env) is not None


def control_loop(env: Any) -> Mapping[str, Any]:
    """Return the arguments of the control loop of ``env``: ``agent``, ``interval_ms``, ``reward`` and so on.

    Raises:
        InputError: ``env`` is not an environment of this package.
    """
    inside = simulations(env)
    if inside is None:
        raise InputError(f"env: {type(env).__name__}: is not an environment of this package")
    return inside.arguments
