"""``leogym fidelity``: print the simulator's distance from the kernel."""

import sys
from collections.abc import Sequence
from pathlib import Path

import leosim
from rich.console import Console
from rich.table import Table

from leogym.common.command_line import OneLineParser
from leogym.common.errors import InputError, reports_input_errors
from leogym.evaluation.fidelity import (
    BEYOND,
    BOUNDS,
    DRAWS,
    QUEUEING,
    RATIO,
    SHARE,
    STRICT,
    STRICT_DRAWS,
    STRICT_QUEUEING,
    Comparison,
    Fidelity,
    compare,
    crossings,
    crowds,
    fidelity,
    golden,
    kernel,
    misses,
    queueing,
    redrawn,
    sharing,
    spot,
)
from leogym.evaluation.recorded.results import Results
from leogym.kernel_bridge.lab import image

PROGRAM = "leogym fidelity"
QUEUES = "fidelity-aqm"
BOTTLENECKS = "fidelity-lot"


def table(found: Sequence[Fidelity]) -> Table:
    """Return a table of schemes; a star marks values beyond the bounds."""
    columns = (
        "runs",
        "goodput",
        "p90",
        "mean RTT",
        "p90",
        "RTT p95",
        "retransmits",
        "start-up",
        "cwnd",
    )
    made = Table("scheme", box=None, pad_edge=False)
    for column in columns:
        made.add_column(column, justify="right")
    for one in found:
        beyond = misses(one)
        texts = [_unit(name, getattr(one, name)) + ("*" if name in beyond else "") for name in BOUNDS]
        made.add_row(one.scheme, str(one.runs), *texts)
    made.add_row("bound", "", *(_unit(name, bound) for name, bound in BOUNDS.items()))
    return made


def _unit(name: str, value: float) -> str:
    return (
        f"{value:.1f} s"
        if name.endswith("_s")
        else f"{value:.2%}"
        if "retransmit" in name
        else f"{value:.1%}"
    )


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
        made = golden.of_results(results, suite.name, guest)
        golden.write(path, golden.renewed(golden.read(path), made) if keep and path.exists() else made)
        paths.append(path)
    return paths


def parser() -> OneLineParser:
    """Return the command line's parser."""
    made = OneLineParser(
        prog=PROGRAM,
        description="Show the simulator's distance from the real kernel, scheme by scheme.",
        examples=("", "cubic bbr --runs", "record runs/kernel"),
    )
    made.add_argument("what", nargs="*", metavar="SCHEME", help="schemes (default: all), or: record FOLDER")
    made.add_argument("--runs", action="store_true", help="show every run: simulator / kernel")
    made.add_argument("--keep", action="store_true", help="record: keep the runs that FOLDER does not have")
    return made


@reports_input_errors
def main() -> int:
    """Run the command line."""
    options = parser().parse_args()
    if options.what[:1] == ["record"]:
        if len(options.what) != 2:
            raise InputError("record: needs one folder, of an evaluation with --backend lab")
        print("\n".join(str(path) for path in record(Path(options.what[1]), keep=options.keep)))
        return 0
    console = Console()
    chosen = options.what or list(leosim.schemes())
    runs = [run for one in golden.shipped() for run in one.runs if run.scheme in chosen]
    if options.runs:
        _print_runs(console, compare(runs))
    console.print(f"Simulator against Linux {kernel()}, medians over runs of one flow", highlight=False)
    console.print(table(fidelity(chosen)))
    for scheme in chosen:
        if scheme in BEYOND:
            console.print(f"* {scheme}: {BEYOND[scheme][1]}", highlight=False)
    shared = compare([run for run in runs if len(run.flows) > 1 and run.suite != BOTTLENECKS])
    for one in sharing(shared):
        console.print(
            f"{one.scheme}: goodput ratio of two flows {one.simulator:.2f}, on the kernel "
            f"{one.kernel:.2f} (means over {one.runs} runs){_star(one.simulator - one.kernel, SHARE)}",
            highlight=False,
        )
    for suite in (QUEUES, *STRICT):
        bound, draws = (STRICT_QUEUEING, STRICT_DRAWS) if suite in STRICT else (QUEUEING, 1)
        for one in queueing(compare(redrawn([run for run in runs if run.suite == suite], draws))):
            console.print(
                f"{one.scheme} on {one.scenario}: {one.simulator_ms:.1f} ms of queueing, on the kernel "
                f"{one.kernel_ms:.1f} ms (means over {one.runs} runs and {one.runs // draws} on the kernel)"
                f"{_star(one.error, bound)}",
                highlight=False,
            )
            if one.kernel_marked:
                console.print(
                    f"  {one.simulator_marked:.0f} marked packets, on the kernel {one.kernel_marked:.0f}"
                    f"{_star(one.marks_error, bound)}",
                    highlight=False,
                )
    bottlenecks = [run for run in runs if run.suite == BOTTLENECKS]
    for one in crossings(compare(redrawn(bottlenecks, DRAWS))):
        console.print(
            f"{one.scheme} on {one.scenario}: a flow over all bottlenecks gets {one.simulator:.3f} times the "
            f"goodput of flows over one, on the kernel {one.kernel:.3f} (means over {one.runs} runs and "
            f"{one.runs // DRAWS} on the kernel)"
            f"{_star(one.error, RATIO)}",
            highlight=False,
        )
    for many in crowds(shared):
        console.print(
            f"{many.scheme} on {many.scenario}: {many.flows} flows have a Jain's index of "
            f"{many.simulator:.2f}, on the kernel {many.kernel:.2f} (means over {many.runs} runs)"
            f"{_star(many.simulator - many.kernel, SHARE)}",
            highlight=False,
        )
    return 0


if __name__ == "__main__":
    sys.argv[0] = PROGRAM
    raise SystemExit(main())
