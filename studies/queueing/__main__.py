"""``python -m studies.queueing``: percentiles of queueing delay and use of capacity, finely sampled."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common.command_line import OneLineParser, number
from leogym.common.errors import InputError, reports_input_errors
from leogym.configs import names
from leogym.configs.suite import Suite
from leogym.evaluation.runs import inputs, plan
from leogym.evaluation.runs.backends import Simulator
from leogym.evaluation.runs.schemes import of_suites
from leogym.results.measurement import Measurement

STEP_MS = 1.0
"""Time between samples of the queue."""
PACKET_BITS = 12_000
"""Queues count packets; almost all of theirs are full."""
PERCENTILES = (50, 95, 99)


@dataclass(frozen=True)
class Queueing:
    """Measurements of one run's busiest link after the start-up."""

    delay_ms: NDArray[np.float64]
    """Each millisecond: how long the link takes to send what waits then. Of the packet that is being sent,
    half is left on average."""
    utilization: float
    """Delivered over capacity."""
    goodputs_mbps: NDArray[np.float64]
    """By flow."""


def queueing(measured: Measurement, begin_s: float) -> Queueing:
    """Return the queueing of the link with the most traffic, after ``begin_s``."""
    busiest = max(range(len(measured.links)), key=lambda link: measured.links[link]["delivered_bytes"])
    series = measured.of_link(busiest)
    counted = series["time_s"] > begin_s
    capacity, carried = series["capacity_mbps"][counted], series["delivered_mbps"][counted]
    waiting = np.maximum(series["queue_packets"][counted] - 0.5, 0.0) * PACKET_BITS
    time_ms = series["time_s"][counted] * 1e3
    # What the link can have sent by then. It never quite stands still, so that each amount has one time.
    can = np.cumsum(np.maximum(capacity, 1e-6)) * (STEP_MS * 1e3)
    ends = can + waiting < can[-1]
    flows = (measured.of_flow(flow) for flow in range(len(measured.flows)))
    goodputs = [float(flow["goodput_mbps"][flow["time_s"] > begin_s].mean()) for flow in flows]
    return Queueing(
        np.interp((can + waiting)[ends], can, time_ms) - time_ms[ends],
        float(carried.sum() / capacity.sum()),
        np.array(goodputs),
    )


def of_suite(
    suite: Suite, schemes: Sequence[str], repeats: int, seed: int, begin_s: float
) -> Iterator[tuple[str, str, list[Queueing]]]:
    """Yield scenario, scheme and the queueing of each repeat."""
    chosen = suite.model_copy(update={"schemes": list(schemes), "only": {}}) if schemes else suite
    contestants, traces = of_suites([chosen]), inputs.load_traces([chosen])
    runs = plan.expand(
        chosen,
        contestants,
        {name: plan.Trace(trace.period_s, trace.sha256) for name, trace in traces.items()},
        backend="simulator",
        backend_schemes=leosim.schemes(),
        base_seed=seed,
        repeats=repeats,
        version=leosim.__version__,
    )
    engine = Simulator(inputs.gather(runs, traces, contestants))
    groups: dict[tuple[str, str], list[Queueing]] = {}
    for run in runs:
        group = groups.setdefault((run.scenario.name, run.scheme), [])
        measured = engine.run(run.scenario.to_json(), run.interval_ms, STEP_MS)
        group.append(queueing(measured, begin_s))
        if len(group) == repeats:
            yield run.scenario.name, run.scheme, group


@reports_input_errors
def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table: percentiles over all samples of all repeats, means and worst repeats."""
    parser = OneLineParser(
        prog="python -m studies.queueing",
        description=__doc__,
        examples=("l4s-uplink --schemes prague", "l4s-pair --schemes prague,bbr3 --repeats 10"),
    )
    parser.add_argument("suite", metavar="SUITE")
    parser.add_argument("--schemes", default="", metavar="NAME,…", help="default: the suite's")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="default %(default)s")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="default %(default)s")
    parser.add_argument(
        "--from", type=number, default=20.0, dest="begin", metavar="S", help="start-up, default %(default)s"
    )
    options = parser.parse_args(arguments if arguments is not None else sys.argv[1:])
    if not 1 <= options.repeats <= 10_000:
        raise InputError(f"{parser.prog}: --repeats: must be within 1 and 10000")
    schemes = [name for name in options.schemes.split(",") if name]
    print(
        f"{'scenario':28} {'scheme':9} {'p50':>7} {'p95':>7} {'p99':>7} {'worst':>7}  "
        f"{'use':>5} {'least':>5}  share"
    )
    suite = names.as_suite(options.suite)
    for scenario, scheme, group in of_suite(suite, schemes, options.repeats, options.seed, options.begin):
        delays = np.concatenate([repeat.delay_ms for repeat in group])
        percentiles = " ".join(f"{value:7.2f}" for value in np.percentile(delays, PERCENTILES))
        worst = max(float(np.percentile(repeat.delay_ms, PERCENTILES[-1])) for repeat in group)
        use = [repeat.utilization for repeat in group]
        shares = np.mean([repeat.goodputs_mbps / repeat.goodputs_mbps.sum() for repeat in group], axis=0)
        share = f"{shares.min():.3f}-{shares.max():.3f}" if len(shares) > 1 else ""
        print(
            f"{scenario:28} {scheme:9} {percentiles} {worst:7.2f}  "
            f"{np.mean(use):5.3f} {min(use):5.3f}  {share}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
