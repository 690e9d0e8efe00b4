"""Judge entries: run a split's scenarios with each of them, and turn the runs into results."""

import hashlib
import os
import platform
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import leosim

from leogym.configs.errors import InputError
from leogym.evaluation.entries import process
from leogym.evaluation.leobench import scoring
from leogym.evaluation.leobench.result import Circumstances, Entry, Estimate, Judged, JudgedRun, Result
from leogym.evaluation.leobench.split import Split
from leogym.evaluation.leobench.version import Part, Version, values_of
from leogym.evaluation.runs import execute, inputs, plan
from leogym.evaluation.runs.backends import Simulator
from leogym.evaluation.runs.plan import Run
from leogym.evaluation.runs.schemes import Contestants, Policy, about, load_policy, require_known, shipped
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


def entrant(text: str, version: Version) -> tuple[str, Policy | None]:
    """Return the name and, unless it is a classic scheme, the policy or program of ``[NAME=]ENTRY``.

    An entry is a scheme's name, a policy folder, ``FILE.py:Class`` or ``FILE.so``.

    Raises:
        InputError: it is none of these, or it cannot be loaded.
    """
    name, equals, path = text.partition("=")
    if not equals:
        path = text
    known, ours = Simulator.schemes(), shipped()
    if not equals and (text in known or text in ours):
        return text, load_policy(ours[text]) if text in ours and text not in known else None
    if process.is_program(path):
        program = process.load(path, version.limits)
        found = Policy(
            Path(path), {}, {"agent": program.agent, "interval_ms": program.interval_ms}, None, program
        )
        own = program.name.lower() or Path(path).stem.removeprefix("lib")
    elif Path(path).is_dir():
        found, own = load_policy(Path(path)), Path(path).resolve().name
    else:
        require_known(text, "ENTRY", known)
        return text, None
    name = name if equals else own
    if not re.fullmatch(r"[\w.+-]+", name):
        raise InputError(f"{text}: name: {name!r}: must be letters, digits, and _ . + - (give NAME=ENTRY)")
    if name in known:
        raise InputError(f"{text}: name: {name} is built in; give NAME=ENTRY")
    return name, found


def judge(
    entries: Sequence[tuple[str, Policy | None]],
    version: Version,
    split: Split,
    seed: int,
    *,
    jobs: int = 0,
    ray: str | None = None,
) -> Iterator[Judgement]:
    """Yield each entry's result, in the order of ``entries``.

    ``seed`` is the judging's, as the result tells it. ``jobs`` and ``ray`` are those of `execute`; results do
    not depend on them.
    """
    for name, policy in entries:
        begun_s = time.monotonic()
        contestants = Contestants([name], {name: policy} if policy else {})
        runs = planned(version, split, contestants)
        needed = inputs.gather(runs, split.traces, contestants)
        first = {run.suite: run for run in reversed(runs)}
        tried = [first[one.name] for one in split.suites][:TRIED_FIRST]
        outcomes = _outcomes(tried, needed, 1, None)
        left = [run for run in runs if run.run_id not in outcomes]
        if all(one.failed is not None for one in outcomes.values()):
            outcomes |= {run.run_id: Outcome((), NOT_RUN) for run in left}
        else:
            outcomes |= _outcomes(left, needed, jobs, ray)
        yield _judgement(name, policy, version, split, seed, runs, outcomes, time.monotonic() - begun_s)


def planned(version: Version, split: Split, contestants: Contestants) -> list[Run]:
    """Return the runs of a split, each scheme meeting the same paths, phases and draws."""
    traces = {name: plan.Trace(one.period_s, one.sha256) for name, one in split.traces.items()}
    return [
        run
        for suite in split.suites
        for run in plan.expand(
            suite,
            contestants,
            traces,
            backend="simulator",
            known=Simulator.schemes(),
            base_seed=split.seed,
            repeats=None,
            version=version.name,
        )
    ]


def _outcomes(runs: Sequence[Run], needed: execute.Inputs, jobs: int, ray: str | None) -> dict[str, Outcome]:
    """Run all; return each outcome by ``run_id``."""
    if ray is not None and runs:
        execute.connect_ray(ray)
    run_all = execute.run_on_ray if ray is not None else execute.run_here
    with closing(run_all(runs, needed, jobs, outcome)) as finished:
        return {run.run_id: found for run, found in finished}


_apart = threading.Lock()


def outcome(run: Run, parts: Iterator[Measurement]) -> Outcome:
    """Return a run's outcome from the parts of its measurement."""
    arrived = list(parts)
    if (why := arrived[-1].invalid) is not None:
        return Outcome((), why)
    with _apart:  # polars and numpy on several threads gain nothing here
        rows = flow_rows(arrived[-1], run.scenario, run.fairness_last_s, lambda: arrived, run.compare)
    return Outcome(tuple(row for row in rows if row["scheme"] == run.scheme))


def _judgement(
    name: str,
    policy: Policy | None,
    version: Version,
    split: Split,
    seed: int,
    runs: Sequence[Run],
    outcomes: dict[str, Outcome],
    seconds: float,
) -> Judgement:
    values = {suite.name: values_of(suite) for suite in split.suites}
    judged: list[JudgedRun] = []
    for run in runs:
        found, measures = outcomes[run.run_id], version.measures(run.suite)
        scored: dict[Part, float] = dict.fromkeys(measures, 0.0)
        if found.failed is None:
            scored = scoring.values_of_run(found.rows, measures, values[run.suite][run.scenario.name])
        judged.append(
            JudgedRun(
                suite=run.suite,
                scenario=run.scenario.name,
                repeat=run.repeat,
                values=scored,
                failed=found.failed,
            )
        )
    by_part: dict[Part, dict[str, list[float]]] = {}
    for one in judged:
        for part, value in one.values.items():
            by_part.setdefault(part, {}).setdefault(one.suite, []).append(value)
    result = Result(
        entry=_entry(name, policy),
        judged=Judged(
            version=version.name,
            status=version.status,
            files_sha256=version.sha256,
            split=split.name,
            seed=seed,
            traces={name: one.sha256 for name, one in sorted(split.traces.items())},
        ),
        score=Estimate.of(scoring.score(by_part)),
        parts={part: Estimate.of(found) for part, found in scoring.parts(by_part).items()},
        suites=scoring.suites(by_part),
        runs=judged,
        circumstances=circumstances(seconds),
    )
    lines = tuple(
        f"{name}: {one.suite} {one.scenario} {one.repeat}: {one.failed}"
        for one in judged
        if one.failed is not None and one.failed != NOT_RUN
    )
    unrun = sum(one.failed == NOT_RUN for one in judged)
    return Judgement(result, (*lines, *([f"{name}: {unrun} runs {NOT_RUN}"] if unrun else [])))


def _entry(name: str, policy: Policy | None) -> Entry:
    kind: Literal["scheme", "policy", "class", "library"] = "scheme"
    if policy is not None:
        kind = policy.program.kind if policy.program is not None else "policy"
    about_it = provenance.anonymous(about(name, policy))
    return Entry(name=name, kind=kind, sha256=policy.sha256 if policy else None, about=about_it)


def circumstances(seconds: float) -> Circumstances:
    """Return what else a result depends on: this machine, this build, this moment."""
    told = provenance.describe()
    [core] = sorted(Path(leosim.__file__).parent.glob("*.so"))
    return Circumstances(
        date=told["date"],
        seconds=round(seconds, 1),
        command=told["command"],
        commit=told["commit"],
        core_sha256=hashlib.sha256(core.read_bytes()).hexdigest(),
        versions=told["versions"],
        platform=told["platform"],
        processor=_processor(),
        cores=os.cpu_count() or 1,
    )


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.machine()
