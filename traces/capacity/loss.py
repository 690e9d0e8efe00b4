"""Non-congestion loss: constant, or in bursts.

Bursts follow Gilbert, "Capacity of a burst-noise channel" (1960), and Elliott, "Estimates of error rates for
codes on burst-noise channels" (1963): two states with a loss rate each, and memoryless transitions.
"""

from collections import deque
from typing import Any

import numpy as np

from leogym.common.units import NS_PER_MS
from leogym.traces.capacity.settings import LossBurst
from leogym.traces.capacity.span import Span, View, span

_STREAM = 3


class ConstantLoss:
    """Independent loss at a constant rate."""

    def __init__(self, loss: float) -> None:
        self._loss = loss

    def window(self, view: View) -> Span:
        """Return one row."""
        return span(view.time_ns[:1], loss=self._loss)

    def metadata(self) -> dict[str, Any]:
        """Return the model's parameters."""
        return {"model": "constant", "loss": self._loss}


class GilbertElliott:
    """Bursts of loss. The first state is drawn from the share of time that each state takes."""

    def __init__(self, burst: LossBurst, seed: int) -> None:
        self._burst = burst
        self._rng = np.random.default_rng([seed, _STREAM])
        bad = self._rng.random() * burst.burst_loss < burst.mean
        self._rows: deque[tuple[int, bool]] = deque([(0, bool(bad))])
        self._next_ns = self._draw(bad)

    def _draw(self, bad: bool) -> int:
        mean_ms = self._burst.burst_ms if bad else self._burst.pause_ms
        # At least 1 µs: rounding must not drop a state.
        return self._rows[-1][0] + max(round(self._rng.exponential(mean_ms) * NS_PER_MS), 1000)

    def window(self, view: View) -> Span:
        """Return the loss states in the view. Views must come in order."""
        while self._next_ns < view.end_ns:
            bad = not self._rows[-1][1]
            self._rows.append((self._next_ns, bad))
            self._next_ns = self._draw(bad)
        start_ns = int(view.time_ns[0])
        while len(self._rows) > 1 and self._rows[1][0] <= start_ns:
            self._rows.popleft()
        time_ns = np.array([max(at, start_ns) for at, _ in self._rows], dtype=np.int64)
        bad = np.array([bad for _, bad in self._rows])
        return span(time_ns, loss=bad * self._burst.burst_loss)

    def metadata(self) -> dict[str, Any]:
        """Return the model's parameters."""
        burst = self._burst
        return {
            "model": "gilbert-elliott",
            "mean_loss": burst.mean,
            "burst_ms": burst.burst_ms,
            "burst_loss": burst.burst_loss,
            "pause_ms": burst.pause_ms,
        }
