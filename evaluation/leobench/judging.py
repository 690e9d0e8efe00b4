"""Judge entries: run a split's scenarios with each of them, and turn the runs into results."""

import os
import platform
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from leogym.common import build, digests
from leogym.common.cluster import joining
from leogym.common.errors import InputError
from leogym.common.progress import Progress
from leogym.evaluation.leobench import scoring
from leogym.evaluation.leobench.entering import Named, described
from leogym.evaluation.leobench.result import (
    Circumstances,
    Entry,
    Estimate,
    Judged,
    JudgedRun,
    Result,
    Simulated,
    file_name,
    read,
)
from leogym.evaluation.leobench.split import Split
from leogym.evaluation.leobench.version import Part, Tier, Version, values_of
from leogym.evaluation.runs import execute, inputs, plan
from leogym.evaluation.runs.backends import Inputs, backend
from leogym.evaluation.runs.plan import Run
from leogym.evaluation.runs.progress import weight
from leogym.evaluation.runs.schemes import Contestants
from leogym.kernel_bridge.lab import image
from leogym.results import provenance
from leogym.results.measurement import Measurement
from leogym.results.metrics import flow_rows

TRIED_FIRST = 3
"""An entry that fails in each of its first runs, one per suite, is not run further."""
NOT_RUN = f"not run: it failed in each of its first {TRIED_FIRST} runs"


@dataclass(frozen=True)
class Outcome:
    """A run's rows of the flows under test, or how the entry failed."""

    rows: tuple[dict[str, Any], ...]
    failed: str | None = None


@dataclass(frozen=True)
class Judgement:
    """A result, and a line per failure."""

    result: Result
    lines: tuple[str, ...]
    is_earlier: bool = False
    """Whether it is an earlier one."""


def judge(
    entries: Sequence[Named],
    version: Version,
    split: Split,
    seed: int,
    *,
    tier: Tier = "simulator",
    jobs: int = 0,
    ray: str | None = None,
    earlier: Path | None = None,
    resume: str = "",
) -> Iterator[Judgement]:
    """Yield each entry's result, in the order of ``entries``.

    ``seed`` is the judging's, as the result tells it. ``jobs`` and ``ray`` are those of `execute`; results do
    not depend on them. A tier beside the simulator runs each run in the simulator, too, to compare. A result
    in the folder ``earlier`` is taken as it is if this build would judge the same again. ``resume`` is how to
    continue after the cluster has failed, for the message.
    """
    with ExitStack() as cluster:
        for name, policy in entries:
            entry, judged_on = described(name, policy), _judged(version, split, seed, tier)
            path = None if earlier is None else earlier / file_name(judged_on, name)
            if path is not None and (result := _earlier(path, entry, judged_on)):
                yield Judgement(result, (), is_earlier=True)
                continue
            # Not before an entry needs the cluster, and then for all: its processes start in seconds.
            cluster.enter_context(joining.joined(ray, resume=resume, packages=execute.PACKAGES))
            yield _judgement((name, policy), entry, judged_on, version, split, jobs, ray)


def _judgement(
    entry: Named,
    described_entry: Entry,
    judged_on: Judged,
    version: Version,
    split: Split,
    jobs: int,
    ray: str | None,
) -> Judgement:
    """Run an entry's plan and score it."""
    (name, policy), tier, begun_s = entry, judged_on.tier, time.monotonic()
    contestants = Contestants([name], {name: policy} if policy else {})
    runs = planned(version, split, contestants, tier)
    needed = inputs.gather(runs, split.traces, contestants)
    if tier != "simulator":
        backend(tier)(needed).check(run.scenario for run in runs)
    with Progress(f"judging {name}", sum(map(weight, runs))) as progress:
        outcomes = _tried(runs, needed, jobs, ray, progress)
    twins: dict[str, Outcome] = {}
    if tier != "simulator":
        alike = planned(version, split, contestants)
        simulated_outcomes = _outcomes(alike, needed, jobs, None)
        twins = {run.run_id: simulated_outcomes[twin.run_id] for run, twin in zip(runs, alike, strict=True)}
    runs_judged = _runs_judged(version, split, runs, outcomes, twins)
    by_part = _by_part((run.suite, run.values) for run in runs_judged)
    simulated = _by_part((run.suite, run.simulated) for run in runs_judged if run.simulated is not None)
    result = Result(
        entry=described_entry,
        judged=judged_on,
        score=Estimate.of(scoring.score(by_part)),
        parts=_estimates(by_part),
        suites=scoring.suites(by_part),
        simulated=Simulated(score=Estimate.of(scoring.score(simulated)), parts=_estimates(simulated))
        if simulated
        else None,
        runs=runs_judged,
        circumstances=circumstances(time.monotonic() - begun_s, tier),
    )
    return Judgement(result, _lines(name, runs_judged))


def planned(version: Version, split: Split, contestants: Contestants, tier: Tier = "simulator") -> list[Run]:
    """Return the runs of a split, each scheme meeting the same paths, phases and draws on every tier."""
    traces = {name: plan.Trace(trace.period_s, trace.sha256) for name, trace in split.traces.items()}
    return [
        run
        for suite in split.suites
        for run in plan.expand(
            suite,
            contestants,
            traces,
            backend=tier,
            backend_schemes=backend(tier).schemes(),
            base_seed=split.seed,
            repeats=None,
            version=version.name,
        )
    ]


def _tried(
    runs: Sequence[Run], needed: Inputs, jobs: int, ray: str | None, progress: Progress
) -> dict[str, Outcome]:
    """Run all, unless the entry fails in each of the first runs, one per suite."""
    first = {run.suite: run for run in reversed(runs)}
    tried = [first[name] for name in dict.fromkeys(run.suite for run in runs)][:TRIED_FIRST]
    outcomes = _outcomes(tried, needed, 1, None, progress)
    remaining = [run for run in runs if run.run_id not in outcomes]
    if all(outcome.failed is not None for outcome in outcomes.values()):
        return outcomes | {run.run_id: Outcome((), NOT_RUN) for run in remaining}
    return outcomes | _outcomes(remaining, needed, jobs, ray, progress)


def _outcomes(
    runs: Sequence[Run], needed: Inputs, jobs: int, ray: str | None, progress: Progress | None = None
) -> dict[str, Outcome]:
    """Run all; return each outcome by ``run_id``."""
    run_all = execute.run_on_ray if ray is not None else execute.run_here
    outcomes = {}
    with closing(run_all(runs, needed, jobs, outcome)) as finished:
        for run, result in finished:
            outcomes[run.run_id] = result
            if progress is not None:
                progress.advance(weight(run))
    return outcomes


_apart = threading.Lock()


def outcome(run: Run, parts: Iterator[Measurement]) -> Outcome:
    """Return a run's outcome from the parts of its measurement."""
    arrived = list(parts)
    if (why := arrived[-1].invalid) is not None:
        return Outcome((), why)
    with _apart:  # polars and numpy on several threads gain nothing here
        rows = flow_rows(arrived[-1], run.scenario, run.fairness_last_s, lambda: arrived, run.compare)
    return Outcome(tuple(row for row in rows if row["scheme"] == run.scheme))


def _judged(version: Version, split: Split, seed: int, tier: Tier) -> Judged:
    return Judged(
        version=version.name,
        status=version.status,
        files_sha256=version.sha256,
        split=split.name,
        tier=tier,
        kernel=kernel(tier),
        seed=seed,
        traces={name: trace.sha256 for name, trace in sorted(split.traces.items())},
    )


def _earlier(path: Path, entry: Entry, judged: Judged) -> Result | None:
    """Return the result in a file if this build would judge the same again."""
    if not path.exists():
        return None
    try:
        result = read(path)
    except InputError as error:  # it is damaged, or of another format
        print(f"judging {entry.name} again: {error}", file=sys.stderr)
        return None
    earlier = result.circumstances
    built_as = earlier.core_sha256, earlier.leogym_sha256, earlier.tier_version
    is_same_build = built_as == (_core(), build.files(), _tier_version(judged.tier))
    return result if is_same_build and (result.entry, result.judged) == (entry, judged) else None


def _runs_judged(
    version: Version,
    split: Split,
    runs: Sequence[Run],
    outcomes: dict[str, Outcome],
    twins: dict[str, Outcome],
) -> list[JudgedRun]:
    values = {suite.name: values_of(suite) for suite in split.suites}

    def scored(run: Run, outcome: Outcome) -> dict[Part, float]:
        measures = version.measures(run.suite)
        if outcome.failed is not None:
            return dict.fromkeys(measures, 0.0)
        return scoring.values_of_run(outcome.rows, measures, values[run.suite][run.scenario.name])

    return [
        JudgedRun(
            suite=run.suite,
            scenario=run.scenario.name,
            repeat=run.repeat,
            values=scored(run, outcomes[run.run_id]),
            simulated=scored(run, twins[run.run_id]) if twins else None,
            failed=outcomes[run.run_id].failed,
        )
        for run in runs
    ]


def _by_part(runs: Iterable[tuple[str, dict[Part, float]]]) -> dict[Part, dict[str, list[float]]]:
    values_by_part: dict[Part, dict[str, list[float]]] = {}
    for suite, values in runs:
        for part, value in values.items():
            values_by_part.setdefault(part, {}).setdefault(suite, []).append(value)
    return values_by_part


def _estimates(by_part: dict[Part, dict[str, list[float]]]) -> dict[Part, Estimate]:
    return {part: Estimate.of(interval) for part, interval in scoring.parts(by_part).items()}


def _lines(name: str, judged: Sequence[JudgedRun]) -> tuple[str, ...]:
    lines = [
        f"{name}: {run.suite} {run.scenario} {run.repeat}: {run.failed}"
        for run in judged
        if run.failed is not None and run.failed != NOT_RUN
    ]
    unrun = sum(run.failed == NOT_RUN for run in judged)
    return (*lines, *([f"{name}: {unrun} runs {NOT_RUN}"] if unrun else []))


def circumstances(seconds: float, tier: Tier = "simulator") -> Circumstances:
    """Return what else a result depends on: this machine, this build, this moment."""
    provenance_now = provenance.describe()
    return Circumstances(
        date=provenance_now["date"],
        seconds=round(seconds, 1),
        command=provenance_now["command"],
        commit=provenance_now["commit"],
        core_sha256=_core(),
        leogym_sha256=build.files(),
        tier_version=_tier_version(tier),
        versions=provenance_now["versions"],
        platform=provenance_now["platform"],
        processor=_processor(),
        cores=os.cpu_count() or 1,
    )


def kernel(tier: Tier) -> str | None:
    """Return the Linux whose TCP runs on a tier, None for the simulator.

    Raises:
        InputError: the tier is the lab, and this machine has no image.
    """
    if tier == "simulator":
        return None
    return image.latest().linux if tier == "lab" else platform.release()


@cache
def _core() -> str:
    file = sys.modules["leosim.leosim"].__file__
    assert file is not None
    return digests.sha256(Path(file))


def _tier_version(tier: Tier) -> str | None:
    return backend(tier).version() if tier != "simulator" else None


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1] if match else platform.machine()
