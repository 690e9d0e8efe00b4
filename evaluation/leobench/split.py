"""The two splits of a version: "dev", which everybody knows, and "judge", drawn from a seed at judging."""

import hashlib
import tempfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

import numpy as np

from leogym.configs.suite import Suite
from leogym.evaluation.leobench.version import Version
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
    named = [_without_paths(one, drawn) for one in chosen]
    traces = inputs.load_traces(named) | drawn
    used = {name for one in chosen for case in one.cases("cubic") for name in case.scenario.traces}
    runs_seed = _number(version.name, seed, "runs")
    return Split("judge", runs_seed, chosen, {name: traces[name] for name in sorted(used)})


def drawn_paths(version: Version, rng: np.random.Generator) -> dict[str, LoadedTrace]:
    """Draw paths and build their traces; return them by name."""
    rule = version.description.judge
    found: dict[str, LoadedTrace] = {}
    for links, count, sites, constellations in (
        ("isl", rule.isl, rule.isl_cities, rule.isl_constellations),
        ("bent-pipe", rule.bent_pipe, rule.bent_pipe_cities, rule.bent_pipe_constellations),
    ):
        wanted = len(found) + count
        while len(found) < wanted:
            start, end = (sites[index] for index in rng.choice(len(sites), 2, replace=False))
            constellation = constellations[rng.integers(len(constellations))]
            epoch = DEFAULT_EPOCH + timedelta(minutes=int(rng.integers(int(rule.years * 525_600))))
            name = f"{start}-{end}-{'isl' if links == 'isl' else 'bp'}@{constellation}"
            if name in found:
                continue
            cities = places.cities()
            spec = PathSpec.model_validate(
                {
                    "name": name,
                    "from_site": cities[start],
                    "to_site": cities[end],
                    "links": links,
                    "constellation": constellation,
                    "epoch": epoch,
                    "duration_s": rule.duration_s,
                    "seed": int(rng.integers(1 << 31)),
                }
            )
            if (built := _built(spec)) is not None:
                found[name] = built
    return found


def _built(spec: PathSpec) -> LoadedTrace | None:
    with tempfile.TemporaryDirectory(prefix="leogym-judge-") as folder:
        path = Path(folder) / "path.csv"
        path_trace.write(spec, path)
        csv = path.read_bytes()
    trace = cache.parse(csv, spec.name)
    lasts_ns = np.diff(np.append(trace.time_ns, trace.period_ns).astype(np.int64))
    if lasts_ns[~trace.connected].sum() > LONGEST_GAP * trace.period_ns:
        return None
    return LoadedTrace(csv, trace.period_ns / 1e9, hashlib.sha256(csv).hexdigest())


def _with_paths(version: Version, paths: list[str], parameters: dict[str, int]) -> tuple[Suite, ...]:
    found = []
    for one, measured in zip(version.suites, version.description.suites, strict=True):
        changed = {name: value for name, value in parameters.items() if name in one.parameters}
        update: dict[str, object] = {"parameters": {**one.parameters, **changed}}
        if "path" in one.grid:
            # Suites that are not about paths take as many of them as they name.
            chosen = paths if measured.paths else paths[: len(one.grid["path"])] if parameters else None
            update |= {"grid": {**one.grid, "path": chosen}} if chosen is not None else {}
        found.append(one.model_copy(update=update))
    return tuple(found)


def _without_paths(suite: Suite, drawn: dict[str, LoadedTrace]) -> Suite:
    """Return a suite whose drawn paths are replaced by one that has a name, for `inputs.load_traces`."""
    if "path" not in suite.grid or not set(suite.grid["path"]) <= drawn.keys():
        return suite
    return suite.model_copy(update={"grid": {**suite.grid, "path": ["sd-ny-isl"]}})


def _number(*words: object) -> int:
    text = "/".join(map(str, ("leobench", *words)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")
