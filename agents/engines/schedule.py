"""When a training loop writes rows and checkpoints."""

from __future__ import annotations


class Every:
    """Becomes due each time that the count of steps passes a multiple of a period.

    Args:
        period: in steps.
        steps: where the count starts; due for the first time at the next multiple.
    """

    def __init__(self, period: int, steps: int) -> None:
        self._period = period
        self._reached = steps // period

    def due(self, steps: int) -> bool:
        """Return whether a multiple was passed since the last time this was true."""
        reached, self._reached = self._reached, steps // self._period
        return self._reached > reached
