"""Arguments of environments: the ``options`` of ``reset``, and a vector's ends of episodes."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.envs.scenarios import ScenarioLike

SCENARIO = "scenario"


def scenario_option(options: Mapping[str, Any] | None, ignored: str | None = None) -> ScenarioLike:
    """Return the scenario in ``options``, or None; raise `InputError` for any other key but ``ignored``."""
    for key in options or ():
        if key not in (SCENARIO, ignored):
            raise InputError(f"reset: options: {key}: unknown key (there is: {SCENARIO})")
    return options.get(SCENARIO) if options else None


def scenario_options(
    options: Mapping[str, Any] | None, num_envs: int, ignored: str | None = None
) -> list[ScenarioLike]:
    """Return a scenario or None for each of ``num_envs`` environments.

    A list or tuple in ``options`` has one per environment; anything else is for all of them.

    Raises:
        InputError: a key other than ``ignored`` is unknown, or a list has another length.
    """
    scenario = scenario_option(options, ignored)
    if not isinstance(scenario, list | tuple):
        return [scenario] * num_envs
    if len(scenario) != num_envs:
        raise InputError(f"reset: options: scenario: has {len(scenario)} entries, must be {num_envs}")
    return [*scenario]


UNLIMITED = -1
"""Gymnasium's ``max_episode_steps`` for no limit, as None."""


def parse_mode(mode: str | AutoresetMode) -> AutoresetMode:
    """Return the mode of a name such as ``"SameStep"``; raise `InputError` for others."""
    try:
        return AutoresetMode(mode)
    except ValueError:
        modes = ", ".join(value.value for value in AutoresetMode)
        raise InputError(f"autoreset_mode: {mode!r}: unknown (there are: {modes})") from None


def parse_limit(max_episode_steps: int | None) -> int | None:
    """Return the longest episode in steps, or None without a limit; raise `InputError` if it is none."""
    if max_episode_steps is None or max_episode_steps == UNLIMITED:
        return None
    if not isinstance(max_episode_steps, Integral) or max_episode_steps < 1:
        rule = "must be an integer of at least 1 (-1: no limit)"
        raise InputError(f"max_episode_steps: {max_episode_steps!r}: {rule}")
    return int(max_episode_steps)


def parse_mask(options: Mapping[str, Any] | None, num_envs: int) -> NDArray[np.bool_] | None:
    """Return ``options["reset_mask"]`` (num_envs,), or None without it.

    Raises:
        InputError: it is no array of ``num_envs`` booleans, or all are false.
    """
    if options is None or "reset_mask" not in options:
        return None
    mask = options["reset_mask"]
    description = type(mask).__name__
    if isinstance(mask, np.ndarray):
        if mask.shape == (num_envs,) and mask.dtype == np.bool_ and mask.any():
            return mask
        description = f"an array {mask.shape} of {mask.dtype}, {int(np.count_nonzero(mask))} of them true"
    raise InputError(
        f"options: reset_mask: {description}: "
        f"must be an array ({num_envs},) of booleans, at least one of them true"
    )
