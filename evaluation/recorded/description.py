"""``run.json``: the description of an evaluation, which its report needs beside the numbers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leogym.configs.errors import InputError
from leogym.configs.suite import Suite
from leogym.evaluation.runs import unannounced
from leogym.evaluation.runs.plan import Run
from leogym.evaluation.runs.schemes import Contestants, about
from leogym.results import provenance

FORMAT = "leogym-evaluation"
VERSION = 1


def describe(
    suites: Sequence[Suite],
    contestants: Contestants | None,
    runs: Sequence[Run],
    *,
    seed: int,
    options: dict[str, Any],
) -> dict[str, Any]:
    """Return the description of an evaluation, given the planned runs and its options."""
    policies = contestants.policies if contestants else {}
    given = contestants.names if contestants else None
    names = [*(given or []), *(f.scheme for r in runs for f in r.scenario.flows)]
    config = {
        "suites": [suite.model_dump(mode="json") for suite in suites],
        "scenarios": {
            suite.name: list(dict.fromkeys(run.scenario.name for run in runs if run.suite == suite.name))
            for suite in suites
        },
        "schemes": {name: about(name, policies.get(name)) for name in dict.fromkeys(names)},
        "policies": {
            name: {"sha256": policy.sha256, "metadata": policy.metadata} for name, policy in policies.items()
        },
        **options,
    }
    traces = {name: sha for run in runs for name, sha in run.traces.items()}
    return {
        "format": FORMAT,
        "version": VERSION,
        **provenance.describe(config, seed, traces),
        "earlier": [],
    }


def of_run(description: dict[str, Any], run: Run) -> dict[str, Any]:
    """Return a description of one run: thousands of files need not describe all suites."""
    config = dict(description.get("config", {}))
    names = {flow.scheme for flow in run.scenario.flows}
    if "suites" in config:
        config["suites"] = [suite for suite in config["suites"] if suite["name"] == run.suite]
    for key, kept in (("scenarios", {run.suite}), ("schemes", names), ("policies", names)):
        if key in config:
            config[key] = {name: value for name, value in config[key].items() if name in kept}
    return {**description, "config": config}


def read(folder: Path) -> dict[str, Any]:
    """Return the description in ``folder``, or raise an `InputError`."""
    path = folder / "run.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict) or (found.get("format"), found.get("version")) != (FORMAT, VERSION):
        raise InputError(f"{path}: format: must be {FORMAT}, version {VERSION}")
    return found


def encode(description: dict[str, Any]) -> bytes:
    """Return the bytes of ``run.json``."""
    return (json.dumps(description, indent=2, ensure_ascii=False) + "\n").encode()


def merge(now: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Return ``now`` with the suites, schemes and traces that only ``before`` has."""
    config, old = now["config"], before["config"]
    names = {suite["name"] for suite in config["suites"]}
    return {
        **now,
        "traces": {**before["traces"], **now["traces"]},
        "config": {
            **config,
            "suites": [suite for suite in old["suites"] if suite["name"] not in names] + config["suites"],
            "scenarios": {**old["scenarios"], **config["scenarios"]},
            "schemes": {**old["schemes"], **config["schemes"]},
            "policies": {**old["policies"], **config["policies"]},
            "unannounced": unannounced.merged(config.get("unannounced", []), old.get("unannounced", [])),
        },
        "earlier": [*before["earlier"], {key: before[key] for key in ("date", "command", "commit")}],
    }
