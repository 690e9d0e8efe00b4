"""Arguments of Gymnasium's vector environments about ends of episodes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from leogym.common.errors import InputError

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
    if max_episode_steps < 1:
        raise InputError(f"max_episode_steps: {max_episode_steps}: must be at least 1 (-1: no limit)")
    return max_episode_steps


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
