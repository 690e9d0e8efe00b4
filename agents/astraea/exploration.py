"""Exploration: replace actions by random ones with a falling probability; add noise to all.

The schedule counts monitor intervals, not decisions. If every flow of every simulation advanced the counter,
60 flows would end a schedule for 12.5 hours of one flow in 15 minutes.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leogym.agents.astraea.settings import AstraeaSettings


class Exploration:
    """Replaces actions of shape (size, slots, action_dim) by random ones.

    An action moves the window by at most 2.5 %, so independent draws cancel out and the window hardly moves.
    ``exploration_hold`` > 1 repeats each draw.
    """

    def __init__(self, settings: AstraeaSettings, shape: tuple[int, int, int], seed: int) -> None:
        self._settings = settings
        self._random = np.random.default_rng([seed, 2])
        self.intervals = 0  # monitor intervals so far
        size, slots, _ = shape
        self._replace = np.zeros((size, slots), dtype=bool)
        self._held = np.zeros(shape, dtype=np.float32)
        # Staggered, so flows draw in different intervals.
        self._left = self._random.integers(0, settings.exploration_hold, (size, slots))

    @property
    def probability(self) -> float:
        """Current share of random decisions."""
        settings = self._settings
        progress = min(1.0, self.intervals / settings.exploration_intervals)
        return settings.exploration_start + progress * (settings.exploration_end - settings.exploration_start)

    def apply(self, actions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return ``actions`` with some replaced; call once per interval."""
        due = self._left <= 0
        # Every slot draws every time, so the random stream does not depend on the flows.
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
        """Return the state for `restore`, as JSON types and arrays."""
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
