"""Scenarios: for the pool, for choosing the best policy, and for the final evaluation."""

import itertools
import json
from dataclasses import dataclass

import leosim
import numpy as np

from leogym.agents.clone.settings import PoolRanges
from leogym.common.errors import InputError
from leogym.configs.queue import Queue
from leogym.configs.scenario import Flow, Link, Scenario

RATE_MAX_MBPS = 192.0
COMPETITOR = "cubic"


@dataclass(frozen=True)
class Situation:
    """One bottleneck that any scheme can run on.

    Attributes:
        rate_mbps: the initial rate.
        one_way_ms: one-way propagation delay.
        queue_bdp: the buffer, in BDPs at the initial rate and base RTT.
        step: factor on the rate in every second period of ``step_s``.
        shared: whether a CUBIC flow competes.
    """

    rate_mbps: float
    one_way_ms: float
    queue_bdp: float
    step: float
    step_s: float
    duration_s: float
    shared: bool
    seed: int

    @property
    def name(self) -> str:
        """A name made of the parameters."""
        change = "" if self.step == 1 else f"-x{self.step:g}"
        beside = "-shared" if self.shared else ""
        return f"{self.rate_mbps:.4g}mbps{change}-{self.one_way_ms:.4g}ms-{self.queue_bdp:.3g}bdp{beside}"

    def scenario(self, scheme: str) -> Scenario:
        """Return the scenario; its first flow runs ``scheme``."""
        queue = Queue(bdp=self.queue_bdp)
        if self.step == 1:
            link = Link(rate_mbps=self.rate_mbps, delay_ms=self.one_way_ms, queue=queue)
        else:
            link = Link(trace=self.name, queue=queue)
        flows = [Flow(scheme=scheme, route=["bottleneck"])]
        if self.shared:
            flows.append(Flow(scheme=COMPETITOR, route=["bottleneck"]))
        return Scenario(
            name=self.name,
            duration_s=self.duration_s,
            seed=self.seed,
            links={"bottleneck": link},
            flows=flows,
        )

    def traces(self) -> dict[str, leosim.PathTrace]:
        """Return the path trace of a stepping rate by its name in the scenario."""
        return {name: leosim.PathTrace.parse(text, name) for name, text in self.trace_files().items()}

    def trace_files(self) -> dict[str, str]:
        """Return the same traces as CSV text."""
        if self.step == 1:
            return {}
        header = json.dumps({"format": "leogym-path-trace", "version": 1, "made_by": "agents.clone"})
        rows = [
            f"{at:g},{self.one_way_ms:.6f},{rate:.6f},{rate:.6f},0,1,0,"
            for at, rate in (
                (0, self.rate_mbps),
                (self.step_s, self.rate_mbps * self.step),
                (2 * self.step_s, self.rate_mbps),
            )
        ]
        columns = "time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event"
        return {self.name: "\n".join([f"# {header}", columns, *rows]) + "\n"}


def pool(ranges: PoolRanges, seed: int) -> list[Situation]:
    """Return the pool's situations in the order of their runs; raise `InputError` if there are none."""
    combinations = [
        combination
        for combination in itertools.product(
            ranges.rate_mbps, ranges.one_way_ms, ranges.queue_bdp, ranges.steps
        )
        if combination[0] * combination[3] <= RATE_MAX_MBPS
    ]
    if not combinations:
        raise _too_fast()
    rng = np.random.default_rng([seed, 2])
    count = len(combinations) if ranges.scenarios is None else min(ranges.scenarios, len(combinations))
    situations = []
    for index in rng.permutation(len(combinations))[:count]:
        rate_mbps, one_way_ms, queue_bdp, step = combinations[index]
        shared = bool(rng.random() < ranges.shared)
        situations.append(
            Situation(
                rate_mbps=rate_mbps,
                one_way_ms=one_way_ms,
                queue_bdp=queue_bdp,
                step=1.0 if shared else step,
                step_s=ranges.step_s,
                duration_s=ranges.duration_s,
                shared=shared,
                seed=int(rng.integers(2**62)),
            )
        )
    return situations


def held_out(ranges: PoolRanges, count: int, *, judge: bool) -> list[Situation]:
    """Return ``count`` situations of one flow, between the pool's values and the same for every seed.

    With ``judge``, they are those of the final evaluation; otherwise they choose the best policy. Steps that
    take almost all rates above 192 Mbit/s are left out; if that is every step, raise `InputError`.
    """
    slowest, fastest = min(ranges.rate_mbps), max(ranges.rate_mbps)
    # Of a range, rates are drawn until one fits, which its lowest alone may never do.
    highest_needed = min(1.01 * slowest, fastest)
    steps = [step for step in ranges.steps if highest_needed * step <= RATE_MAX_MBPS]
    if not steps:
        raise _too_fast()
    rng = np.random.default_rng([0, 4 if judge else 3])

    def between(values: tuple[float, ...]) -> float:
        value = float(np.exp(rng.uniform(np.log(min(values)), np.log(max(values)))))
        return min(max(value, min(values)), max(values))  # of a single value, the exponential rounds

    situations = []
    while len(situations) < count:
        step = steps[len(situations) % len(steps)]
        situation = Situation(
            rate_mbps=between(ranges.rate_mbps),
            one_way_ms=between(ranges.one_way_ms),
            queue_bdp=between(ranges.queue_bdp),
            step=step,
            step_s=ranges.step_s,
            duration_s=ranges.duration_s,
            shared=False,
            seed=int(rng.integers(2**62)),
        )
        if situation.rate_mbps * step <= RATE_MAX_MBPS:
            situations.append(situation)
    return situations


def _too_fast() -> InputError:
    return InputError(f"settings: pool.rate_mbps: no step stays within {RATE_MAX_MBPS:g} Mbit/s")
