"""Compare queueing delays in the simulator with those on the kernel."""

from collections.abc import Sequence
from dataclasses import dataclass

from leogym.evaluation.fidelity.against_kernel import Comparison
from leogym.evaluation.fidelity.golden import FlowFigures


@dataclass(frozen=True)
class Queueing:
    """The first flow's mean queueing delay in one scenario, averaged over runs.

    Random drops make it differ by a tenth between seeds, in the simulator and on the kernel.
    """

    scenario: str
    scheme: str
    runs: int
    simulator_ms: float
    kernel_ms: float

    @property
    def error(self) -> float:
        """Relative to the kernel."""
        return self.simulator_ms / self.kernel_ms - 1


def queueing(compared: Sequence[Comparison]) -> list[Queueing]:
    """Return the delays by scenario and scheme, of comparisons whose flows have RTTs."""
    groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for one in compared:
        ours, theirs = _delay_ms(one.simulated[0]), _delay_ms(one.run.flows[0])
        if ours is not None and theirs is not None:
            groups.setdefault((one.run.scenario.name, one.run.scheme), []).append((ours, theirs))
    return [
        Queueing(
            *group,
            len(delays),
            sum(ours for ours, _ in delays) / len(delays),
            sum(theirs for _, theirs in delays) / len(delays),
        )
        for group, delays in groups.items()
    ]


def _delay_ms(flow: FlowFigures) -> float | None:
    if flow.rtt_mean_ms is None or flow.base_rtt_mean_ms is None:
        return None
    return flow.rtt_mean_ms - flow.base_rtt_mean_ms
