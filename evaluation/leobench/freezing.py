"""Freeze a version: hashes of all that can move a number, and the check that none has moved."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from leogym.common import json_text
from leogym.common.atomic import write_atomically
from leogym.common.errors import InputError, one_line
from leogym.common.strict import Strict
from leogym.configs.suite import Suite
from leogym.evaluation.leobench import split
from leogym.evaluation.leobench.judging import planned
from leogym.evaluation.leobench.split import Split
from leogym.evaluation.leobench.version import FROZEN, Version
from leogym.evaluation.runs import execute, inputs
from leogym.evaluation.runs.plan import Run
from leogym.evaluation.runs.schemes import Contestants
from leogym.kernel_bridge.lab import image
from leogym.results.measurement import Measurement


class Frozen(Strict):
    """The file ``frozen.json``: SHA-256 by name."""

    files: dict[str, str]
    """The version's own."""
    traces: dict[str, str]
    """The path traces of "dev", which code of `traces` builds."""
    behaviour: dict[str, str]
    """Results of the runs that `Description.behaviour` describes, bit by bit."""
    lab_kernel: str
    """The Linux of the lab tier. It runs elsewhere from another image, with that machine's libraries."""


def hashes(version: Version) -> Frozen:
    """Return the hashes of a version as it is now.

    Raises:
        InputError: this machine has no image of the lab.
    """
    public = split.dev(version)
    return Frozen(
        files=version.files,
        traces=trace_digests(public),
        behaviour=behaviour(version, public),
        lab_kernel=image.latest().linux,
    )


def trace_digests(public: Split) -> dict[str, str]:
    """Return the hash of each path trace, by name.

    A trace's header names the command that builds it. Hashes keep the name that it had when v1 was frozen.
    """
    return {
        name: hashlib.sha256(trace.csv.replace(b'"leogym traces ', b'"python -m traces ', 1)).hexdigest()
        for name, trace in sorted(public.traces.items())
    }


def behaviour(version: Version, public: Split) -> dict[str, str]:
    """Return the hash of each canonical run's results, by ``suite/scenario/scheme``."""
    rule = version.description.behaviour
    short = [_shortened(suite, rule.duration_s) for suite in public.suites]
    contestants = Contestants(list(rule.schemes), {})
    runs = planned(version, Split("dev", public.seed, tuple(short), public.traces), contestants)
    needed = inputs.gather(runs, public.traces, contestants)
    hashed = {
        _name(run): digest for run, digest in execute.run_here(runs, needed, 0, lambda _, m: digest_of(m))
    }
    return dict(sorted(hashed.items()))


_LATER_COLUMNS = (
    *("workload", "startup_s", "rebuffer_s", "rebuffers", "bitrate_mbps", "switches", "qoe", "page_load_s"),
    *("freezes", "freeze_s", "delay_p50_ms", "delay_p95_ms", "delay_p99_ms"),
)
"""Columns of flows that came after v1. They are about workloads, which LeoBench has not."""


def digest_of(parts: Iterable[Measurement]) -> str:
    """Return the hash of a measurement: every number of its tables, bit by bit."""
    digest = hashlib.sha256()
    for part in parts:
        flows = [{name: row[name] for name in row if name not in _LATER_COLUMNS} for row in part.flows]
        for rows in (flows, part.links):
            digest.update(json.dumps(rows, sort_keys=True).encode())
        for series in (part.flow_series, part.link_series):
            for name in sorted(series):
                digest.update(name.encode())
                digest.update(np.ascontiguousarray(series[name]).tobytes())
    return digest.hexdigest()


def freeze(version: Version) -> Path:
    """Write ``frozen.json``; raise an `InputError` if the version is frozen, for it never changes then."""
    path = version.folder / FROZEN
    if path.exists():
        raise InputError(f"{path}: {version.name} is frozen: a change needs a new version, with notes")
    write_atomically(path, (json.dumps(hashes(version).model_dump(), indent=1) + "\n").encode())
    return path


def read(version: Version) -> Frozen:
    """Return a frozen version's hashes; an `InputError` names file, field and rule."""
    path = version.folder / FROZEN
    try:
        return Frozen.model_validate(json_text.read(path))
    except ValidationError as error:
        raise InputError(one_line(str(path), error)) from None


def moved(version: Version) -> list[str]:
    """Return a line for everything that has moved in the simulator since a version was frozen."""
    then, public = read(version), split.dev(version)
    lines = []
    for kind, after in (
        ("files", version.files),
        ("traces", trace_digests(public)),
        ("behaviour", behaviour(version, public)),
    ):
        before = getattr(then, kind)
        lines += [
            f"{kind}: {name}: moved" for name in before if after.get(name, before[name]) != before[name]
        ]
        lines += [f"{kind}: {name}: is gone" for name in before if name not in after]
        lines += [f"{kind}: {name}: is new" for name in after if name not in before]
    return lines


def another_kernel(version: Version) -> str | None:
    """Return a line if this machine's lab runs another Linux than a frozen version names."""
    if version.status == "draft":
        return None
    then, now = read(version).lab_kernel, image.latest().linux
    if then == now:
        return None
    return f"the lab runs Linux {now}, {version.name} was frozen with {then}: they are not compared"


def _shortened(suite: Suite, duration_s: float) -> Suite:
    """Return a suite of its first scenario, run once and briefly."""
    return suite.model_copy(
        update={
            "repeats": 1,
            "parameters": {**suite.parameters, "duration_s": duration_s},
            "grid": {name: values[:1] for name, values in suite.grid.items()},
            "spread": suite.spread[:1],
        }
    )


def _name(run: Run) -> str:
    return f"{run.suite}/{run.scenario.name}/{run.scheme}"
