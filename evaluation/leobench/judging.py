"""Judge entries: run a split's scenarios with each of them, and turn the runs into results."""

import hashlib
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

import leosim

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
    kept: bool = False
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
            told, judged_on = described(name, policy), _judged(version, split, seed, tier)
            if earlier is not None and (kept := _kept(earlier / file_name(judged_on, name), told, judged_on)):
                yield Judgement(kept, (), True)
                continue
            # Not before an entry needs the cluster, and then for all: its processes start in seconds.
            cluster.enter_context(joining.joined(ray, resume=resume, packages=execute.PACKAGES))
            yield _judgement((name, policy), told, judged_on, version, split, jobs, ray)


def _judgement(
    entry: Named, told: Entry, judged_on: Judged, version: Version, split: Split, jobs: int, ray: str | None
) -> Judgement:
    """Run an entry's plan and score it."""
    (name, policy), tier, begun_s = entry, judged_on.tier, time.monotonic()
    contestants = Contestants([name], {name: policy} if policy else {})
    runs = planned(version, split, contestants, tier)
    needed = inputs.gather(runs, split.traces, contestants)
    if tier != "simulator":
        backend(tier)(needed).check(run.scenario for run in runs)
    with Progress(f"judging {name}", sum(map(weight, runs))) as shown:
        outcomes = _tried(runs, needed, jobs, ray, shown)
    twins: dict[str, Outcome] = {}
    if tier != "simulator":
        alike = planned(version, split, contestants)
        found = _outcomes(alike, needed, jobs, None)
        twins = {run.run_id: found[one.run_id] for run, one in zip(runs, alike, strict=True)}
    runs_judged = _runs_judged(version, split, runs, outcomes, twins)
    by_part = _by_part((one.suite, one.values) for one in runs_judged)
    simulated = _by_part((one.suite, one.simulated) for one in runs_judged if one.simulated is not None)
    result = Result(
        entry=told,
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
    traces = {name: plan.Trace(one.period_s, one.sha256) for name, one in split.traces.items()}
    return [
        run
        for suite in split.suites
        for run in plan.expand(
            suite,
            contestants,
            traces,
            backend=tier,
            known=backend(tier).schemes(),
            base_seed=split.seed,
            repeats=None,
            version=version.name,
        )
    ]


def _tried(
    runs: Sequence[Run], needed: Inputs, jobs: int, ray: str | None, shown: Progress
) -> dict[str, Outcome]:
    """Run all, unless the entry fails in each of the first runs, one per suite."""
    first = {run.suite: run for run in reversed(runs)}
    tried = [first[name] for name in dict.fromkeys(run.suite for run in runs)][:TRIED_FIRST]
    outcomes = _outcomes(tried, needed, 1, None, shown)
    left = [run for run in runs if run.run_id not in outcomes]
    if all(one.failed is not None for one in outcomes.values()):
        return outcomes | {run.run_id: Outcome((), NOT_RUN) for run in left}
    return outcomes | _outcomes(left, needed, jobs, ray, shown)


def _outcomes(
    runs: Sequence[Run], needed: Inputs, jobs: int, ray: str | None, shown: Progress | None = None
) -> dict[str, Outcome]:
    """Run all; return each outcome by ``run_id``."""
    run_all = execute.run_on_ray if ray is not None else execute.run_here
    outcomes = {}
    with closing(run_all(runs, needed, jobs, outcome)) as finished:
        for run, found in finished:
            outcomes[run.run_id] = found
            if shown is not None:
                shown.advance(weight(run))
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
        traces={name: one.sha256 for name, one in sorted(split.traces.items())},
    )


def _kept(path: Path, entry: Entry, judged: Judged) -> Result | None:
    """Return the result in a file if this build would judge the same again."""
    if not path.exists():
        return None
    try:
        found = read(path)
    except InputError as error:  # it is damaged, or of another format
        print(f"judging {entry.name} again: {error}", file=sys.stderr)
        return None
    now = found.circumstances.core_sha256, found.circumstances.tier_version
    same = (found.entry, found.judged) == (entry, judged) and now == (_core(), _tier_version(judged.tier))
    return found if same else None


def _runs_judged(
    version: Version,
    split: Split,
    runs: Sequence[Run],
    outcomes: dict[str, Outcome],
    twins: dict[str, Outcome],
) -> list[JudgedRun]:
    values = {suite.name: values_of(suite) for suite in split.suites}

    def scored(run: Run, found: Outcome) -> dict[Part, float]:
        measures = version.measures(run.suite)
        if found.failed is not None:
            return dict.fromkeys(measures, 0.0)
        return scoring.values_of_run(found.rows, measures, values[run.suite][run.scenario.name])

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
    found: dict[Part, dict[str, list[float]]] = {}
    for suite, values in runs:
        for part, value in values.items():
            found.setdefault(part, {}).setdefault(suite, []).append(value)
    return found


def _estimates(by_part: dict[Part, dict[str, list[float]]]) -> dict[Part, Estimate]:
    return {part: Estimate.of(found) for part, found in scoring.parts(by_part).items()}


def _lines(name: str, judged: Sequence[JudgedRun]) -> tuple[str, ...]:
    lines = [
        f"{name}: {one.suite} {one.scenario} {one.repeat}: {one.failed}"
        for one in judged
        if one.failed is not None and one.failed != NOT_RUN
    ]
    unrun = sum(one.failed == NOT_RUN for one in judged)
    return (*lines, *([f"{name}: {unrun} runs {NOT_RUN}"] if unrun else []))


def circumstances(seconds: float, tier: Tier = "simulator") -> Circumstances:
    """Return what else a result depends on: this machine, this build, this moment."""
    told = provenance.describe()
    return Circumstances(
        date=told["date"],
        seconds=round(seconds, 1),
        command=told["command"],
        commit=told["commit"],
        core_sha256=_core(),
        tier_version=_tier_version(tier),
        versions=told["versions"],
        platform=told["platform"],
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
    [core] = sorted(Path(leosim.__file__).parent.glob("*.so"))
    return hashlib.sha256(core.read_bytes()).hexdigest()


def _tier_version(tier: Tier) -> str | None:
    return backend(tier).version() if tier != "simulator" else None


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()
