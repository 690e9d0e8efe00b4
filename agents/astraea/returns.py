"""Rewards of several intervals as one: n-step returns (Sutton, 1988), without correction for exploration.

One action moves a window by 2.5 % and the policy soon takes it back, so what it is worth drowns in what the
critics do not know. Over n intervals a decision to explore that is held, see `exploration`, shows more of it.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Step(NamedTuple):
    """One interval of all simulations; rows are (simulation, slot)."""

    active: NDArray[np.bool_]
    """Flows that have been there from this interval's start until now."""
    states: NDArray[np.float32]
    actions: NDArray[np.float32]
    rewards: NDArray[np.float32]


class Returns:
    """The last intervals, until the reward of ``steps`` of them is known.

    Args:
        steps: n, at least 1.
        gamma: discount of an interval.
    """

    def __init__(self, steps: int, gamma: float) -> None:
        self._gamma = gamma
        self._recent: deque[Step] = deque(maxlen=steps)

    def push(self, step: Step, still: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Step] | None:
        """Add an interval, after which the flows in ``still`` are active.

        Returns:
            Once there are n: which flows were there in all of them, and the oldest with the discounted sum of
            the n rewards.
        """
        # A copy: the simulations write over theirs.
        self._recent.append(step._replace(active=step.active.copy(), rewards=step.rewards.copy()))
        for known in self._recent:
            known.active[~still] = False
        if len(self._recent) < (self._recent.maxlen or 1):
            return None
        total = np.zeros_like(step.rewards)
        for known in reversed(self._recent):
            total = known.rewards + np.float32(self._gamma) * total
        oldest = self._recent[0]
        return oldest.active, oldest._replace(rewards=total)

    def restart(self, simulation: int) -> None:
        """Forget a simulation: its slots go to other flows."""
        for known in self._recent:
            known.active[simulation] = False

    def state(self) -> list[dict[str, Any]]:
        """Return all that `restore` needs, as arrays."""
        return [known._asdict() for known in self._recent]

    def restore(self, state: list[dict[str, Any]]) -> None:
        """Continue from what `state` returned."""
        self._recent.clear()
        self._recent.extend(Step(**{name: array.copy() for name, array in known.items()}) for known in state)
