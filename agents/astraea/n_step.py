"""n-step returns (Sutton, 1988), without correction for exploration.

One action moves a window by 2.5 % and the policy soon reverts it, so its value drowns in the critics' error.
A random action that is held (`exploration`) has a visible effect over n intervals.
"""

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Step(NamedTuple):
    """One interval of all simulations; arrays are (simulations, slots, …)."""

    active: NDArray[np.bool_]  # flows that have been active since the start of this interval
    states: NDArray[np.float32]
    actions: NDArray[np.float32]
    rewards: NDArray[np.float32]


class Returns:
    """The last n = ``steps`` intervals, whose rewards are summed with the discount ``gamma`` per interval."""

    def __init__(self, steps: int, gamma: float) -> None:
        self._gamma = gamma
        self._recent: deque[Step] = deque(maxlen=steps)

    def push(self, step: Step, still: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Step] | None:
        """Add an interval, after which the flows in ``still`` are active.

        Returns:
            None before n intervals. Then the flows that were active in all of them, and the oldest interval
            with the discounted sum of the n rewards.
        """
        # A copy, because the simulations overwrite their arrays.
        self._recent.append(step._replace(active=step.active.copy(), rewards=step.rewards.copy()))
        for recent in self._recent:
            recent.active[~still] = False
        if len(self._recent) < (self._recent.maxlen or 1):
            return None
        total = np.zeros_like(step.rewards)
        for recent in reversed(self._recent):
            total = recent.rewards + np.float32(self._gamma) * total
        oldest = self._recent[0]
        return oldest.active, oldest._replace(rewards=total)

    def restart(self, simulation: int) -> None:
        """Forget the flows of a simulation that restarts."""
        for recent in self._recent:
            recent.active[simulation] = False

    def state(self) -> list[dict[str, Any]]:
        """Return the state for `restore`, as arrays."""
        return [recent._asdict() for recent in self._recent]

    def restore(self, state: list[dict[str, Any]]) -> None:
        """Continue from what `state` returned."""
        self._recent.clear()
        self._recent.extend(Step(**{name: array.copy() for name, array in step.items()}) for step in state)
