"""``leogym fidelity``: print the simulator's distance from the kernel."""

import sys
from collections.abc import Sequence
from pathlib import Path

import leosim
from rich.console import Console
from rich.table import Table

from leogym.common.command_line import OneLineParser
from leogym.common.errors import InputError, reports_input_errors
from leogym.evaluation.fidelity import golden, spot
from leogym.evaluation.fidelity.against_kernel import Comparison, compare, redrawn
from leogym.evaluation.fidelity.bounds import (
    BEYOND,
    BOUNDS,
    DRAWS,
    QUEUEING,
    RATIO,
    SHARE,
    STRICT,
    STRICT_DRAWS,
    STRICT_QUEUEING,
    misses,
)  # fmt: skip
from leogym.evaluation.fidelity.shares import crossings, crowds, queueing, sharing, workloads
from leogym.evaluation.fidelity.summary import Fidelity, fidelity, kernel
from leogym.evaluation.recorded.results import Results
from leogym.kernel_bridge.lab import image

PROGRAM = "leogym fidelity"
QUEUES = "fidelity-aqm"
BOTTLENECKS = "fidelity-lot"
WORKLOADS = "fidelity-workloads"


def table(fidelities: Sequence[Fidelity]) -> Table:
    """Return a table of schemes; a star marks values beyond the bounds."""
    columns = ("runs", "goodput", "p90", "mean RTT", "p90", "RTT p95", "retransmits", "start-up", "cwnd")
    rich_table = Table("scheme", box=None, pad_edge=False)
    for column in columns:
        rich_table.add_column(column, justify="right")
    for row in fidelities:
        beyond = misses(row)
        texts = [_unit(name, getattr(row, name)) + ("*" if name in beyond else "") for name in BOUNDS]
        rich_table.add_row(row.scheme, str(row.runs), *texts)
    rich_table.add_row("bound", "", *(_unit(name, bound) for name, bound in BOUNDS.items()))
    return rich_table


def _unit(name: str, value: float) -> str:
    if name.endswith("_s"):
        return f"{value:.1f} s"
    return f"{value:.2%}" if "retransmit" in name else f"{value:.1%}"


def _print_runs(console: Console, compared: Sequence[Comparison]) -> None:
    rich_table = Table("scenario", "scheme", box=None, pad_edge=False)
    columns = ("goodput (Mbit/s)", "mean RTT (ms)", "RTT p95 (ms)", "retransmits (%)", "start-up (s)", "cwnd")
    for column in columns:
        rich_table.add_column(column, justify="right")
    for comparison in compared:
        ours, theirs = comparison.simulated[0], comparison.run.flows[0]
        pairs = [
            (
                sum(flow.goodput_mbps for flow in comparison.simulated),
                sum(flow.goodput_mbps for flow in comparison.run.flows),
            ),
            (ours.rtt_mean_ms, theirs.rtt_mean_ms),
            (ours.rtt_p95_ms, theirs.rtt_p95_ms),
            (_percent(ours.retransmit_rate), _percent(theirs.retransmit_rate)),
            (ours.startup_s, theirs.startup_s),
        ]
        cells = [f"{_text(simulated)} / {_text(measured)}" for simulated, measured in pairs]
        rich_table.add_row(
            comparison.run.scenario.name, comparison.run.scheme, *cells, f"{comparison.cwnd:.0%}"
        )
    console.print(rich_table)


def _star(error: float, bound: float) -> str:
    return "" if abs(error) <= bound else f" * beyond {bound:g}"


def _percent(rate: float | None) -> float | None:
    return None if rate is None else 100 * rate


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def record(folder: Path, *, keep: bool = False) -> list[Path]:
    """Write golden files of a lab evaluation; ``keep`` keeps recorded runs that it lacks."""
    results = Results.read(folder)
    guest = image.latest().manifest
    paths = []
    for suite in results.suites:
        path = (spot.FOLDER if results.spot else golden.FOLDER) / f"{suite.name}.json"
        recording = golden.of_results(results, suite.name, guest)
        golden.write(
            path, golden.renewed(golden.read(path), recording) if keep and path.exists() else recording
        )
        paths.append(path)
    return paths


def parser() -> OneLineParser:
    """Return the command line's parser."""
    command_parser = OneLineParser(
        prog=PROGRAM,
        description="Show the simulator's distance from the real kernel, scheme by scheme.",
        examples=("", "cubic bbr --runs", "record runs/kernel"),
    )
    command_parser.add_argument(
        "schemes", nargs="*", metavar="SCHEME", help="schemes (default: all), or: record FOLDER"
    )
    command_parser.add_argument("--runs", action="store_true", help="show every run: simulator / kernel")
    command_parser.add_argument(
        "--keep", action="store_true", help="record: keep the runs that FOLDER does not have"
    )
    return command_parser


@reports_input_errors
def main() -> int:
    """Run the command line."""
    options = parser().parse_args()
    if options.schemes[:1] == ["record"]:
        if len(options.schemes) != 2:
            raise InputError("record: needs one folder, of an evaluation with --backend lab")
        print("\n".join(str(path) for path in record(Path(options.schemes[1]), keep=options.keep)))
        return 0
    console = Console()
    chosen = options.schemes or [*leosim.schemes(), *leosim.stack_schemes()]
    runs = [run for recording in golden.shipped() for run in recording.runs if run.scheme in chosen]
    if options.runs:
        _print_runs(console, compare(runs))
    console.print(f"Simulator against Linux {kernel()}, medians over runs of one flow", highlight=False)
    console.print(table(fidelity(chosen)))
    for scheme in chosen:
        if scheme in BEYOND:
            console.print(f"* {scheme}: {BEYOND[scheme][1]}", highlight=False)
    shared = compare(
        [run for run in runs if len(run.flows) > 1 and run.suite not in (BOTTLENECKS, WORKLOADS)]
    )
    for pair in sharing(shared):
        console.print(
            f"{pair.scheme}: goodput ratio of two flows {pair.simulator:.2f}, on the kernel "
            f"{pair.kernel:.2f} (means over {pair.runs} runs){_star(pair.simulator - pair.kernel, SHARE)}",
            highlight=False,
        )
    for suite in (QUEUES, *STRICT):
        bound, draws = (STRICT_QUEUEING, STRICT_DRAWS) if suite in STRICT else (QUEUEING, 1)
        for queue in queueing(compare(redrawn([run for run in runs if run.suite == suite], draws))):
            delay, marked = queue.delay_ms, queue.marked
            console.print(
                f"{delay.scheme} on {delay.scenario}: {delay.simulator:.1f} ms of queueing, on the kernel "
                f"{delay.kernel:.1f} ms (means over {delay.runs} runs and {delay.runs // draws} on the "
                f"kernel){_star(delay.error, bound)}",
                highlight=False,
            )
            if marked.kernel:
                console.print(
                    f"  {marked.simulator:.0f} marked packets, on the kernel {marked.kernel:.0f}"
                    f"{_star(marked.error, bound)}",
                    highlight=False,
                )
    for felt in workloads(compare([run for run in runs if run.suite == WORKLOADS])):
        means = felt.means
        console.print(
            f"{means.scheme} on {means.scenario}, flow {felt.flow}: {felt.column} {means.simulator:.4g}, "
            f"on the kernel {means.kernel:.4g} (means over {means.runs} runs)",
            highlight=False,
        )
    bottlenecks = [run for run in runs if run.suite == BOTTLENECKS]
    for crossing in crossings(compare(redrawn(bottlenecks, DRAWS))):
        console.print(
            f"{crossing.scheme} on {crossing.scenario}: a flow over all bottlenecks gets "
            f"{crossing.simulator:.3f} times the goodput of flows over one, on the kernel "
            f"{crossing.kernel:.3f} (means over {crossing.runs} runs and {crossing.runs // DRAWS} on the "
            f"kernel){_star(crossing.error, RATIO)}",
            highlight=False,
        )
    for crowd in crowds(shared):
        console.print(
            f"{crowd.scheme} on {crowd.scenario}: {crowd.flows} flows have a Jain's index of "
            f"{crowd.simulator:.2f}, on the kernel {crowd.kernel:.2f} (means over {crowd.runs} runs)"
            f"{_star(crowd.simulator - crowd.kernel, SHARE)}",
            highlight=False,
        )
    return 0


if __name__ == "__main__":
    sys.argv[0] = PROGRAM
    raise SystemExit(main())
