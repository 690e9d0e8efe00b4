"""The trials of a sweep: their settings, their folders, and the metric that compares them."""

import copy
import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leogym.agents.training import registry
from leogym.agents.training.rollout import METRICS
from leogym.agents.training.settings import (
    CONFIGS,
    TrainSettings,
    assign,
    build,
    read_config,
    require_known_task,
)
from leogym.common import digests
from leogym.common.errors import InputError
from leogym.common.nearest import suggest_names
from leogym.configs.sweep import AGENT, Sweep

HELD_OUT = "held_out_"


@dataclass(frozen=True)
class Trial:
    """One run of a sweep, numbered from 0; ``assigned`` has the values of the searched settings."""

    number: int
    assigned: dict[str, Any]
    settings: TrainSettings
    folder: Path

    @property
    def given_up(self) -> Path:
        """The file that marks a trial as stopped early."""
        return self.folder / "given-up.json"

    def curve(self, metric: str) -> list[tuple[int, float]]:
        """Return steps and ``metric`` of every row that has a finite value."""
        held_out = metric.startswith(HELD_OUT)
        path = self.folder / ("evaluation.csv" if held_out else "progress.csv")
        column = metric.removeprefix(HELD_OUT)
        if not path.is_file():
            return []
        try:
            with path.open(newline="", encoding="utf-8") as file:
                rows = [(row["steps"], row.get(column)) for row in csv.DictReader(file)]
            pairs = [(int(steps), float(value)) for steps, value in rows if steps and value]
        except (ValueError, KeyError, csv.Error) as error:
            remedy = "delete it and continue the sweep with --resume, which makes it again"
            raise InputError(f"{path}: damaged: {error}: {remedy}") from None
        return [(steps, value) for steps, value in pairs if math.isfinite(value)]

    def status(self) -> str:
        """Return ``done``, ``given up`` or ``unfinished``."""
        if self.given_up.is_file():
            return "given up"
        return "done" if self.done() else "unfinished"

    def done(self) -> bool:
        """Return whether the run has all of its steps, and its files are as it wrote them."""
        path = self.folder / "summary.json"
        if not path.is_file() or digests.changed(self.folder):
            return False
        try:
            steps = json.loads(path.read_text(encoding="utf-8"))["steps"]
            return self.settings.steps is not None and steps >= self.settings.steps
        except (ValueError, KeyError, TypeError):  # damaged: the run makes it again
            return False


@dataclass(frozen=True)
class Plan:
    """A sweep, its trials, and the metric that compares them."""

    sweep: Sweep
    trials: Sequence[Trial]
    metric: str

    def better(self, value: float) -> float:
        """Return ``value`` with the sign that makes the better of two values the larger."""
        return value if self.sweep.goal == "max" else -value

    def best(self, trial: Trial) -> tuple[int, float] | None:
        """Return steps and metric of the best checkpoint of ``trial``; None without any.

        For a metric of evaluation.csv, this is the checkpoint whose policy ``best/`` has: that of the highest
        held-out reward. For a column of progress.csv, it is the best row.
        """
        curve = trial.curve(self.metric)
        if not self.metric.startswith(HELD_OUT):
            return max(curve, key=lambda row: self.better(row[1]), default=None)
        rewards = dict(trial.curve(f"{HELD_OUT}reward"))
        evaluated = [row for row in curve if row[0] in rewards]
        return max(evaluated, key=lambda row: rewards[row[0]], default=None)


def plan(sweep: Sweep, out: Path, source: str) -> Plan:
    """Return the plan of ``sweep``, whose trials' folders are in ``out``."""
    presets = {agent: preset(sweep, agent, source) for agent in sweep.agents or [sweep.agent or ""]}
    trials = []
    for number, assigned in enumerate(sweep.assignments()):
        agent_preset = presets[assigned.get(AGENT, sweep.agent)]
        settings = trial_settings(sweep, agent_preset, assigned, f"{source}: trial {number}")
        if settings.steps is None:
            raise InputError(f"{source}: settings: steps: trials are compared by steps: give them")
        trials.append(Trial(number, assigned, settings, out / "trials" / f"{number:04d}"))
    return Plan(sweep, trials, _metric(sweep, [trial.settings for trial in trials], source))


def trial_settings(
    sweep: Sweep, agent_preset: Mapping[str, Any], assigned: Mapping[str, Any], source: str
) -> TrainSettings:
    """Return the settings of a trial from those of its agent and the searched ones."""
    data = copy.deepcopy(dict(agent_preset))
    agent = data["agent"]
    values = {**sweep.settings, **sweep.agents.get(agent, {}), **assigned}
    if values.get(AGENT, agent) != agent:
        raise InputError(f"{source}: settings: agent: is {values[AGENT]!r}, but the sweep trains {agent!r}")
    # Whole mappings first: `scenarios` must not undo `scenarios.flows`.
    for key in sorted(values, key=lambda key: key.count(".")):
        assign(data, key, copy.deepcopy(values[key]), source)
    if "steps" in values:
        data["minutes"] = None
    settings = build(registry.get(agent).settings, source, data)
    require_known_task(settings, source)
    return settings


def preset(sweep: Sweep, agent: str, source: str) -> dict[str, Any]:
    """Return the settings of all trials of ``agent`` without the sweep's own."""
    scheme = registry.get(agent)
    if not scheme.trainers:
        raise InputError(f"{source}: agent: {scheme.summary}")
    file = Path(sweep.config) if sweep.config else CONFIGS / f"{agent}.yaml"
    data = read_config(file) if sweep.config or file.exists() else {}
    if data.setdefault("agent", agent) != agent:
        raise InputError(f"{source}: config: {file} is for {data['agent']!r}, not {agent!r}")
    return data | {"group": sweep.name, "track": "none"}


def _metric(sweep: Sweep, settings: Sequence[TrainSettings], source: str) -> str:
    """Return the metric of ``sweep``, by default one that compares the trials.

    Raises:
        InputError: the metric depends on a reward or scenarios in which the trials differ, or needs
            evaluations.
    """
    rewards = list(dict.fromkeys(each.reward for each in settings))
    metric = sweep.metric or HELD_OUT + ("power" if len(rewards) > 1 else "reward")
    comparable = [HELD_OUT + name for name in METRICS]
    if len(rewards) > 1 and metric not in comparable:
        raise InputError(
            f"{source}: metric: {metric}: trials learn from different rewards ({rewards[0]} and "
            f"{rewards[1]}), which it does not compare: use {' or '.join(comparable)}"
        )
    held_out = metric.startswith(HELD_OUT)
    if held_out and metric not in (evaluated := [f"{HELD_OUT}reward", *comparable]):
        raise InputError(f"{source}: metric: {metric}: unknown {suggest_names(metric, evaluated)}")
    judged = {(each.for_held_out() if held_out else each).scenarios.model_dump_json() for each in settings}
    if len(judged) > 1:
        raise InputError(
            f"{source}: metric: {metric}: trials have different scenarios, which it does not compare: give "
            f"them the same settings: held_out_scenarios, and use a metric {HELD_OUT}…"
        )
    if held_out and not all(each.held_out_episodes for each in settings):
        raise InputError(f"{source}: metric: {metric} needs settings: held_out_episodes above 0")
    return metric
