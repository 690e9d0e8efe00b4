"""Runs with random loss: the kernel's is one draw beside many of the simulator's.

A dozen losses at places of chance decide over 5 to 40 % of a goodput over 15 s. So no single run says how
far the simulator is; where it falls among simulated runs that differ in nothing but their losses does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.fidelity.comparison import simulate
from evaluation.golden import GoldenRun

DRAWS = 20
"""Simulated runs, of as many seeds."""


@dataclass(frozen=True)
class Draw:
    """A run with random loss on the kernel, among simulated ones."""

    run: GoldenRun
    mean_mbps: float
    """Goodput of the simulated runs, of all flows together."""
    deviation_mbps: float
    """Their standard deviation."""

    @property
    def z(self) -> float:
        """How many standard deviations the kernel's goodput is above the simulated mean."""
        kernel = sum(flow.goodput_mbps for flow in self.run.flows)
        return (kernel - self.mean_mbps) / self.deviation_mbps


def is_random(run: GoldenRun) -> bool:
    """Whether a run's losses are random."""
    return any(link.loss for link in run.scenario.links.values())


def draws(runs: Sequence[GoldenRun]) -> list[Draw]:
    """Return the runs with random loss among simulated ones."""
    drawn = [run for run in runs if is_random(run)]
    simulated = simulate(
        [
            run.scenario.model_copy(update={"seed": run.scenario.seed + offset})
            for run in drawn
            for offset in range(DRAWS)
        ]
    )
    found = []
    for index, run in enumerate(drawn):
        mine = simulated[index * DRAWS : (index + 1) * DRAWS]
        goodput = [sum(flow.goodput_mbps for flow in flows) for flows in mine]
        found.append(Draw(run, float(np.mean(goodput)), float(np.std(goodput, ddof=1))))
    return found


def spread(found: Sequence[Draw]) -> float:
    """Return the root mean square of the runs' `Draw.z`: about 1 where the kernel's are such draws, too."""
    return float(np.sqrt(np.mean([one.z**2 for one in found]))) if found else float("nan")
