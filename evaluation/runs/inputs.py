"""Load and check the runs' path traces and policies before anything is written."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from leogym.configs.suite import Suite
from leogym.evaluation.runs.backends import Inputs
from leogym.evaluation.runs.plan import Run
from leogym.evaluation.runs.schemes import Contestants
from leogym.traces.path import cache


@dataclass(frozen=True)
class LoadedTrace:
    """A path trace: its CSV, period and hash."""

    csv: bytes = field(repr=False)
    period_s: float
    sha256: str


def load_traces(suites: Iterable[Suite]) -> dict[str, LoadedTrace]:
    """Return all path traces of the suites' scenarios; build missing named paths."""
    # The traces do not depend on the scheme under test.
    names = {name for suite in suites for case in suite.cases("cubic") for name in case.scenario.traces}
    cache.build(sorted(names))
    return {name: _load(name) for name in sorted(names)}


def _load(name: str) -> LoadedTrace:
    path = cache.file(name)
    csv = cache.read_bytes(path)
    period_s = cache.parse(csv, str(path)).period_ns / 1e9
    return LoadedTrace(csv, period_s, hashlib.sha256(csv).hexdigest())


def gather(runs: Iterable[Run], traces: dict[str, LoadedTrace], contestants: Contestants | None) -> Inputs:
    """Return the runs' traces and policies as bytes."""
    policies = contestants.policies if contestants else {}
    runs = list(runs)
    used = {name: policies[name] for name in sorted({name for run in runs for name in run.policies})}
    return Inputs(
        traces={name: traces[name].csv for name in sorted({name for run in runs for name in run.traces})},
        policies={name: policy.files for name, policy in used.items() if policy.program is None},
        programs={name: policy.program for name, policy in used.items() if policy.program is not None},
    )
