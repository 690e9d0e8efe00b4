"""Averages since the last row of progress.csv."""

import math
from collections import defaultdict
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.configs.scenario import LEARNER
from leogym.results.measurement import Measurement

SATURATED = 0.99  # beyond this magnitude an action has almost no gradient through tanh

COLUMNS = (
    "reward",
    "normalized_goodput",
    "delay_inflation",
    "loss_rate",
    "action_mean",
    "action_saturated",
    "critic_loss",
    "value",
)


class Meters:
    """Means by name over the samples since the last `flush`; nan without samples.

    ``reward`` is per flow and interval and includes exploration. Goodput, delay and loss are of finished
    episodes.
    """

    def __init__(self) -> None:
        self._sums: dict[str, float] = defaultdict(float)
        self._counts: dict[str, int] = defaultdict(int)
        self.last: dict[str, float] = {}  # the result of the last `flush`

    def _add(self, name: str, total: float, count: int = 1) -> None:
        self._sums[name] += total
        self._counts[name] += count

    def rewards(self, rewards: NDArray[np.float32]) -> None:
        """Add the rewards of active flows (any shape)."""
        self._add("reward", float(rewards.sum(dtype=np.float64)), rewards.size)

    def actions(self, actions: NDArray[np.float32]) -> None:
        """Add the actor's actions before exploration (any shape)."""
        self._add("action_mean", float(actions.sum(dtype=np.float64)), actions.size)
        self._add("action_saturated", float(np.count_nonzero(np.abs(actions) > SATURATED)), actions.size)

    def update(self, measured: dict[str, float]) -> None:
        """Add the measurements of a network update."""
        for name, value in measured.items():
            self._add(name, value)

    def episode(self, log: leosim.RunLog | Measurement) -> None:
        """Add the learning flows of a finished episode."""
        for flow in log.flows:
            if flow["scheme"] == LEARNER:
                for name in ("normalized_goodput", "delay_inflation", "loss_rate"):
                    if math.isfinite(flow[name]):
                        self._add(name, flow[name])

    def flush(self) -> dict[str, float]:
        """Return the means and reset."""
        counts = self._counts
        self.last = {
            name: self._sums[name] / counts[name] if counts.get(name) else math.nan for name in COLUMNS
        }
        self._sums.clear()
        self._counts.clear()
        return self.last

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`."""
        return {"sums": dict(self._sums), "counts": dict(self._counts), "last": dict(self.last)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._sums = defaultdict(float, state["sums"])
        self._counts = defaultdict(int, state["counts"])
        self.last = dict(state["last"])
