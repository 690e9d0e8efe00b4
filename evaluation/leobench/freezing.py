"""Freeze a version: hashes of all that can move a number, and the check that none has moved."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from leogym.configs.atomic import write_atomically
from leogym.configs.errors import InputError, one_line
from leogym.configs.strict import Strict
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
    lab_image: str | None
    """The image of the lab's Linux; None if the machine that froze the version had none."""


def hashes(version: Version) -> Frozen:
    """Return the hashes of a version as it is now."""
    found = split.dev(version)
    return Frozen(
        files=version.files,
        traces={name: one.sha256 for name, one in sorted(found.traces.items())},
        behaviour=behaviour(version, found),
        lab_image=lab_image(),
    )


def behaviour(version: Version, found: Split) -> dict[str, str]:
    """Return the hash of each canonical run's results, by ``suite/scenario/scheme``."""
    rule = version.description.behaviour
    short = [_shortened(suite, rule.duration_s) for suite in found.suites]
    contestants = Contestants(list(rule.schemes), {})
    runs = planned(version, Split("dev", found.seed, tuple(short), found.traces), contestants)
    needed = inputs.gather(runs, found.traces, contestants)
    hashed = {
        _name(run): digest for run, digest in execute.run_here(runs, needed, 0, lambda _, m: digest_of(m))
    }
    return dict(sorted(hashed.items()))


def digest_of(parts: Iterable[Measurement]) -> str:
    """Return the hash of a measurement: every number of its tables, bit by bit."""
    digest = hashlib.sha256()
    for part in parts:
        for rows in (part.flows, part.links):
            digest.update(json.dumps(rows, sort_keys=True).encode())
        for series in (part.flow_series, part.link_series):
            for name in sorted(series):
                digest.update(name.encode())
                digest.update(np.ascontiguousarray(series[name]).tobytes())
    return digest.hexdigest()


def lab_image() -> str | None:
    """Return the hash of the lab's image on this machine, or None without one."""
    try:
        return str(image.latest().manifest["sha256"])
    except (InputError, OSError, RuntimeError):
        return None


def freeze(version: Version) -> Path:
    """Write ``frozen.json``; raise an `InputError` if the version is frozen, for it never changes then."""
    path = version.folder / FROZEN
    if path.exists():
        raise InputError(f"{path}: {version.name} is frozen: a change needs a new version, with notes")
    write_atomically(path, (json.dumps(hashes(version).model_dump(), indent=1) + "\n").encode())
    return path


def moved(version: Version) -> list[str]:
    """Return a line for everything that has moved since a version was frozen.

    The lab's image counts only where both machines have one.
    """
    path = version.folder / FROZEN
    try:
        then = Frozen.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise InputError(one_line(str(path), error)) from None
    now = hashes(version)
    lines = []
    for kind in ("files", "traces", "behaviour"):
        before, after = getattr(then, kind), getattr(now, kind)
        lines += [
            f"{kind}: {name}: moved" for name in before if after.get(name, before[name]) != before[name]
        ]
        lines += [f"{kind}: {name}: is gone" for name in before if name not in after]
        lines += [f"{kind}: {name}: is new" for name in after if name not in before]
    if None not in (then.lab_image, now.lab_image) and then.lab_image != now.lab_image:
        lines.append("lab_image: moved")
    return lines


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
