"""A separable CMA evolution strategy.

Ros and Hansen, A Simple Modification in CMA-ES Achieving Linear Time and Space Complexity, PPSN 2008: the
covariance is diagonal, and its learning rates are larger by (n + 2) / 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass
class Evolution:
    """The distribution of candidates."""

    mean: Vector
    deviation: float
    variances: Vector
    path: Vector
    """Evolution path of the covariance."""
    step_path: Vector
    """Evolution path of the step size."""
    generation: int = 0

    @classmethod
    def around(cls, mean: Vector, deviation: float) -> Evolution:
        """Start with equal variances."""
        zeros = np.zeros_like(mean)
        return cls(mean.copy(), deviation, np.ones_like(mean), zeros, zeros.copy())

    def candidates(self, rng: np.random.Generator, count: int) -> Vector:
        """Draw ``count`` candidates, (count, n)."""
        steps = rng.standard_normal((count, len(self.mean)))
        return self.mean + self.deviation * np.sqrt(self.variances) * steps

    def learn(self, candidates: Vector, values: Vector) -> None:
        """Move towards the better half of ``candidates``; larger ``values`` are better."""
        n, count = len(self.mean), len(candidates)
        parents = count // 2
        weights = np.log(count / 2 + 0.5) - np.log(np.arange(1, parents + 1))
        weights /= weights.sum()
        effective = 1 / (weights**2).sum()
        best = candidates[np.argsort(-values, kind="stable")[:parents]]
        steps = (best - self.mean) / self.deviation
        step = weights @ steps

        c_step = (effective + 2) / (n + effective + 3)
        damping = 1 + c_step + 2 * max(0.0, np.sqrt((effective - 1) / (n + 1)) - 1)
        c_path = 4 / (n + 4)
        c_cov = 2 / (n + np.sqrt(2)) ** 2 / effective
        c_cov += (1 - 1 / effective) * min(1.0, (2 * effective - 1) / ((n + 2) ** 2 + effective))
        c_cov = min(1.0, c_cov * (n + 2) / 3)

        self.mean = self.mean + self.deviation * step
        whitened = step / np.sqrt(self.variances)
        self.step_path = (1 - c_step) * self.step_path + np.sqrt(c_step * (2 - c_step) * effective) * whitened
        length = float(np.linalg.norm(self.step_path))
        expected = np.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n**2))
        settled = np.sqrt(1 - (1 - c_step) ** (2 * (self.generation + 1)))
        moving = float(length / settled < (1.4 + 2 / (n + 1)) * expected)
        self.path = (1 - c_path) * self.path + moving * np.sqrt(c_path * (2 - c_path) * effective) * step
        rank_one, rank_many = self.path**2, weights @ steps**2
        self.variances = (1 - c_cov) * self.variances + c_cov * (
            rank_one / effective + (1 - 1 / effective) * rank_many
        )
        self.deviation *= float(np.exp(c_step / damping * (length / expected - 1)))
        self.generation += 1
