"""What simulations that step together have been told: enough to rebuild each one exactly.

A simulation is deterministic and much faster than life, so that its state need not be written down: the same
scenario and the same actions make it again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class History:
    """The actions of every simulation since its reset.

    Args:
        size: number of simulations.
        action_shape: shape of one simulation's actions in one step.
    """

    def __init__(self, size: int, action_shape: tuple[int, ...]) -> None:
        self._shape = (size, *action_shape)
        self._steps: deque[NDArray[np.float32]] = deque()
        self._ages = np.zeros(size, dtype=np.int64)

    def begin(self, index: int) -> None:
        """Forget what simulation ``index`` was told: it has just been reset."""
        self._ages[index] = 0

    def append(self, actions: NDArray[np.float32]) -> None:
        """Remember the actions, one simulation after another, of a step of all simulations."""
        self._steps.append(actions.copy())
        self._ages += 1
        while len(self._steps) > self._ages.max():
            self._steps.popleft()

    def state(self) -> dict[str, Any]:
        """Return arrays that `rebuild` takes: ``ages`` (size,) in steps, ``actions`` of the last steps."""
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
        """Take over ``state`` and bring the simulations to where they were when `state` was called.

        Args:
            state: of a history of as many simulations.
            reset: begins the present episode of a simulation.
            step: steps all simulations.

        Raises:
            ValueError: ``state`` is of other simulations.
        """
        ages = np.asarray(state["ages"], dtype=np.int64)
        actions = np.asarray(state["actions"], dtype=np.float32)
        if ages.shape != self._ages.shape or actions.shape != (int(ages.max()), *self._shape):
            raise ValueError(f"actions of shape {actions.shape}: not of {self._shape[0]} such simulations")
        for index in range(len(ages)):
            reset(index)
        # Simulations step together but were reset at different times: each is reset once more when as many
        # steps are left as it has behind it. What it was told before was another episode's.
        for left, told in zip(range(len(actions), 0, -1), actions, strict=True):
            for index in np.flatnonzero(ages == left) if left < len(actions) else ():
                reset(int(index))
            step(told)
        for index in np.flatnonzero(ages == 0):
            reset(int(index))
        self._ages[:] = ages
        self._steps = deque(actions)
