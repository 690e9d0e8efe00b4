"""How far the simulator is from the real kernel, scheme by scheme.

    python -m evaluation.fidelity [SCHEME…] [--runs]     # the simulator beside the golden files
    python -m evaluation.fidelity record FOLDER          # golden files from an evaluation with --backend lab

Errors are relative to the kernel's figure, but for retransmissions (a difference of rates) and start-up (of
seconds); the summary has their medians over runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import leosim
import numpy as np
from rich.console import Console
from rich.table import Table

from configs.errors import InputError, reports_input_errors
from evaluation import golden
from evaluation.backends import SERIES_MS
from evaluation.golden import FlowFigures, GoldenRun
from evaluation.metrics import jain
from evaluation.results import Results
from kernel_bridge.lab import image
from traces import cache as trace_cache

SINGLE = "fidelity"
"""The suite of single flows, which a scheme's figures come from."""


@dataclass(frozen=True)
class Comparison:
    """A run on the kernel, and the same in the simulator."""

    run: GoldenRun
    simulated: list[FlowFigures]

    @property
    def goodput(self) -> float:
        """Relative error of the flows' goodput together."""
        kernel = sum(flow.goodput_mbps for flow in self.run.flows)
        return sum(flow.goodput_mbps for flow in self.simulated) / kernel - 1

    @property
    def rtt_mean(self) -> float:
        """Relative error of the first flow's mean RTT."""
        return _relative(self.simulated[0].rtt_mean_ms, self.run.flows[0].rtt_mean_ms)

    @property
    def rtt_p95(self) -> float:
        """Relative error of the first flow's 95th percentile of RTT."""
        return _relative(self.simulated[0].rtt_p95_ms, self.run.flows[0].rtt_p95_ms)

    @property
    def queueing(self) -> float:
        """Relative error of the first flow's mean queueing delay."""
        ours, theirs = (_queueing_ms(flow) for flow in (self.simulated[0], self.run.flows[0]))
        return _relative(ours, theirs)

    @property
    def retransmit(self) -> float:
        """Difference of the first flow's retransmit rates."""
        return _difference(self.simulated[0].retransmit_rate, self.run.flows[0].retransmit_rate)

    @property
    def startup_s(self) -> float:
        """Difference of the first flow's start-up times, in s; NaN where either never came that far."""
        return _difference(self.simulated[0].startup_s, self.run.flows[0].startup_s)

    @property
    def cwnd(self) -> float:
        """Median over time of the relative difference of the first flow's windows."""
        ours, theirs = (
            np.array(flow.cwnd_packets, dtype=float) for flow in (self.simulated[0], self.run.flows[0])
        )
        both = min(len(ours), len(theirs))
        if not both:
            return float("nan")
        return float(np.median(np.abs(ours[:both] - theirs[:both]) / np.maximum(theirs[:both], 1)))


@dataclass(frozen=True)
class Fidelity:
    """How far a simulated scheme is from the kernel's, over the single-flow runs that there are of it."""

    scheme: str
    runs: int
    goodput_median: float
    goodput_p90: float
    rtt_median: float
    rtt_p90: float
    rtt_p95_median: float
    retransmit_median: float
    startup_median_s: float
    cwnd_median: float


def compare(runs: Sequence[GoldenRun]) -> list[Comparison]:
    """Simulate what was run on the kernel."""
    names = sorted({name for run in runs for name in run.scenario.traces})
    traces = {name: leosim.PathTrace.parse(_csv(name), name) for name in names}
    scenarios = [run.scenario.to_json() for run in runs]
    logs = leosim.run(scenarios, traces, {}, interval_ms=30.0, series_ms=SERIES_MS) if runs else []
    found = []
    for run, log in zip(runs, logs, strict=True):
        series = log.flow_series
        figures = []
        for flow in log.flows:
            mine = series["flow"] == flow["flow"]
            figures.append(golden.figures_of(flow, {name: column[mine] for name, column in series.items()}))
        found.append(Comparison(run, figures))
    return found


def fidelity(schemes: Collection[str]) -> list[Fidelity]:
    """Return the fidelity of those of the schemes that the golden files have, in their order."""
    return [found for scheme in schemes if (found := _of_scheme(scheme)) is not None]


def of_results(results: Results) -> list[Fidelity]:
    """Return the fidelity of an evaluation's simulated schemes."""
    if "simulator" not in set(results.runs["backend"]):
        return []
    return fidelity(results.schemes)


@dataclass(frozen=True)
class Sharing:
    """How two flows of a scheme share a link: means over seeds of the smaller goodput over the larger."""

    scheme: str
    runs: int
    simulator: float
    kernel: float


def sharing(compared: Sequence[Comparison]) -> list[Sharing]:
    """Return how two flows share, of the comparisons of runs of two flows."""
    found = []
    for scheme in dict.fromkeys(one.run.scheme for one in compared):
        pairs = [
            (_ratio(one.simulated), _ratio(one.run.flows))
            for one in compared
            if one.run.scheme == scheme and len(one.run.flows) == 2
        ]
        if pairs:
            found.append(Sharing(scheme, len(pairs), *(float(mean) for mean in np.mean(pairs, axis=0))))
    return found


@dataclass(frozen=True)
class Crowd:
    """How three or more flows of a scheme share a path: means over seeds of Jain's index."""

    scheme: str
    flows: int
    runs: int
    simulator: float
    kernel: float


def crowds(compared: Sequence[Comparison]) -> list[Crowd]:
    """Return how three or more flows share, of the comparisons of runs whose flows all have one route."""
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for one in compared:
        flows = len(one.run.flows)
        if flows < 3 or len({tuple(flow.route) for flow in one.run.scenario.flows}) > 1:
            continue
        both = (_jain(one.simulated), _jain(one.run.flows))
        found.setdefault((one.run.scheme, flows), []).append(both)
    return [
        Crowd(scheme, flows, len(pairs), *(float(mean) for mean in np.mean(pairs, axis=0)))
        for (scheme, flows), pairs in found.items()
    ]


def _jain(flows: Sequence[FlowFigures]) -> float:
    return jain([flow.goodput_mbps for flow in flows]) or 0.0


def _ratio(flows: Sequence[FlowFigures]) -> float:
    first, second = (flow.goodput_mbps for flow in flows)
    return min(first, second) / max(first, second)


def kernel() -> str:
    """Return the version of the kernel that the single-flow golden file is from."""
    return str(golden.read(golden.FOLDER / f"{SINGLE}.json").provenance["kernel"])


def summary(scheme: str, compared: Sequence[Comparison]) -> Fidelity:
    """Return a scheme's fidelity from its comparisons."""

    def median(values: Iterable[float], share: float = 0.5) -> float:
        kept = np.abs([value for value in values if not np.isnan(value)])
        return float(np.quantile(kept, share)) if len(kept) else float("nan")

    return Fidelity(
        scheme,
        len(compared),
        median(one.goodput for one in compared),
        median((one.goodput for one in compared), 0.9),
        median(one.rtt_mean for one in compared),
        median((one.rtt_mean for one in compared), 0.9),
        median(one.rtt_p95 for one in compared),
        median(one.retransmit for one in compared),
        median(one.startup_s for one in compared),
        median(one.cwnd for one in compared),
    )


@cache
def _of_scheme(scheme: str) -> Fidelity | None:
    path = golden.FOLDER / f"{SINGLE}.json"
    if scheme not in leosim.schemes() or not path.exists():
        return None
    runs = [run for run in golden.read(path).runs if run.scheme == scheme]
    return summary(scheme, compare(runs)) if runs else None


def _csv(name: str) -> str:
    return trace_cache.read_bytes(trace_cache.file(name)).decode()


def _relative(ours: float | None, theirs: float | None) -> float:
    return ours / theirs - 1 if ours is not None and theirs else float("nan")


def _difference(ours: float | None, theirs: float | None) -> float:
    return ours - theirs if ours is not None and theirs is not None else float("nan")


def _queueing_ms(flow: FlowFigures) -> float | None:
    if flow.rtt_mean_ms is None or flow.base_rtt_mean_ms is None:
        return None
    return flow.rtt_mean_ms - flow.base_rtt_mean_ms


def table(found: Sequence[Fidelity]) -> Table:
    """Return a table of schemes."""
    columns = ("runs", "goodput", "p90", "mean RTT", "p90", "RTT p95", "retransmits", "start-up", "cwnd")
    made = Table("scheme", box=None, pad_edge=False)
    for column in columns:
        made.add_column(column, justify="right")
    for one in found:
        made.add_row(
            one.scheme,
            str(one.runs),
            *(f"{value:.1%}" for value in (one.goodput_median, one.goodput_p90, one.rtt_median, one.rtt_p90)),
            *(f"{value:.1%}" for value in (one.rtt_p95_median, one.retransmit_median)),
            f"{one.startup_median_s:.1f} s",
            f"{one.cwnd_median:.1%}",
        )
    return made


def _print_runs(console: Console, compared: Sequence[Comparison]) -> None:
    made = Table("scenario", "scheme", box=None, pad_edge=False)
    for column in (
        "goodput (Mbit/s)",
        "mean RTT (ms)",
        "RTT p95 (ms)",
        "retransmits (%)",
        "start-up (s)",
        "cwnd",
    ):
        made.add_column(column, justify="right")
    for one in compared:
        ours, theirs = one.simulated[0], one.run.flows[0]
        pairs = [
            (
                sum(flow.goodput_mbps for flow in one.simulated),
                sum(flow.goodput_mbps for flow in one.run.flows),
            ),
            (ours.rtt_mean_ms, theirs.rtt_mean_ms),
            (ours.rtt_p95_ms, theirs.rtt_p95_ms),
            (_percent(ours.retransmit_rate), _percent(theirs.retransmit_rate)),
            (ours.startup_s, theirs.startup_s),
        ]
        cells = [f"{_text(left)} / {_text(right)}" for left, right in pairs]
        made.add_row(one.run.scenario.name, one.run.scheme, *cells, f"{one.cwnd:.0%}")
    console.print(made)


def _percent(rate: float | None) -> float | None:
    return None if rate is None else 100 * rate


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def record(folder: Path) -> list[Path]:
    """Write the golden files of an evaluation's suites; return them."""
    results = Results.read(folder)
    guest = image.latest().manifest
    paths = []
    for suite in results.suites:
        path = golden.FOLDER / f"{suite.name}.json"
        golden.write(path, golden.of_results(results, suite.name, guest))
        paths.append(path)
    return paths


@reports_input_errors
def main() -> int:
    """Run the command line of this process."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.fidelity", description=__doc__)
    parser.add_argument("what", nargs="*", metavar="SCHEME", help="schemes (default: all), or: record FOLDER")
    parser.add_argument("--runs", action="store_true", help="every run, simulator / kernel")
    options = parser.parse_args()
    if options.what[:1] == ["record"]:
        if len(options.what) != 2:
            raise InputError("record: needs the folder of one evaluation with --backend lab")
        print("\n".join(str(path) for path in record(Path(options.what[1]))))
        return 0
    console = Console()
    chosen = options.what or leosim.schemes()
    runs = [run for one in golden.shipped() for run in one.runs if run.scheme in chosen]
    if options.runs:
        _print_runs(console, compare(runs))
    console.print(f"Simulator against Linux {kernel()}, medians over runs of one flow", highlight=False)
    console.print(table(fidelity(chosen)))
    shared = compare([run for run in runs if len(run.flows) > 1])
    for one in sharing(shared):
        console.print(
            f"{one.scheme}: two flows share at a ratio of {one.simulator:.2f}, on the kernel at "
            f"{one.kernel:.2f} (means over {one.runs} seeds)",
            highlight=False,
        )
    for many in crowds(shared):
        console.print(
            f"{many.scheme}: {many.flows} flows share with a Jain's index of {many.simulator:.2f}, on the "
            f"kernel of {many.kernel:.2f} (means over {many.runs} seeds)",
            highlight=False,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
