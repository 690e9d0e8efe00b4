"""Population-based training (Jaderberg et al., 2017), generation by generation.

All members train for the same steps. Then the worst continue from the checkpoints of the best, with settings
perturbed. Every choice follows from the members' files and the sweep's seed, so a sweep that was killed and
resumed makes the same choices, and has the same bytes where its engine resumes exactly.
"""

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from leogym.agents.sweeps.plan import Plan, Trial, preset, trial_settings
from leogym.agents.sweeps.progress import SweepProgress
from leogym.agents.sweeps.report import as_text, write_table
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.stopping import Stop
from leogym.common.errors import InputError
from leogym.configs.sweep import Population, Search, Sweep

PERTURBED = (
    "learning_rate",
    "actor_learning_rate",
    "critic_learning_rate",
    "gamma",
    "gae_lambda",
    "clip_range",
    "entropy_coefficient",
    "max_gradient_norm",
    "epochs",
    "minibatch_size",
    "batch_size",
    "tau",
    "reward_scale",
)
"""Settings that may change between checkpoints, besides the weights of a reward. Others give networks, memory
or simulations their shape."""
TABLE = "population.csv"

Train = Callable[[Plan], Mapping[int, str]]
"""Trains the trials of a plan; returns the errors by trial number."""


def train(
    first: Plan, out: Path, source: str, stop: Stop, carry_out: Train
) -> tuple[Plan, Mapping[int, str]]:
    """Train all generations with ``carry_out``; return the latest one and its errors by trial number.

    Args:
        first: the members as drawn, with the steps of the whole training.
        out: the sweep's folder.
        source: the sweep's file, for errors.
        stop: the request to stop; no generation begins after it.
        carry_out: trains one generation.
    """
    population = require(first.sweep, source)
    lengths = _lengths(first, population)
    generation, sources = (
        _members(first, out, 0, lengths[0], [trial.assigned for trial in first.trials]),
        None,
    )
    rows: list[dict[str, Any]] = []
    for number in range(len(lengths)):
        with SweepProgress(generation, f"generation {number + 1} of {len(lengths)}:"):
            unfinished = any(trial.status() == "unfinished" for trial in generation.trials)
            errors = carry_out(generation) if unfinished else {}
        if errors or stop.asked:
            return generation, errors
        rows += _rows(generation, number, sources)
        write_table(out / TABLE, rows)
        if number + 1 < len(lengths):
            assigned, sources = successors(generation, population, number)
            following = _members(first, out, number + 1, lengths[number + 1], assigned)
            for trial, parent in zip(following.trials, sources, strict=True):
                _branch(generation.trials[parent], trial)
            for trial in generation.trials:  # all successors have their copies
                shutil.rmtree(trial.folder / "checkpoints", ignore_errors=True)
            generation = following
    return generation, {}


def require(sweep: Sweep, source: str) -> Population:
    """Return the population of ``sweep``; raise an `InputError` if nothing of it can be perturbed."""
    population, members = sweep.population, len(sweep.assignments())
    assert population is not None
    if members < 2:
        raise InputError(f"{source}: trials: a population has at least two members")
    if not any(search.is_range and may_change(name) for name, search in sweep.search.items()):
        names = ", ".join(PERTURBED)
        raise InputError(
            f"{source}: search: a population perturbs a range of {names} or reward.TERM: give one"
        )
    return population


def may_change(name: str) -> bool:
    """Return whether the setting ``name`` may change between checkpoints."""
    return name in PERTURBED or name.startswith("reward.")


def successors(
    generation: Plan, population: Population, number: int
) -> tuple[list[dict[str, Any]], list[int]]:
    """Return each member's settings after generation ``number``, and the member that it continues from."""
    trials = generation.trials
    values = {trial.number: _value(generation, trial) for trial in trials}
    ranked = sorted(trials, key=lambda trial: (-values[trial.number], trial.number))
    count = max(1, int(len(trials) * population.share))
    best, worst = ranked[:count], {trial.number for trial in ranked[-count:]}
    assigned, sources = [], []
    for trial in trials:
        rng = np.random.default_rng([generation.sweep.seed, 1, number, trial.number])
        parent = best[int(rng.integers(count))] if trial.number in worst else trial
        sources.append(parent.number)
        changed = parent is not trial
        assigned.append(_perturbed(parent.assigned, generation.sweep, rng) if changed else trial.assigned)
    return assigned, sources


def _value(generation: Plan, trial: Trial) -> float:
    """Return the latest value of the metric, the larger the better; a member without any is the worst."""
    curve = trial.curve(generation.metric)
    return generation.better(curve[-1][1]) if curve else -math.inf


def _perturbed(assigned: Mapping[str, Any], sweep: Sweep, rng: np.random.Generator) -> dict[str, Any]:
    population = sweep.population
    assert population is not None
    changed = dict(assigned)
    for name, search in sweep.search.items():
        if search.is_range and may_change(name):
            changed[name] = _scaled(assigned[name], search, population.factors[int(rng.integers(2))])
    return changed


def _scaled(value: float, search: Search, factor: float) -> float:
    """Return ``value`` times ``factor`` within the range of ``search``."""
    low, high = search.bounds
    scaled = min(max(value * factor, low), high)
    return round(scaled) if search.integer else scaled


def _lengths(first: Plan, population: Population) -> list[int]:
    """Return the steps at the end of each generation."""
    steps = max(trial.settings.steps or 0 for trial in first.trials)
    count = math.ceil(steps / population.generation_steps)
    return [min(steps, (number + 1) * population.generation_steps) for number in range(count)]


def _members(first: Plan, out: Path, number: int, steps: int, assigned: Sequence[Mapping[str, Any]]) -> Plan:
    """Return generation ``number``, which trains up to ``steps``."""
    source = f"generation {number}"
    agent_preset = preset(first.sweep, first.sweep.agent or "", source)
    folder = out.absolute() / "generations" / f"{number:03d}"
    trials = []
    for member, values in enumerate(assigned):
        settings = trial_settings(first.sweep, agent_preset, values, f"{source}: trial {member}")
        settings = settings.model_copy(update={"steps": steps})
        trials.append(Trial(member, dict(values), settings, folder / f"{member:04d}"))
    return replace(first, trials=trials)


def _branch(parent: Trial, trial: Trial) -> None:
    if not trial.folder.exists():
        RunFolder.branch(parent.folder, trial.folder, trial.settings.to_yaml())


def _rows(generation: Plan, number: int, sources: Sequence[int] | None) -> list[dict[str, Any]]:
    """Return the rows of `TABLE` about one generation."""
    rows = []
    for trial in generation.trials:
        curve = trial.curve(generation.metric)
        rows.append(
            {
                "generation": number,
                "trial": trial.number,
                "continues": "" if sources is None else sources[trial.number],
                **{name: as_text(value) for name, value in trial.assigned.items()},
                generation.metric: f"{curve[-1][1]:.6g}" if curve else "",
                "steps": curve[-1][0] if curve else "",
            }
        )
    return rows
