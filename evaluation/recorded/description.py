"""``run.json``: the description of an evaluation, which its report needs besides the numbers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from leogym.common import digests
from leogym.common.errors import InputError, one_line
from leogym.configs.suite import Suite
from leogym.evaluation.recorded import training
from leogym.evaluation.recorded.damage import DESCRIPTION, ROWS, DamagedError
from leogym.evaluation.runs.plan import Run
from leogym.evaluation.runs.schemes import Contestants, about
from leogym.results import provenance

FORMAT = "leogym-evaluation"
VERSION = 1
DIGEST_KEY = "sha256"
"""Of the file itself; earlier versions recorded none."""


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
    chosen = contestants.names if contestants else None
    names = [*(chosen or []), *(f.scheme for r in runs for f in r.scenario.flows)]
    simulated = options.get("backend", "simulator") == "simulator"
    config = {
        "suites": [suite.model_dump(mode="json") for suite in suites],
        "scenarios": {
            suite.name: list(dict.fromkeys(run.scenario.name for run in runs if run.suite == suite.name))
            for suite in suites
        },
        "schemes": {
            name: about(name, policies.get(name), simulated=simulated) for name in dict.fromkeys(names)
        },
        "policies": {
            name: {"sha256": policy.sha256, "metadata": policy.metadata}
            | (
                {}
                if policy.shipped or policy.program
                else {training.KEY: training.curves_beside(policy.folder)}
            )
            for name, policy in policies.items()
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
    for key, relevant in (("scenarios", {run.suite}), ("schemes", names), ("policies", names)):
        if key in config:
            config[key] = {name: value for name, value in config[key].items() if name in relevant}
    for name, policy in config.get("policies", {}).items():
        config["policies"][name] = {key: value for key, value in policy.items() if key != training.KEY}
    return {**description, "config": config}


class _Suite(BaseModel):
    name: str
    repeats: int


class _Policy(BaseModel):
    sha256: str


class _Config(BaseModel):
    suites: list[_Suite]
    scenarios: dict[str, list[str]]
    schemes: dict[str, str]
    policies: dict[str, _Policy]


class _Run(BaseModel):
    command: str
    commit: str | None
    date: str


class _Description(_Run):
    """The keys of ``run.json`` that readers need; the suites themselves are parsed where they are used."""

    seed: int
    platform: str
    versions: dict[str, str]
    traces: dict[str, str]
    config: _Config
    earlier: list[_Run]


def read(folder: Path) -> dict[str, Any]:
    """Return the description in ``folder``.

    Raises:
        DamagedError: ``run.json`` is missing or changed since it was written.
        InputError: it is no description of this version.
    """
    path = folder / DESCRIPTION
    try:
        data = path.read_bytes()
        parsed = json.loads(data)
    except FileNotFoundError:
        # Without any file of an evaluation, there is nothing to make again.
        if not (folder / ROWS).exists():
            raise InputError(f"{path}: cannot be read: there is no evaluation in this folder") from None
        raise DamagedError(path, "missing", folder) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        why = f"cannot be read: {' '.join(str(error).split())}"
        raise DamagedError(path, why, folder) from None
    digest = parsed.pop(DIGEST_KEY, None) if isinstance(parsed, dict) else None
    if digest is not None and not (isinstance(digest, str) and digests.is_intact(data, digest)):
        raise DamagedError(path, "changed since it was written", folder)
    if not isinstance(parsed, dict) or (parsed.get("format"), parsed.get("version")) != (FORMAT, VERSION):
        raise InputError(f"{path}: format: must be {FORMAT}, version {VERSION}")
    try:
        _Description.model_validate(parsed)
    except ValidationError as error:
        raise InputError(one_line(str(path), error)) from None
    return parsed


def encode(description: dict[str, Any]) -> bytes:
    """Return the bytes of ``run.json``, which hold their own digest."""
    content = {key: value for key, value in description.items() if key != DIGEST_KEY}
    text = json.dumps({DIGEST_KEY: digests.UNSEALED, **content}, indent=2, ensure_ascii=False)
    # Bytes of a file name that are not UTF-8 become escapes, which JSON reads back.
    return digests.seal(f"{text}\n".encode("utf-8", "backslashreplace"))


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
            "unannounced": merge_announcements(config.get("unannounced", []), old.get("unannounced", [])),
        },
        "earlier": [*before["earlier"], {key: before[key] for key in ("date", "command", "commit")}],
    }


def merge_announcements(newer: list[dict[str, Any]], older: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return both lists of missing announcements; for the same suite, scheme and need the newer one."""
    keys = {(entry["suite"], entry["scheme"], entry["needs"]) for entry in newer}
    return [entry for entry in older if (entry["suite"], entry["scheme"], entry["needs"]) not in keys] + newer
