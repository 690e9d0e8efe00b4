"""``leogym papers cost``: estimate suites' CPU time from one quick repeat of each."""

import time
from collections.abc import Collection, Sequence

import leosim
import polars as pl

from leogym.common.command_line import OneLineParser
from leogym.configs import names
from leogym.configs.suite import Suite
from leogym.evaluation.runs import inputs, plan
from leogym.evaluation.runs.backends import Simulator
from leogym.evaluation.runs.schemes import of_suites
from studies.papers import suites


def of_suite(suite: Suite, full_only: Collection[str] = ()) -> pl.DataFrame:
    """Return the simulator's CPU seconds per scheme, quick and (extrapolated by duration) full.

    Schemes in ``full_only`` do not run with ``--quick``.
    """
    quick = suite.as_quick()
    contestants, traces = of_suites([quick]), inputs.load_traces([quick])
    runs = plan.expand(
        quick,
        contestants,
        {name: plan.Trace(trace.period_s, trace.sha256) for name, trace in traces.items()},
        backend="simulator",
        backend_schemes=leosim.schemes(),
        base_seed=1,
        repeats=1,
        version=leosim.__version__,
    )
    # A scenario's duration does not depend on the scheme.
    last = {case.scenario.name: case.scenario.duration_s for case in suite.cases(suite.schemes[0])}
    engine = Simulator(inputs.gather(runs, traces, contestants))
    rows = []
    for run in runs:
        begun_s = time.process_time()
        sent = 0
        for part in engine.stream(run.scenario.to_json(), run.interval_ms):
            sent = sum(flow.get("sent_packets", 0) for flow in part.flows)
        took_s = time.process_time() - begun_s
        longer = last[run.scenario.name] / run.scenario.duration_s
        quick_s = 0.0 if run.scheme in full_only else took_s * quick.repeats
        full_s = took_s * longer * suite.repeats
        rows.append((suite.name, run.scheme, quick_s, full_s, sent, took_s))
    table = pl.DataFrame(rows, ["suite", "scheme", "quick_s", "full_s", "packets", "took_s"], orient="row")
    return table.group_by("suite", "scheme", maintain_order=True).sum()


def print_table(table: pl.DataFrame, by: str) -> None:
    """Print the cost by suite or by scheme, highest first."""
    costs = table.group_by(by).agg(pl.col("quick_s", "full_s", "packets", "took_s").sum())
    for name, quick_s, full_s, packets, took_s in costs.sort("full_s", descending=True).iter_rows():
        speed = packets / took_s / 1e6
        print(f"{name:24s} quick {quick_s:8.1f} s  full {full_s:9.1f} s  {speed:5.2f} Mpackets/s")


def run(arguments: Sequence[str]) -> int:
    """Run a command line."""
    parser = OneLineParser(
        prog="leogym papers cost",
        description="Estimate the CPU time of suites from one quick repeat of each scenario and scheme.",
        examples=("", "leo-single leo-pair"),
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="default: all suites of papers' claims")
    suite_names = parser.parse_args(arguments).suites or suites.of_claims()
    own = [names.as_suite(name) for name in suite_names]
    pairs = zip(own, suites.with_common_schemes(own), strict=True)
    table = pl.concat([of_suite(suite, set(suite.schemes) - set(quick.schemes)) for quick, suite in pairs])
    print_table(table, "suite")
    print()
    print_table(table, "scheme")
    print(f"\nCPU time: quick {table['quick_s'].sum():.0f} s, full {table['full_s'].sum():.0f} s")
    return 0
