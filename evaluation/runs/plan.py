"""Expand suites to runs: scenario × scheme × repeat, each with seed, trace offset and identity."""

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from leogym.common.errors import InputError
from leogym.configs.scenario import Scenario
from leogym.configs.suite import Compare, Suite
from leogym.evaluation.runs.schemes import Contestants, Policy, require_known

DEFAULT_INTERVAL_MS = 30.0
MOST_RUNS = 1_000_000
"""Runs of a suite."""


@dataclass(frozen=True)
class Trace:
    """A path trace's period and hash."""

    period_s: float
    sha256: str


@dataclass(frozen=True)
class Run:
    """One run: a resolved scenario and its place in the plan."""

    suite: str
    scheme: str
    """The scheme under test, or the scenario's schemes joined by ``+``."""
    backend: str
    repeat: int
    scenario: Scenario
    interval_ms: float
    fairness_last_s: float | None
    traces: dict[str, str]
    policies: dict[str, str]
    compare: Compare = field(default_factory=Compare)
    setup_id: str = ""
    """Equal for runs that differ only in repeat, seed and offset."""

    @property
    def run_id(self) -> str:
        """Equal for runs with identical results."""
        return f"{self.setup_id}-{self.repeat}"

    @property
    def offset_s(self) -> float:
        """The start time in the run's path traces; 0 without any."""
        return next((link.offset_s for link in self.scenario.links.values() if link.trace is not None), 0.0)


def seed_of(base_seed: int, suite: str, scenario: str, repeat: int) -> int:
    """Return a repeat's seed, equal for all schemes: they run on the same path with the same random draws."""
    digest = hashlib.sha256(f"{base_seed}/{suite}/{scenario}/{repeat}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


def expand(
    suite: Suite,
    contestants: Contestants | None,
    traces: Mapping[str, Trace],
    *,
    backend: str,
    backend_schemes: Collection[str],
    base_seed: int,
    repeats: int | None,
    version: str,
) -> list[Run]:
    """Return all runs of a suite. Repeats are outermost, so an interrupted evaluation covers everything once.

    ``backend_schemes`` are the schemes that the backend runs without a policy. ``base_seed`` determines all
    seeds and offsets. ``repeats`` replaces the suite's. The simulator's ``version`` is part of a run's
    identity. An `InputError` names an invalid scenario, an unknown scheme, or policies of different intervals
    in one run.
    """
    policies = contestants.policies if contestants else {}
    chosen = contestants.names if contestants else None
    names = suite.schemes if chosen is None else chosen
    combinations = math.prod(map(len, suite.grid.values())) * max(1, len(suite.spread))
    wanted = combinations * len(names) * (repeats or suite.repeats)
    if wanted > MOST_RUNS:
        raise InputError(
            f"{suite.file or suite.name}: {combinations:,} scenarios × {len(names):,} schemes × "
            f"{repeats or suite.repeats:,} repeats are {wanted:,} runs, at most {MOST_RUNS:,} may be"
        )
    runnable = [*backend_schemes, *policies]
    runs = []
    for scheme in names if suite.tests_schemes else [None]:
        if scheme is not None:
            require_known(scheme, f"{suite.file}: schemes", runnable)
        for case in suite.cases(scheme or ""):
            if chosen is None and not suite.has(scheme, case.values):
                continue
            template = case.scenario
            for index, flow in enumerate(template.flows):
                require_known(flow.scheme, f"{suite.file}: flows.{index}.scheme", runnable)
            label = scheme or "+".join(dict.fromkeys(flow.scheme for flow in template.flows))
            base = Run(
                suite=suite.name,
                scheme=label,
                backend=backend,
                repeat=0,
                scenario=template,
                interval_ms=_interval_ms(template, policies),
                fairness_last_s=case.fairness_last_s,
                traces={name: traces[name].sha256 for name in sorted(template.traces)},
                policies={
                    flow.scheme: policies[flow.scheme].sha256
                    for flow in template.flows
                    if flow.scheme in policies
                },
                compare=suite.compare,
            )
            base = replace(base, setup_id=_setup_id(base, base_seed, version))
            for repeat in range(repeats or suite.repeats):
                if suite.first_as_written and repeat == 0:
                    runs.append(base)
                    continue
                seed = seed_of(base_seed, suite.name, template.name, repeat)
                period_s = max((traces[name].period_s for name in template.traces), default=0.0)
                offset_s: float | None = None
                if suite.in_turn:
                    # Rounded, so that the next period's repeats start exactly where the first one's did.
                    begin_s = round(repeat * template.duration_s, 3)
                    offset_s = round(math.fmod(begin_s, period_s or math.inf), 3)
                elif suite.vary_offset:
                    offset_s = draw_offset_s(seed, period_s)
                runs.append(replace(base, repeat=repeat, scenario=_vary(template, seed, offset_s)))
    runs.sort(key=lambda run: run.repeat)
    return runs


def draw_offset_s(seed: int, period_s: float) -> float:
    """Return a uniform random time in a trace's period, in s, rounded to milliseconds."""
    return float(np.floor(np.random.default_rng(seed).uniform(0.0, period_s) * 1000.0) / 1000.0)


def _vary(template: Scenario, seed: int, offset_s: float | None) -> Scenario:
    links = {
        name: link.model_copy(update={"offset_s": offset_s})
        if link.trace is not None and offset_s is not None
        else link
        for name, link in template.links.items()
    }
    return template.model_copy(update={"seed": seed, "links": links})


def _interval_ms(scenario: Scenario, policies: dict[str, Policy]) -> float:
    intervals = {
        flow.scheme: policies[flow.scheme].interval_ms for flow in scenario.flows if flow.scheme in policies
    }
    if len(set(intervals.values())) > 1:
        listing = ", ".join(f"{name} {interval:g}" for name, interval in intervals.items())
        raise InputError(
            f"{scenario.name}: flows: policies of one run must share their interval_ms ({listing})"
        )
    return next(iter(intervals.values()), DEFAULT_INTERVAL_MS)


def _setup_id(run: Run, base_seed: int, version: str) -> str:
    setup = {
        "suite": run.suite,
        "scheme": run.scheme,
        "backend": run.backend,
        "scenario": run.scenario.model_dump(mode="json"),
        "interval_ms": run.interval_ms,
        "fairness_last_s": run.fairness_last_s,
        "compare": run.compare.model_dump(mode="json"),
        "traces": run.traces,
        "policies": run.policies,
        "base_seed": base_seed,
        "version": version,
    }
    return hashlib.sha256(json.dumps(setup, sort_keys=True).encode()).hexdigest()[:16]
