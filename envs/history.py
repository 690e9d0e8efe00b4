"""Record the actions of simulations that step together, to rebuild each one exactly.

A simulation is deterministic and faster than real time, so its scenario and actions replace a saved state.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class History:
    """The actions of ``size`` simulations since their resets; ``action_shape`` is that of one simulation."""

    def __init__(self, size: int, action_shape: tuple[int, ...]) -> None:
        self._shape = (size, *action_shape)
        self._steps: deque[NDArray[np.float32]] = deque()
        self._ages = np.zeros(size, dtype=np.int64)

    def begin(self, index: int) -> None:
        """Forget the actions of simulation ``index``, which was reset."""
        self._ages[index] = 0

    def append(self, actions: NDArray[np.float32]) -> None:
        """Record the actions (size, *action_shape) of a step of all simulations."""
        self._steps.append(actions.copy())
        self._ages += 1
        while len(self._steps) > self._ages.max():
            self._steps.popleft()

    def state(self) -> dict[str, Any]:
        """Return the arrays for `rebuild`: ``ages`` (size,) in steps, ``actions`` of the last steps."""
        longest = int(self._ages.max())
        kept = list(self._steps)[len(self._steps) - longest :]
        return {
            "ages": self._ages.copy(),
            "actions": np.stack(kept) if kept else np.empty((0, *self._shape), np.float32),
        }

    def rebuild(
        self,
        state: dict[str, Any],
        reset: Callable[[int], None],
        step: Callable[[NDArray[np.float32]], None],
    ) -> None:
        """Take over ``state`` and rebuild its simulations.

        ``reset`` starts the current episode of a simulation, and ``step`` steps all simulations.
        """
        ages = np.asarray(state["ages"], dtype=np.int64)
        actions = np.asarray(state["actions"], dtype=np.float32)
        if ages.shape != self._ages.shape or actions.shape != (int(ages.max()), *self._shape):
            raise ValueError(f"actions of shape {actions.shape}: not of {self._shape[0]} such simulations")
        for index in range(len(ages)):
            reset(index)
        # All simulations step through all actions, but their current episodes began at different times: reset
        # each once more when its age is the number of steps left. Earlier actions belong to earlier episodes.
        for left, told in zip(range(len(actions), 0, -1), actions, strict=True):
            for index in np.flatnonzero(ages == left) if left < len(actions) else ():
                reset(int(index))
            step(told)
        for index in np.flatnonzero(ages == 0):
            reset(int(index))
        self._ages[:] = ages
        self._steps = deque(actions)
