"""Compare a policy with the pool's schemes: ``leogym agents bench-clone POLICY``.

The measure is the power of a lone flow (normalized goodput over delay inflation, `docs/metrics.md`) over that
of the scenario's best pool scheme, averaged over held-out scenarios.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import leosim
import numpy as np

from leogym.agents.clone import scenarios
from leogym.agents.clone.scenarios import Situation
from leogym.agents.clone.settings import PoolRanges
from leogym.common.errors import InputError

SPEC = "sage"
"""The specification of clones: Sage's observation and action."""


def powers(
    situations: Sequence[Situation], scheme: str, policy: leosim.Policy | None = None, threads: int = 1
) -> list[float]:
    """Return the power of a flow of ``scheme`` in each situation; ``policy``, if given, controls it."""
    traces = {name: trace for situation in situations for name, trace in situation.traces().items()}
    logs = leosim.run(
        [situation.scenario(scheme).to_json() for situation in situations],
        traces,
        {scheme: policy} if policy is not None else {},
        interval_ms=policy.interval_ms if policy is not None else 30.0,
        series_ms=0.0,
        threads=threads,
    )
    return [float(log.flows[0]["power"]) for log in logs]


def best_of_pool(
    situations: Sequence[Situation], ranges: PoolRanges, threads: int = 1
) -> list[tuple[str, float]]:
    """Return the pool's best scheme and its power in each situation."""
    by_scheme = {scheme: powers(situations, scheme, threads=threads) for scheme in ranges.schemes}
    winners = []
    for index in range(len(situations)):
        best = max(ranges.schemes, key=lambda scheme: by_scheme[scheme][index])
        winners.append((best, by_scheme[best][index]))
    return winners


def ratios(measured: Sequence[float], best: Sequence[tuple[str, float]]) -> list[float]:
    """Return power over the best scheme's power; 0 for a flow that measured nothing."""
    return [
        power / other if np.isfinite(power) and other > 0 else 0.0
        for power, (_, other) in zip(measured, best, strict=True)
    ]


def load(folder: Path) -> leosim.Policy:
    """Read a policy, or raise `InputError` if it is unreadable or for another specification."""
    policy = leosim.Policy.load(str(folder))
    if policy.spec != SPEC:
        raise InputError(f"{folder}: policy.json: agent: is {policy.spec!r}, not {SPEC!r}")
    return policy


def compare(folder: Path, number: int, duration_s: float, threads: int) -> int:
    """Print a JSON line for each of ``number`` held-out scenarios and one for their mean."""
    policy = load(folder)
    ranges = PoolRanges(duration_s=duration_s)
    situations = scenarios.held_out(ranges, number, judge=True)
    measured = powers(situations, SPEC, policy, threads)
    best = best_of_pool(situations, ranges, threads)
    shares = ratios(measured, best)
    for situation, power, (scheme, other), share in zip(situations, measured, best, shares, strict=True):
        line = {"scenario": situation.name, "power": power, "best": scheme, "best_power": other}
        print(json.dumps({**line, "ratio": share}))
    mean = {"bench": "clone-power", "value": float(np.mean(shares)), "unit": "of the best pool scheme's"}
    print(json.dumps(mean))
    return 0
