"""Congestion windows over time, in the simulator and on the kernel: two panels per path."""

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.lines import Line2D

from leogym.configs.suite import Suite
from leogym.evaluation.fidelity import golden
from leogym.evaluation.fidelity.against_kernel import Comparison, compare
from leogym.evaluation.fidelity.golden import FlowFigures
from leogym.evaluation.recorded.file_names import joined
from leogym.evaluation.recorded.results import Results
from leogym.results.figure_style import Panel, canvas, legend_above, looks

TITLE = "Congestion windows, simulator beside kernel"
CAPTION = (
    "The kernel's runs are recorded; the simulator repeats them for this report with the same seed, on the "
    "same part of the same path. Windows of the first flow, every half second."
)


def panels(results: Results, suite: Suite) -> Iterator[Panel]:
    """Yield two panels for each of the suite's scenarios that ran on the kernel."""
    path = golden.FOLDER / f"{suite.name}.json"
    if not path.exists():
        return
    runs = [run for run in golden.read(path).runs if run.scheme in results.schemes]
    by_scenario: dict[str, list[Comparison]] = {}
    for comparison in compare(runs):
        by_scenario.setdefault(comparison.run.scenario.name, []).append(comparison)
    for name, comparisons in by_scenario.items():
        yield from _pair(suite.name, name, comparisons, results)


def _pair(suite: str, scenario: str, compared: Sequence[Comparison], results: Results) -> list[Panel]:
    sides = {
        "simulator": [(comparison.run.scheme, comparison.simulated[0]) for comparison in compared],
        "kernel": [(comparison.run.scheme, comparison.run.flows[0]) for comparison in compared],
    }
    top = max((max(flow.cwnd_packets, default=0) for flows in sides.values() for _, flow in flows), default=0)
    limits = compared[0].run.scenario.duration_s, 1.05 * max(1, top)
    return [_panel(suite, scenario, side, flows, limits, results) for side, flows in sides.items()]


def _panel(
    suite: str,
    scenario: str,
    side: str,
    flows: Sequence[tuple[str, FlowFigures]],
    limits: tuple[float, float],
    results: Results,
) -> Panel:
    look = looks(results.schemes)
    schemes = list(dict.fromkeys(scheme for scheme, _ in flows))
    with canvas(4.3, 2.8) as (figure, [axes]):
        for scheme, flow in flows:
            time_s = golden.CWND_STEP_S * np.arange(1, len(flow.cwnd_packets) + 1)
            axes.plot(
                time_s,
                flow.cwnd_packets,
                color=look[scheme].color,
                linestyle=look[scheme].dash,
                linewidth=1.2,
            )
        axes.set_title(f"{scenario}: {side}")
        axes.set_ylabel("window (packets)")
        axes.set_xlabel("time (s)")
        axes.set_xlim(0.0, limits[0])
        axes.set_ylim(0.0, limits[1])
        handles = [
            Line2D([], [], color=look[name].color, linestyle=look[name].dash, label=name) for name in schemes
        ]
        legend_above(figure, handles)
        label = f"{scenario}: congestion windows over time of {', '.join(schemes)} on the {side}"
        return Panel(joined(suite, scenario, f"windows-{side}"), label, figure, row=scenario)
