"""Evaluate a policy on scenarios unused in training and selection: ``leogym agents held-out``."""

from pathlib import Path
from typing import Any

import leosim

from leogym.agents.training import registry
from leogym.agents.training.rollout import evaluate_action, evaluate_policy
from leogym.agents.training.run_folder import require_same
from leogym.agents.training.settings import TrainSettings, build, read_config
from leogym.common import json_text
from leogym.common.errors import InputError

Earned = dict[str, Any]
SCENARIO_KEYS = {"flows", "links", "scenario"}
"""Keys of a scenario's or suite's file that no training configuration has."""


def held_out(folder: Path, episodes: int, scenarios: str | None = None) -> Earned:
    """Return a policy's reward and metrics on held-out scenarios, and those of the action 0.

    Args:
        folder: of a training run, of its ``best/``, or of a policy alone, such as an imported one.
        episodes: the number of scenarios.
        scenarios: the name of a sampler, scenario or suite, a file of one, or the file of a training
            configuration that has the ranges; defaults to the ranges of the run, or of the agent where there
            is no run.

    Returns:
        The result of `agents.training.rollout.evaluate`, and the same for the action 0 under ``action_0``.

    Raises:
        InputError: the policy is missing or cannot be read, or there are no ranges to draw scenarios from.
    """
    if episodes < 1:
        raise InputError(f"held-out: --episodes: {episodes}: must be at least 1")
    settings = settings_of(folder, scenarios).for_held_out()
    policy_folder = folder if (folder / "policy.json").is_file() else folder / "policy"
    policy = leosim.Policy.load(str(policy_folder))
    if policy.spec != (trained := canonical_spec(settings.spec)):
        raise InputError(f"{policy_folder}: policy.json: agent: {policy.spec}, trained: {trained}")
    earned = evaluate_policy(policy, settings, episodes)
    return {**earned, "action_0": evaluate_action(0.0, settings, episodes)}


def canonical_spec(spec: str) -> str:
    """Return the name of ``spec`` that a loaded policy has: ``orca+astraea`` is ``orca+cwnd_step``."""
    composed = [name.split("+") for name in leosim.Batch.agents() if "+" in name]
    actions = {action for _, action in composed}
    observation, _, action = spec.partition("+")
    # The list has each observation with every action but its own, which the name alone has.
    own = {name: actions - {other for of, other in composed if of == name} for name, _ in composed}
    if action in own:
        (action,) = own[action]
    return observation if not action or own[observation] == {action} else f"{observation}+{action}"


def settings_of(folder: Path, scenarios: str | None) -> TrainSettings:
    """Return the settings that define a policy's interval, specification and scenarios."""
    inside = (folder / "policy.json").is_file()  # a policy's folder, within a run or not
    for place in (folder, folder.parent) if inside else (folder,):
        require_same(place, "config.yaml", "or copy it from where the run was made")
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
        data = {**data, "scenarios": ranges, "held_out_scenarios": None}
    return build(registry.get(agent).settings, source, data)


def _of_policy(path: Path) -> dict[str, Any]:
    """Return the settings in a policy's policy.json; others are its observation's agent's defaults."""
    description = json_text.read(path)
    try:
        spec, interval_ms = str(description["agent"]), float(description["interval_ms"])
        agent = spec.partition("+")[0]
        return {"agent": registry.RENAMED.get(agent, agent), "spec": spec, "interval_ms": interval_ms}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None


def _ranges(scenarios: str) -> tuple[str, Any]:
    """Return the source for error messages, and a name, a file or a sampler's ranges."""
    path = Path(scenarios)
    data = read_config(path) if path.suffix in (".yaml", ".yml") else {}
    if not data or SCENARIO_KEYS & data.keys():
        return f"--scenarios {scenarios}", scenarios
    if "scenarios" not in data and "agent" not in data:
        rule = "no ranges in this file: add scenarios or agent, or give a scenario's or suite's file"
        raise InputError(f"{path}: scenarios: {rule}")
    agent = registry.get(str(data["agent"])) if "agent" in data else None
    if agent is None:
        return str(path), data["scenarios"]
    # The agent's defaults complete the ranges of the file.
    return str(path), build(agent.settings, str(path), data).scenarios.model_dump()
