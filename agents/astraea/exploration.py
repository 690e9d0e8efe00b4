"""Exploration by replacement: with a probability that falls, an action is random; others may be noisy.

The schedule counts monitor intervals of the batch, not decisions: with a counter that every flow of every
simulation advances, 60 flows end a schedule meant for 12.5 hours of a flow's life in 15 minutes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.astraea.settings import AstraeaSettings


class Exploration:
    """Replaces actions of shape (size, slots, action_dim) by random ones.

    An action moves the window by 2.5 % at most, so independent draws cancel out and the window hardly leaves
    where it was. ``exploration_hold`` > 1 lets one draw act for longer.
    """

    def __init__(self, settings: AstraeaSettings, shape: tuple[int, int, int], seed: int) -> None:
        self._settings = settings
        self._random = np.random.default_rng([seed, 2])
        self.intervals = 0
        """Monitor intervals so far."""
        size, slots, _ = shape
        self._replace = np.zeros((size, slots), dtype=bool)
        self._held = np.zeros(shape, dtype=np.float32)
        # Staggered, so that not all flows change their mind in the same interval.
        self._left = self._random.integers(0, settings.exploration_hold, (size, slots))

    @property
    def probability(self) -> float:
        """Share of decisions that are random now."""
        settings = self._settings
        progress = min(1.0, self.intervals / settings.exploration_intervals)
        return settings.exploration_start + progress * (settings.exploration_end - settings.exploration_start)

    def apply(self, actions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return ``actions`` with some replaced; call once an interval."""
        due = self._left <= 0
        # Every slot draws every time, whether due or not: the stream does not depend on what flows do.
        chance = self._random.random(due.shape)
        fresh = self._random.uniform(-1.0, 1.0, actions.shape).astype(np.float32)
        self._replace = np.where(due, chance < self.probability, self._replace)
        self._held = np.where(due[..., None], fresh, self._held)
        self._left = np.where(due, self._settings.exploration_hold, self._left) - 1
        self.intervals += 1
        if noise := self._settings.exploration_noise:
            drawn = self._random.normal(0.0, noise, actions.shape).astype(np.float32)
            actions = np.clip(actions + drawn, -1.0, 1.0)
        return np.where(self._replace[..., None], self._held, actions)

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs, as JSON types and arrays."""
        return {
            "random": self._random.bit_generator.state,
            "intervals": self.intervals,
            "replace": self._replace,
            "held": self._held,
            "left": self._left,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._random.bit_generator.state = state["random"]
        self.intervals = state["intervals"]
        self._replace, self._held, self._left = state["replace"], state["held"], state["left"]
