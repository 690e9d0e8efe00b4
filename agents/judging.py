"""What a policy earns on scenarios that neither trained nor chose it: ``python -m agents held-out``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import leosim

from agents.training import registry
from agents.training.bars import JUDGING_LINK, links_held
from agents.training.rollout import evaluate_action, evaluate_policy
from agents.training.settings import TrainSettings, build, read_config
from configs.errors import InputError

Earned = dict[str, Any]


def held_out(folder: Path, episodes: int, scenarios: str | None = None, links: int = 0) -> Earned:
    """Return what a policy earns on so many scenarios, and beside it what the action 0 does.

    Args:
        folder: a training run's, its ``best/``, or a policy's alone, such as an imported one.
        episodes: how many.
        scenarios: a sampler's name, or the file of a training configuration that has the ranges; by default
            those that the run was trained on, or the agent's where there is no run.
        links: how many links of the same ranges besides say which bars hold; they chose nothing either.

    Returns:
        What `agents.training.rollout.evaluate` returns, and the same under ``action_0``; with ``links`` what
        `agents.training.bars.links_held` does.

    Raises:
        InputError: no policy, one that cannot be read, or nothing to draw scenarios from; one line.
    """
    if episodes < 1:
        raise InputError(f"held-out: --episodes: {episodes}: must be at least 1")
    if links < 0:
        raise InputError(f"held-out: --links: {links}: must be at least 0")
    settings = settings_of(folder, scenarios)
    policy_folder = folder if (folder / "policy.json").is_file() else folder / "policy"
    try:
        policy = leosim.Policy.load(str(policy_folder))
    except leosim.InputError as error:
        raise InputError(str(error)) from None
    if policy.spec != settings.spec:
        raise InputError(
            f"{policy_folder}: policy.json: agent: is {policy.spec}, trained was {settings.spec}"
        )
    earned: Earned = {**evaluate_policy(policy, settings, episodes)}
    if links:
        earned |= links_held(policy, settings, links, first=JUDGING_LINK)
    return {**earned, "action_0": evaluate_action(0.0, settings, episodes)}


def settings_of(folder: Path, scenarios: str | None) -> TrainSettings:
    """Return what says how a policy is run and on what."""
    inside = (folder / "policy.json").is_file()  # the folder is the policy's own, within a run's or not
    configs = (folder / "config.yaml", *([folder.parent / "config.yaml"] if inside else []))
    described = next((path for path in (folder, folder / "policy") if (path / "policy.json").is_file()), None)
    if (config := next((path for path in configs if path.is_file()), None)) is not None:
        source, data = str(config), read_config(config)
    elif described is not None:
        source, data = str(described / "policy.json"), _of_policy(described / "policy.json")
    else:
        raise InputError(f"{folder}: (folder): has neither config.yaml nor a policy")
    agent = str(data.get("agent"))
    if scenarios is not None:
        source, ranges = _ranges(scenarios)
        data = {**data, "scenarios": ranges}
    return build(registry.get(agent).settings, source, data)


def _of_policy(path: Path) -> dict[str, Any]:
    """Return the settings that a policy's own description has; all else is its agent's default."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        return {"agent": said["agent"], "spec": said["agent"], "interval_ms": float(said["interval_ms"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None


def _ranges(scenarios: str) -> tuple[str, Any]:
    """Return where ranges come from, and a sampler's name or its ranges."""
    path = Path(scenarios)
    if path.suffix not in (".yaml", ".yml"):
        return f"--scenarios {scenarios}", scenarios
    data = read_config(path)
    if "scenarios" not in data and "agent" not in data:
        raise InputError(f"{path}: scenarios: no ranges of scenarios in this file")
    agent = registry.get(str(data["agent"])) if "agent" in data else None
    if agent is None:
        return str(path), data["scenarios"]
    # What the file leaves out is its agent's.
    return str(path), build(agent.settings, str(path), data).scenarios.model_dump()
