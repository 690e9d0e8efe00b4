"""Compare runs on the kernel with the same runs in the simulator.

Errors are relative to the kernel, except for retransmissions (difference of rates) and start-up (seconds).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import leosim
import numpy as np

from leogym.common.machine import cores
from leogym.configs.scenario import Scenario
from leogym.evaluation.fidelity import golden
from leogym.evaluation.fidelity.golden import FlowFigures, GoldenRun
from leogym.evaluation.runs.backends import SERIES_MS
from leogym.kernel_bridge.host.schemes import DATAGRAMS
from leogym.kernel_bridge.inside.scenario import SETTINGS
from leogym.traces.path import cache as trace_cache


@dataclass(frozen=True)
class Comparison:
    """A run on the kernel and in the simulator."""

    run: GoldenRun
    simulated: list[FlowFigures]
    simulated_marked: int = 0
    """Packets that the simulator's queues marked."""

    @property
    def goodput(self) -> float:
        """Relative error of the flows' total goodput."""
        kernel = sum(flow.goodput_mbps for flow in self.run.flows)
        return sum(flow.goodput_mbps for flow in self.simulated) / kernel - 1

    @property
    def rtt_mean(self) -> float:
        """Relative error of the first flow's mean RTT."""
        return _relative(self.simulated[0].rtt_mean_ms, self.run.flows[0].rtt_mean_ms)

    @property
    def rtt_p95(self) -> float:
        """Relative error of the first flow's 95th percentile RTT."""
        return _relative(self.simulated[0].rtt_p95_ms, self.run.flows[0].rtt_p95_ms)

    @property
    def retransmit(self) -> float:
        """Difference of the first flow's retransmit rates."""
        return _difference(self.simulated[0].retransmit_rate, self.run.flows[0].retransmit_rate)

    @property
    def startup_s(self) -> float:
        """Difference of start-up times: NaN if neither first flow reached `STARTED`, infinite if one did."""
        return _difference(self.simulated[0].startup_s, self.run.flows[0].startup_s)

    @property
    def cwnd(self) -> float:
        """Median over time of the relative difference of the first flow's windows."""
        ours, theirs = (
            np.array(flow.cwnd_packets, dtype=float) for flow in (self.simulated[0], self.run.flows[0])
        )
        both = min(len(ours), len(theirs))
        if not both:
            return _if_one_lacks(len(ours) or None, len(theirs) or None)
        return float(np.median(np.abs(ours[:both] - theirs[:both]) / np.maximum(theirs[:both], 1)))

    @property
    def felt(self) -> dict[tuple[int, str], tuple[float, float]]:
        """What users of the flows' workloads felt: in the simulator and on the kernel, by flow and column."""
        return {
            (number, name): (ours.felt[name], theirs)
            for number, (ours, kernel) in enumerate(zip(self.simulated, self.run.flows, strict=True))
            for name, theirs in kernel.felt.items()
            if name in ours.felt
        }


def compare(runs: Sequence[GoldenRun]) -> list[Comparison]:
    """Simulate the kernel's runs."""
    logs = _logs([run.scenario for run in runs])
    return [
        Comparison(run, _figures(log), sum(link["marked_packets"] for link in log.links))
        for run, log in zip(runs, logs, strict=True)
    ]


def redrawn(runs: Sequence[GoldenRun], times: int) -> list[GoldenRun]:
    """Return each run ``times`` times with different seeds.

    For outcomes that depend on chance, such as packets' phases, means are compared. The simulator can average
    over more seeds than the kernel, whose runs take hours.
    """
    return [
        replace(run, scenario=run.scenario.model_copy(update={"seed": run.scenario.seed + _SEED_STEP * time}))
        for run in runs
        for time in range(times)
    ]


_SEED_STEP = 1_000_003


BUFFERS = {name: tuple(map(int, SETTINGS[name].split())) for name in ("tcp_rmem", "tcp_wmem")}
"""The kernel's default buffers; a jump of the window waits until the receive buffer has grown."""


def simulate(scenarios: Sequence[Scenario]) -> list[list[FlowFigures]]:
    """Simulate scenarios with the kernel's buffers; return each one's flows' figures."""
    return [_figures(log) for log in _logs(scenarios)]


def _logs(scenarios: Sequence[Scenario]) -> list[leosim.RunLog]:
    return run([_with_buffers(scenario) for scenario in scenarios], SERIES_MS)


def _figures(log: leosim.RunLog) -> list[FlowFigures]:
    series = log.flow_series
    figures = []
    for flow in log.flows:
        mine = series["flow"] == flow["flow"]
        figures.append(golden.figures_of(flow, {name: column[mine] for name, column in series.items()}))
    return figures


def run(scenarios: Sequence[Scenario], series_ms: float) -> list[leosim.RunLog]:
    """Simulate scenarios on all cores; return the run logs."""
    names = sorted({name for scenario in scenarios for name in scenario.traces})
    trace_cache.build(names)
    traces = {name: leosim.PathTrace.parse(_csv(name), name) for name in names}
    texts = [scenario.to_json() for scenario in scenarios]
    if not texts:
        return []
    return leosim.run(texts, traces, {}, interval_ms=30.0, series_ms=series_ms, threads=cores())


def _with_buffers(scenario: Scenario) -> Scenario:
    flows = [
        flow
        if flow.scheme == DATAGRAMS or flow.scheme in leosim.stack_schemes() or flow.workload is not None
        else flow.model_copy(
            update={
                name: size
                for name, size in BUFFERS.items()
                # An application with a rate does not wait for space in the send buffer.
                if getattr(flow, name) is None and (name == "tcp_rmem" or flow.rate_mbps is None)
            }
        )
        for flow in scenario.flows
    ]
    return scenario.model_copy(update={"flows": flows})


def _csv(name: str) -> str:
    return trace_cache.read_bytes(trace_cache.file(name)).decode()


def _relative(ours: float | None, theirs: float | None) -> float:
    """Return the relative error; infinite if only one has a value, NaN if neither has."""
    return ours / theirs - 1 if ours is not None and theirs else _if_one_lacks(ours, theirs)


def _difference(ours: float | None, theirs: float | None) -> float:
    """Return the difference; infinite if only one has a value, NaN if neither has."""
    return ours - theirs if ours is not None and theirs is not None else _if_one_lacks(ours, theirs)


def _if_one_lacks(ours: float | None, theirs: float | None) -> float:
    return float("nan") if not ours and not theirs else float("inf")
