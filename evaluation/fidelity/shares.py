"""Compare how a scheme's flows share a link in the simulator and on the kernel."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leogym.evaluation.fidelity.against_kernel import Comparison
from leogym.evaluation.fidelity.golden import FlowFigures
from leogym.results.metrics import jain


@dataclass(frozen=True)
class Sharing:
    """Smaller over larger goodput of two flows of a scheme, averaged over runs."""

    scheme: str
    runs: int
    simulator: float
    kernel: float


def sharing(compared: Sequence[Comparison]) -> list[Sharing]:
    """Return the goodput ratios by scheme, of comparisons with two flows."""
    sharings = []
    for scheme in dict.fromkeys(comparison.run.scheme for comparison in compared):
        pairs = [
            (_ratio(comparison.simulated), _ratio(comparison.run.flows))
            for comparison in compared
            if comparison.run.scheme == scheme and len(comparison.run.flows) == 2
        ]
        if pairs:
            sharings.append(Sharing(scheme, len(pairs), *(float(mean) for mean in np.mean(pairs, axis=0))))
    return sharings


@dataclass(frozen=True)
class Crowd:
    """Jain's index of three or more flows of a scheme on one path, averaged over runs."""

    scenario: str
    scheme: str
    flows: int
    runs: int
    simulator: float
    kernel: float


def crowds(compared: Sequence[Comparison]) -> list[Crowd]:
    """Return Jain's indices, of comparisons with three or more flows on the same route."""
    groups: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    for comparison in compared:
        flows = len(comparison.run.flows)
        if flows < 3 or len({tuple(flow.route) for flow in comparison.run.scenario.flows}) > 1:
            continue
        both = (_jain(comparison.simulated), _jain(comparison.run.flows))
        groups.setdefault((comparison.run.scenario.name, comparison.run.scheme, flows), []).append(both)
    return [
        Crowd(*group, len(pairs), *(float(mean) for mean in np.mean(pairs, axis=0)))
        for group, pairs in groups.items()
    ]


@dataclass(frozen=True)
class Crossing:
    """Goodput of a flow over several bottlenecks relative to those over one, averaged over runs."""

    scenario: str
    scheme: str
    runs: int
    simulator: float
    kernel: float

    @property
    def error(self) -> float:
        """Relative to the kernel."""
        return self.simulator / self.kernel - 1


def crossings(compared: Sequence[Comparison]) -> list[Crossing]:
    """Return the ratios by scenario and scheme, where the first flow crosses all others' links.

    A kernel run may occur several times, with simulations of different seeds.
    """
    groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for comparison in compared:
        first, *crossed = (set(flow.route) for flow in comparison.run.scenario.flows)
        if crossed and all(other < first for other in crossed):
            both = (_over_others(comparison.simulated), _over_others(comparison.run.flows))
            groups.setdefault((comparison.run.scenario.name, comparison.run.scheme), []).append(both)
    return [
        Crossing(*group, len(pairs), *(float(mean) for mean in np.mean(pairs, axis=0)))
        for group, pairs in groups.items()
    ]


def _over_others(flows: Sequence[FlowFigures]) -> float:
    return flows[0].goodput_mbps / float(np.mean([flow.goodput_mbps for flow in flows[1:]]))


def _jain(flows: Sequence[FlowFigures]) -> float:
    return jain([flow.goodput_mbps for flow in flows]) or 0.0


def _ratio(flows: Sequence[FlowFigures]) -> float:
    first, second = (flow.goodput_mbps for flow in flows)
    return min(first, second) / max(first, second)
