"""The environment behind wrappers and vectors of other libraries, and its control loop."""

from collections.abc import Mapping
from typing import Any

import gymnasium

from leogym.configs.errors import InputError


def first_environment(env: Any) -> Any:
    """Return the first sub-environment of a vector, and ``env`` itself if it is none.

    Knows the vectors of Gymnasium and of Stable-Baselines3 that hold their environments in this process, and
    wrappers around them.
    """
    while True:
        if members := getattr(env, "envs", None):
            env = members[0]
        elif inner := getattr(env, "venv", None):
            env = inner
        elif isinstance(env, gymnasium.vector.VectorWrapper):
            env = env.env
        else:
            return env


def control_loop(env: Any) -> Mapping[str, Any]:
    """Return the arguments of the control loop of ``env``: ``agent``, ``interval_ms``, ``reward`` and so on.

    ``env`` is an environment of this package, or wrappers or a vector around one.

    Raises:
        InputError: there is none of ours behind it.
    """
    inner = first_environment(env)
    inner = getattr(inner, "unwrapped", inner)
    simulations = getattr(inner, "_simulations", None)
    if simulations is None:
        raise InputError(f"env: {type(inner).__name__}: is not an environment of this package")
    return simulations.arguments
