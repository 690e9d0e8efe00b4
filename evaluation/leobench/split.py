"""The two splits of a version: "dev", which everybody knows, and "judge", drawn from a seed at judging."""

import hashlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

import numpy as np

from leogym.common.processes import Pool
from leogym.configs.suite import Suite
from leogym.evaluation.leobench.version import Sample, Version
from leogym.evaluation.runs import inputs
from leogym.evaluation.runs.inputs import LoadedTrace
from leogym.traces.orbit import places
from leogym.traces.path import cache, path_trace
from leogym.traces.path.spec import DEFAULT_EPOCH, PathSpec

LONGEST_GAP = 0.02
"""A drawn path that is unreachable for a larger share of its time is drawn again."""


@dataclass(frozen=True)
class Split:
    """The suites and path traces of a split."""

    name: Literal["dev", "judge"]
    seed: int
    """Determines phases and random draws; for "judge", also paths and epochs."""
    suites: tuple[Suite, ...]
    traces: dict[str, LoadedTrace]


def dev(version: Version) -> Split:
    """Return the public split."""
    chosen = _with_paths(version, version.description.paths, {})
    return Split("dev", version.description.dev_seed, chosen, inputs.load_traces(chosen))


def judge(version: Version, seed: int) -> Split:
    """Return the split of a judging: other pairs, epochs, phases and draws for every seed."""
    rng = np.random.default_rng(_number(version.name, seed))
    draw = int(rng.integers(2, 1 << 31))
    drawn = drawn_paths(version, rng)
    chosen = _with_paths(version, list(drawn), {"draw": draw})
    named = [_without_paths(suite, drawn) for suite in chosen]
    traces = inputs.load_traces(named) | drawn
    used = {name for suite in chosen for case in suite.cases("cubic") for name in case.scenario.traces}
    runs_seed = _number(version.name, seed, "runs")
    return Split("judge", runs_seed, chosen, {name: traces[name] for name in sorted(used)})


def sample(version: Version) -> Split:
    """Return the part of the public split that the tiers beside the simulator run."""
    whole = dev(version)
    by_name = {suite.name: suite for suite in whole.suites}
    chosen = tuple(_sampled(by_name[part.suite], part) for part in version.description.real)
    used = {name for suite in chosen for case in suite.cases("cubic") for name in case.scenario.traces}
    return Split("dev", whole.seed, chosen, {name: whole.traces[name] for name in sorted(used)})


def _sampled(suite: Suite, sample: Sample) -> Suite:
    spread = suite.spread if sample.spread is None else [suite.spread[index] for index in sample.spread]
    return suite.model_copy(
        update={
            "repeats": 1,
            "parameters": {**suite.parameters, "duration_s": sample.duration_s},
            "grid": {name: sample.grid.get(name, values) for name, values in suite.grid.items()},
            "spread": spread,
        }
    )


def drawn_paths(version: Version, rng: np.random.Generator) -> dict[str, LoadedTrace]:
    """Draw paths and build their traces, one process a core; return them by name."""
    rule = version.description.judge
    traces: dict[str, LoadedTrace] = {}
    for links, count, sites, constellations in (
        ("isl", rule.isl, rule.isl_cities, rule.isl_constellations),
        ("bent-pipe", rule.bent_pipe, rule.bent_pipe_cities, rule.bent_pipe_constellations),
    ):
        wanted = len(traces) + count
        while len(traces) < wanted:
            specs: dict[str, PathSpec] = {}
            while len(specs) < wanted - len(traces):
                spec = _drawn(version, rng, links, sites, constellations)
                if spec.name not in traces:
                    specs.setdefault(spec.name, spec)
            built = zip(specs, _all_built(list(specs.values())), strict=True)
            traces |= {name: trace for name, trace in built if trace is not None}
    return traces


def _drawn(
    version: Version, rng: np.random.Generator, links: str, sites: list[str], constellations: list[str]
) -> PathSpec:
    rule = version.description.judge
    start, end = (sites[index] for index in rng.choice(len(sites), 2, replace=False))
    constellation = constellations[rng.integers(len(constellations))]
    epoch = DEFAULT_EPOCH + timedelta(minutes=int(rng.integers(int(rule.years * 525_600))))
    cities = places.cities()
    return PathSpec.model_validate(
        {
            "name": f"{start}-{end}-{'isl' if links == 'isl' else 'bp'}@{constellation}",
            "from_site": cities[start],
            "to_site": cities[end],
            "links": links,
            "constellation": constellation,
            "epoch": epoch,
            "duration_s": rule.duration_s,
            "seed": int(rng.integers(1 << 31)),
        }
    )


def _all_built(specs: Sequence[PathSpec]) -> list[LoadedTrace | None]:
    workers = min(len(specs), len(os.sched_getaffinity(0)))
    # This process removes the folder, as a signal kills the pool's processes.
    with tempfile.TemporaryDirectory(prefix="leogym-judge-") as folder:
        files = [Path(folder) / f"{number}.csv" for number in range(len(specs))]
        if workers < 2:
            return list(map(_built, specs, files))
        with Pool(workers) as pool:
            return list(pool.map(_built, specs, files))


def _built(spec: PathSpec, path: Path) -> LoadedTrace | None:
    """Write a path's trace to a file, and return it; None if it is unreachable for too long."""
    path_trace.write(spec, path, noted=lambda _: None)  # the split may not take this path
    csv = path.read_bytes()
    trace = cache.parse(csv, spec.name)
    lasts_ns = np.diff(np.append(trace.time_ns, trace.period_ns).astype(np.int64))
    if lasts_ns[~trace.connected].sum() > LONGEST_GAP * trace.period_ns:
        return None
    return LoadedTrace(csv, trace.period_ns / 1e9, hashlib.sha256(csv).hexdigest())


def _with_paths(version: Version, paths: list[str], parameters: dict[str, int]) -> tuple[Suite, ...]:
    suites = []
    for suite, measured in zip(version.suites, version.description.suites, strict=True):
        changed = {name: value for name, value in parameters.items() if name in suite.parameters}
        update: dict[str, object] = {"parameters": {**suite.parameters, **changed}}
        if "path" in suite.grid:
            # Suites that are not about paths take one of the same links for each that they name.
            named = [str(name) for name in suite.grid["path"]]
            chosen = paths if measured.paths else _alike(named, paths) if parameters else None
            update |= {"grid": {**suite.grid, "path": chosen}} if chosen is not None else {}
        suites.append(suite.model_copy(update=update))
    return tuple(suites)


def _alike(named: Sequence[str], drawn: Sequence[str]) -> list[str]:
    """Return a drawn path for each named one, of the same kind of links."""
    unused = list(drawn)
    chosen = []
    for name in named:
        path_name = next(path for path in unused if ("-bp" in path) == ("-bp" in name))
        unused.remove(path_name)
        chosen.append(path_name)
    return chosen


def _without_paths(suite: Suite, drawn: dict[str, LoadedTrace]) -> Suite:
    """Return a suite whose drawn paths are replaced by one that has a name, for `inputs.load_traces`."""
    if "path" not in suite.grid or not set(suite.grid["path"]) <= drawn.keys():
        return suite
    return suite.model_copy(update={"grid": {**suite.grid, "path": ["sd-ny-isl"]}})


def _number(*words: object) -> int:
    text = "/".join(map(str, ("leobench", *words)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")
