"""Spaces of actions, their shapes, and discrete actions as numbers in [-1, 1]."""

from numbers import Integral
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space
from numpy.typing import NDArray

from leogym.common.errors import InputError, shortened


class Levels:
    """Evenly spaced numbers from -1 to 1, by their index.

    Raises:
        InputError: ``count`` is not an integer of at least 2.
    """

    def __init__(self, count: int) -> None:
        if not isinstance(count, Integral) or isinstance(count, bool) or count < 2:
            raise InputError(f"actions: {count!r}: must be an integer of at least 2, or None")
        self.count = int(count)
        self._values = np.linspace(-1.0, 1.0, self.count, dtype=np.float32)

    def __call__(self, actions: Any) -> NDArray[np.float32]:
        """Return the numbers of ``actions``, indices of any shape; raise `InputError` for others."""
        indices = np.asarray(actions)
        if indices.dtype.kind not in "iu" or ((indices < 0) | (indices >= self.count)).any():
            raise InputError(f"action: {actions}: must be integers from 0 to {self.count - 1}")
        return self._values[indices]


def levels(actions: int | None) -> Levels | None:
    """Return the levels of ``actions`` discrete actions; None for continuous ones."""
    return None if actions is None else Levels(actions)


def fit_shape(actions: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return ``actions`` with ``shape``, from which axes of length 1 may be missing.

    NumPy would copy one number to all components, and read a transposed batch in the wrong order.

    Raises:
        InputError: they are not numbers, or have another shape.
    """
    numbers = np.asarray(actions)
    if numbers.dtype.kind not in "fiub":
        raise InputError(f"action: {shortened(actions)}: must be numbers of the shape {shape}")
    if numbers.shape != shape:
        if [length for length in numbers.shape if length != 1] != [length for length in shape if length != 1]:
            raise InputError(f"action: has the shape {numbers.shape}, must have {shape}")
        numbers = numbers.reshape(shape)
    return numbers


def action_space(dimension: int, actions: int | None = None) -> Space[Any]:
    """Return the space of an action: each component in [-1, 1], or one of ``actions`` levels."""
    if actions is None:
        return Box(-1.0, 1.0, (dimension,), np.float32)
    actions = int(actions)
    return Discrete(actions) if dimension == 1 else MultiDiscrete([actions] * dimension)
