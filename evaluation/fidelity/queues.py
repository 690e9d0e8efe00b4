"""Compare queueing delays and marks in the simulator with those on the kernel."""

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
    simulator_marked: float
    kernel_marked: float
    """Packets that the queues marked, on average; 0 without ECN."""

    @property
    def marks_error(self) -> float:
        """Of the marks, relative to the kernel; 0 if nothing is marked on either."""
        if not self.kernel_marked:
            return 0.0 if not self.simulator_marked else float("inf")
        return self.simulator_marked / self.kernel_marked - 1

    @property
    def error(self) -> float:
        """Relative to the kernel."""
        return self.simulator_ms / self.kernel_ms - 1


def queueing(compared: Sequence[Comparison]) -> list[Queueing]:
    """Return the delays by scenario and scheme, of comparisons whose flows have RTTs."""
    groups: dict[tuple[str, str], list[tuple[float, float, int, int]]] = {}
    for comparison in compared:
        ours, theirs = _delay_ms(comparison.simulated[0]), _delay_ms(comparison.run.flows[0])
        if ours is not None and theirs is not None:
            marked = (comparison.simulated_marked, comparison.run.marked_packets or 0)
            groups.setdefault((comparison.run.scenario.name, comparison.run.scheme), []).append(
                (ours, theirs, *marked)
            )
    return [
        Queueing(*group, len(delays), *(sum(column) / len(delays) for column in zip(*delays, strict=True)))
        for group, delays in groups.items()
    ]


def _delay_ms(flow: FlowFigures) -> float | None:
    if flow.rtt_mean_ms is None or flow.base_rtt_mean_ms is None:
        return None
    return flow.rtt_mean_ms - flow.base_rtt_mean_ms
