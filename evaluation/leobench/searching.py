"""Search a program's numbers against "dev": ``leogym agents search``, which hands over to `run`."""

import argparse
import json
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from leogym.agents.search import checking, evolving, grammar
from leogym.agents.search.grammar import Program
from leogym.agents.training.run_folder import RunFolder
from leogym.common import output_folder
from leogym.common.cluster import joining
from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError
from leogym.evaluation.leobench import judging, scoring, split, version
from leogym.evaluation.leobench.split import Split
from leogym.evaluation.leobench.version import Part, Version, values_of
from leogym.evaluation.runs import execute, inputs
from leogym.evaluation.runs.plan import Run
from leogym.evaluation.runs.schemes import Contestants, Policy
from leogym.results import provenance

LEAST = 0.01
"""A part counts as so much at least: one that is 0 in a few runs must not hide the others."""


def run(options: argparse.Namespace) -> int:
    """Search as the options say; print a line per generation, and what the winner and the start are worth."""
    for name, least in (("generations", 0), ("population", 4), ("runs", 1)):
        if getattr(options, name) < least:
            raise InputError(f"--{name}: must be at least {least}")
    output_folder.require(options.out, "a training run")
    program = grammar.read(options.program)
    benchmark = version.load(options.version)
    provenance_now = provenance.describe(seed=options.seed)
    start = evolving.numbers(program, np.zeros(len(program.numbers)))
    cost_us = checking.decision_us(program, files_of(program, start))
    if cost_us > options.decision_us:
        raise InputError(
            f"{options.program}: program: a decision takes {cost_us:.1f} us, "
            f"at most {options.decision_us:g} may"
        )
    if (why := checking.fault(program, files_of(program, start))) is not None:
        raise InputError(f"{options.program}: program: at its start, {why}")
    public = split.dev(benchmark)
    print(f"{program.operations} operations, {cost_us:.2f} us a decision", flush=True)
    if options.resume:
        folder = RunFolder.open(options.out, provenance_now)
    else:
        folder = RunFolder.create(options.out, grammar.as_yaml(program, start), provenance_now)
    evolution, state = evolving.started(program), {"steps": 0}
    if options.generations == 0:
        evolving.export(program, start, folder, 0)
        print(f"policy: {folder.policy}")
        return 0
    if options.resume and (latest := folder.latest_checkpoint()) is not None:
        evolution, state = evolving.load(latest)
        folder.restore_rows(state["steps"])
    with joining.joined(options.ray, resume="continue with --resume", packages=execute.PACKAGES):
        while evolution.generation < options.generations:
            begun_s = time.monotonic()
            candidates = evolving.drawn(evolution, options.seed, options.population)
            values, rejected, steps = _valued(
                program, candidates, benchmark, public, evolution.generation, options
            )
            penalties = np.array([evolving.penalty(program, candidate) for candidate in candidates])
            evolution.learn(candidates, values - penalties)
            state["steps"] += steps
            row = {
                "steps": state["steps"],
                "generation": evolution.generation,
                "value": float(values[values > evolving.REJECTED].mean())
                if rejected < len(values)
                else math.nan,
                "best": float(values.max()),
                "rejected": rejected,
                "deviation": evolution.deviation,
                "seconds": round(time.monotonic() - begun_s, 1),
                **evolving.numbers(program, evolution.mean),
            }
            folder.append_progress(row)
            folder.save_checkpoint(state["steps"], lambda path: evolving.save(path, evolution, state))
            print(
                f"generation {evolution.generation}: mean {row['value']:.2f}, best {row['best']:.2f}, "
                f"{rejected} rejected, {row['seconds']} s",
                flush=True,
            )
        return _end(
            program,
            start,
            evolving.numbers(program, evolution.mean),
            benchmark,
            public,
            folder,
            state,
            options,
        )


def _end(
    program: Program,
    start: dict[str, float],
    last: dict[str, float],
    benchmark: Version,
    public: Split,
    folder: RunFolder,
    state: Mapping[str, Any],
    options: argparse.Namespace,
) -> int:
    """Export the better of the start and the last generation's mean, judged on all of dev."""
    entries = [(name, policy_of(program, values)) for name, values in (("start", start), ("found", last))]
    results = [
        judgement.result
        for judgement in judging.judge(
            entries, benchmark, public, public.seed, jobs=options.jobs, ray=options.ray
        )
    ]
    scores = {result.entry.name: result.score.value for result in results}
    better = scores["found"] > scores["start"]
    evolving.export(program, last if better else start, folder, state["steps"])
    folder.write_summary({"dev": scores, "exported": "found" if better else "start", **state})
    print(f"dev: start {scores['start']:.1f}, found {scores['found']:.1f}")
    again = leogym_command("leobench", "judge", f"{options.out.name}={options.out}")
    print(f"policy: {folder.policy}\n{again}")
    return 0


def _valued(
    program: Program,
    candidates: np.ndarray,
    benchmark: Version,
    public: Split,
    generation: int,
    options: argparse.Namespace,
) -> tuple[np.ndarray, int, int]:
    """Return each candidate's value on the generation's runs, how many were rejected, and the decisions."""
    policies = [policy_of(program, evolving.numbers(program, candidate)) for candidate in candidates]
    wrong = evolving.faults(program, [policy.files for policy in policies])
    fit = {f"candidate-{index}": policy for index, policy in enumerate(policies) if wrong[index] is None}
    values = np.full(len(policies), evolving.REJECTED)
    if not fit:
        return values, len(policies), 0
    contestants = Contestants(list(fit), fit)
    runs = chosen(judging.planned(benchmark, public, contestants), options.runs, options.seed, generation)
    needed = inputs.gather(runs, public.traces, contestants)
    run_all = execute.run_on_ray if options.ray is not None else execute.run_here
    with closing(run_all(runs, needed, options.jobs, judging.outcome)) as finished:
        outcomes = {run.run_id: outcome for run, outcome in finished}
    values_by_suite = {suite.name: values_of(suite) for suite in public.suites}
    for name in fit:
        mine = [run for run in runs if run.scheme == name]
        by_part: dict[Part, dict[str, list[float]]] = {}
        for run in mine:
            measures = benchmark.measures(run.suite)
            scored = scoring.values_of_run(
                outcomes[run.run_id].rows, measures, values_by_suite[run.suite][run.scenario.name]
            )
            for part, value in scored.items():
                by_part.setdefault(part, {}).setdefault(run.suite, []).append(value)
        values[int(name.rpartition("-")[2])] = worth(by_part)
    steps = sum(round(run.scenario.duration_s * 1000 / program.interval_ms) for run in runs)
    return values, len(policies) - len(fit), steps


def worth(by_part: Mapping[Part, Mapping[str, Sequence[float]]]) -> float:
    """Return 100 times the geometric mean of the parts, each a mean over suites of means over runs.

    The score's aggregates leave out the extremes of many runs; a generation has few.
    """
    means = [float(np.mean([np.mean(values) for values in suites.values()])) for suites in by_part.values()]
    return 100 * math.exp(float(np.mean(np.log(np.maximum(means, LEAST)))))


def chosen(runs: Sequence[Run], count: int, seed: int, generation: int) -> list[Run]:
    """Return the generation's runs, ``count`` scenarios of each suite: the same for all candidates."""
    rng = np.random.default_rng([seed, generation, 1])
    picked_runs = set()
    for suite in dict.fromkeys(run.suite for run in runs):
        keys = list(dict.fromkeys((run.scenario.name, run.repeat) for run in runs if run.suite == suite))
        picked = rng.choice(len(keys), min(count, len(keys)), replace=False)
        picked_runs |= {(suite, *keys[index]) for index in picked}
    return [run for run in runs if (run.suite, run.scenario.name, run.repeat) in picked_runs]


def files_of(program: Program, values: dict[str, float]) -> dict[str, bytes]:
    """Return the files of a candidate's policy."""
    described = json.dumps(evolving.description(program)).encode()
    return {"policy.onnx": evolving.network_of(program, values), "policy.json": described}


def policy_of(program: Program, values: dict[str, float]) -> Policy:
    """Return a candidate's policy."""
    return Policy(Path("candidate"), files_of(program, values), evolving.description(program))
