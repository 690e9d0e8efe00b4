"""Compare how flows share links, and what queues do to them, in the simulator and on the kernel."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from leogym.evaluation.fidelity.against_kernel import Comparison
from leogym.evaluation.fidelity.golden import FlowFigures
from leogym.results.metrics import jain


@dataclass(frozen=True)
class Means:
    """A figure of a scheme's runs with the same flows, averaged over runs."""

    scheme: str
    scenario: str
    """Empty for the mean over all scenarios."""
    flows: int
    runs: int
    simulator: float
    kernel: float

    @property
    def error(self) -> float:
        """Relative to the kernel; 0 if there is nothing on either."""
        if not self.kernel:
            return float("inf") if self.simulator else 0.0
        return self.simulator / self.kernel - 1


@dataclass(frozen=True)
class Queueing:
    """The effect of a queue on its runs.

    Random drops make delays differ by a tenth between seeds, in the simulator and on the kernel.
    """

    delay_ms: Means
    """The first flow's mean queueing delay."""
    marked: Means
    """Packets that the queues marked; 0 without ECN."""


@dataclass(frozen=True)
class Felt:
    """A figure of what users of a flow's workload feel."""

    flow: int
    column: str
    means: Means


def workloads(compared: Sequence[Comparison]) -> list[Felt]:
    """Return what users of workloads feel, by scenario, scheme, flow and column of the run log."""
    flows_and_columns = dict.fromkeys(key for comparison in compared for key in comparison.felt)
    return [
        Felt(*key, means)
        for key in flows_and_columns
        for means in _averaged(
            (comparison for comparison in compared if key in comparison.felt),
            lambda comparison, key=key: comparison.felt[key],
        )
    ]


def sharing(compared: Sequence[Comparison]) -> list[Means]:
    """Return the smaller over the larger goodput by scheme, of comparisons with two flows."""
    pairs = [comparison for comparison in compared if len(comparison.run.flows) == 2]
    return _averaged(pairs, _of_flows(_ratio), by_scenario=False)


def crowds(compared: Sequence[Comparison]) -> list[Means]:
    """Return Jain's indices, of comparisons with three or more flows on the same route."""
    crowded = [
        comparison
        for comparison in compared
        if len(comparison.run.flows) > 2
        and len({tuple(flow.route) for flow in comparison.run.scenario.flows}) == 1
    ]
    return _averaged(crowded, _of_flows(_jain))


def crossings(compared: Sequence[Comparison]) -> list[Means]:
    """Return the first flow's goodput over that of the others, where it crosses all others' links.

    A kernel run may occur several times, with simulations of different seeds.
    """
    crossing = []
    for comparison in compared:
        first, *crossed = (set(flow.route) for flow in comparison.run.scenario.flows)
        if crossed and all(other < first for other in crossed):
            crossing.append(comparison)
    return _averaged(crossing, _of_flows(_over_others))


def queueing(compared: Sequence[Comparison]) -> list[Queueing]:
    """Return delays and marks by scenario and scheme, of comparisons whose flows have RTTs."""
    delay_ms = _of_flows(_delay_ms)
    measured = [comparison for comparison in compared if all(map(math.isfinite, delay_ms(comparison)))]
    delays = _averaged(measured, delay_ms)
    marks = _averaged(
        measured, lambda comparison: (comparison.simulated_marked, comparison.run.marked_packets or 0)
    )
    return [Queueing(*both) for both in zip(delays, marks, strict=True)]


def _averaged(
    compared: Iterable[Comparison],
    figures: Callable[[Comparison], tuple[float, float]],
    *,
    by_scenario: bool = True,
) -> list[Means]:
    """Return the means of both of ``figures``, the simulator's and the kernel's."""
    groups: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    for comparison in compared:
        run = comparison.run
        group = (run.scheme, run.scenario.name if by_scenario else "", len(run.flows))
        groups.setdefault(group, []).append(figures(comparison))
    return [
        Means(*group, len(pairs), *(float(mean) for mean in np.mean(pairs, axis=0)))
        for group, pairs in groups.items()
    ]


def _of_flows(
    figure: Callable[[Sequence[FlowFigures]], float],
) -> Callable[[Comparison], tuple[float, float]]:
    """Return a function that gives the simulator's and the kernel's ``figure`` of their flows."""
    return lambda comparison: (figure(comparison.simulated), figure(comparison.run.flows))


def _delay_ms(flows: Sequence[FlowFigures]) -> float:
    rtt_ms, base_rtt_ms = flows[0].rtt_mean_ms, flows[0].base_rtt_mean_ms
    return math.nan if rtt_ms is None or base_rtt_ms is None else rtt_ms - base_rtt_ms


def _over_others(flows: Sequence[FlowFigures]) -> float:
    return flows[0].goodput_mbps / float(np.mean([flow.goodput_mbps for flow in flows[1:]]))


def _jain(flows: Sequence[FlowFigures]) -> float:
    return jain([flow.goodput_mbps for flow in flows]) or 0.0


def _ratio(flows: Sequence[FlowFigures]) -> float:
    first, second = (flow.goodput_mbps for flow in flows)
    return min(first, second) / max(first, second)
