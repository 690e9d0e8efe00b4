"""Uniform steps, the papers' responsiveness test: capacity, base RTT and loss are redrawn every 15 s.

Mazilu, Valentine and Parisis, "Evaluating Learning Congestion Control Schemes for LEO Constellations",
section IV-A: 50 to 100 Mbit/s, 10 to 100 ms, 0 to 1 % loss. Valentine and Parisis, "LeoTCP", section IV-B: 5
to 100 ms.
"""

from typing import Any

import numpy as np

from leogym.common.units import NS_PER_MS
from leogym.traces.capacity.span import Grid, SlotModel, Span, span

CAPACITY_MBPS = (50.0, 100.0)
RTT_MS = (10.0, 100.0)
MAX_LOSS = 0.0

_STREAM = 1  # separates this model's draws from those of the others with the same seed


class UniformSteps(SlotModel):
    """Capacity, and optionally delay and loss, drawn uniformly and independently in every slot."""

    def __init__(
        self,
        grid: Grid,
        seed: int,
        *,
        capacity_mbps: tuple[float, float] = CAPACITY_MBPS,
        rtt_ms: tuple[float, float] | None = None,
        max_loss: float = MAX_LOSS,
    ) -> None:
        """Store the ranges; without ``rtt_ms`` the path's delay stays."""
        super().__init__(grid)
        self._seed = seed
        self._capacity_mbps = capacity_mbps
        self._rtt_ms = rtt_ms
        self._max_loss = max_loss

    def draw(self, slot: int) -> Span:
        """Return a slot's single row."""
        # Always draw all three, so traces with and without loss have the same capacities.
        share = np.random.default_rng([self._seed, _STREAM, slot]).random(3)
        low, high = self._capacity_mbps
        mbps = low + (high - low) * share[0]
        extra_ns = 0
        if self._rtt_ms is not None:
            low, high = self._rtt_ms
            extra_ns = round((low + (high - low) * share[1]) / 2 * NS_PER_MS)
        return span(
            np.zeros(1, dtype=np.int64),
            forward=mbps,
            backward=mbps,
            extra_ns=extra_ns,
            loss=self._max_loss * share[2],
        )

    def metadata(self) -> dict[str, Any]:
        """Return the model's parameters."""
        return {
            "model": "uniform-steps",
            "period_s": self.grid.period_ns / 1e9,
            "capacity_mbps": list(self._capacity_mbps),
            "rtt_ms": None if self._rtt_ms is None else list(self._rtt_ms),
            "max_loss": self._max_loss,
        }
