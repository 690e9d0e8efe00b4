"""Schedules of rows and checkpoints in training loops."""


class Every:
    """Becomes due whenever the step count passes a multiple of ``period``, first after ``steps``."""

    def __init__(self, period: int, steps: int) -> None:
        self._period = period
        self._reached = steps // period

    def due(self, steps: int) -> bool:
        """Return whether the count passed a multiple since the last call."""
        reached, self._reached = self._reached, steps // self._period
        return self._reached > reached
