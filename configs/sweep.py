"""A sweep over training settings: search space, metric and early stopping."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError, model_validator

from leogym.common.errors import InputError, one_line
from leogym.common.strict import Range, Strict
from leogym.configs import file_paths

AGENT = "agent"
MOST_TRIALS = 10_000
"""Trials of a sweep."""
Count = Annotated[int, Range(ge=1, lt=2**53)]
Integer = Annotated[int, Range(gt=-(2**53), lt=2**53)]
Number = Annotated[float, Field(strict=False, allow_inf_nan=False)]
Pair = Annotated[list[Number], Field(min_length=2, max_length=2)]


class Search(Strict):
    """The values of one setting; give exactly one field."""

    uniform: Pair | None = None
    """``[low, high]``: a number between them."""
    log_uniform: Pair | None = None
    """``[low, high]`` above 0: a number whose logarithm is uniform."""
    integer: Annotated[list[Integer], Field(min_length=2, max_length=2)] | None = None
    """``[low, high]``: an integer, both ends included."""
    choice: Annotated[list[Any], Field(min_length=1)] | None = None
    """A value of the list."""
    grid: Annotated[list[Any], Field(min_length=1)] | None = None
    """Try each of these with every draw and every value of other grids, for example seeds."""

    @model_validator(mode="after")
    def _one(self) -> Search:
        names = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(names) != 1:
            raise ValueError("give one of uniform, log_uniform, integer, choice and grid")
        low_high = self.uniform or self.log_uniform or self.integer
        if low_high and not 0 <= low_high[1] - low_high[0] < math.inf:
            raise ValueError(f"{names[0]} is [low, high] with low <= high, and a finite difference")
        if self.log_uniform and self.log_uniform[0] <= 0:
            raise ValueError("log_uniform must be above 0")
        return self

    @property
    def is_range(self) -> bool:
        """Whether the values are a range of numbers."""
        return (self.uniform or self.log_uniform or self.integer) is not None

    @property
    def bounds(self) -> tuple[float, float]:
        """The ends of a range."""
        low_high = self.uniform or self.log_uniform or self.integer
        assert low_high is not None
        return low_high[0], low_high[1]

    def draw(self, rng: np.random.Generator) -> Any:
        """Draw a value. Not for a grid."""
        if self.uniform:
            return float(rng.uniform(self.uniform[0], self.uniform[1]))
        if self.log_uniform:
            return float(np.exp(rng.uniform(*np.log(self.log_uniform))))
        if self.integer:
            return int(rng.integers(self.integer[0], self.integer[1] + 1))
        assert self.choice is not None
        return self.choice[int(rng.integers(len(self.choice)))]


class EarlyStopping(Strict):
    """Asynchronous successive halving (ASHA; Li et al., MLSys 2020)."""

    grace_steps: Count
    """Steps that every trial runs."""
    reduction: Annotated[int, Range(ge=2)] = 3
    """One in this many trials continues past each rung; the next rung is this many times further."""


class Population(Strict):
    """Population-based training (Jaderberg et al., 2017).

    After each generation, the worst trials continue from checkpoints of the best, with their settings
    perturbed.
    """

    generation_steps: Count
    """Steps of each trial between two comparisons."""
    share: Annotated[float, Range(gt=0, le=0.5)] = 0.25
    """Share of the trials that are replaced, and of those that replace them; at least one."""
    factors: Pair = Field(default=[0.8, 1.25])
    """A perturbed number is multiplied by one of these, within its range."""


class Sweep(Strict):
    """A file of ``configs/sweeps``."""

    name: str
    """The sweep's name; its trials are a group with this name in trackers."""
    agent: str | None = None
    """The agent to train."""
    agents: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Instead of ``agent``: the agents to compare, each with overrides of its own. They are tried like a
    grid."""
    config: str | None = None
    """Settings of all trials; default: configs/agents/AGENT.yaml."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Overrides for all trials; ``scenarios.duration_s`` names a nested key."""
    search: dict[str, Search] = Field(default_factory=dict)
    """The settings to search, by name; dots lead into mappings. Required with ``agent``."""
    trials: Count = 1
    """Number of draws; each is tried with every combination of the grids."""
    metric: str | None = None
    """``held_out_`` and a column of evaluation.csv, or a column of progress.csv; default:
    ``held_out_reward``, or ``held_out_power`` if the trials learn from different rewards."""
    goal: Literal["max", "min"] = "max"
    """Whether the best trial has the largest or the smallest metric."""
    early_stopping: EarlyStopping | None = None
    """Stops trials that fall behind; default: none is stopped."""
    population: Population | None = None
    """Trains the trials as a population, whose ranges of numbers change on the way; default: all keep
    their settings."""
    concurrent: Count | None = None
    """Trials to run at a time; default: as many as the processors allow."""
    failures: Annotated[int, Range(ge=0, le=1000)] = 3
    """Maximum number of resumes of a trial whose process died."""
    seed: Annotated[int, Range(ge=0, lt=2**32)] = 1
    """Seed of the draws."""

    @model_validator(mode="after")
    def _some_agents(self) -> Sweep:
        if (self.agent is None) == (not self.agents):
            raise ValueError("give one of agent and agents")
        if self.agents and self.config is not None:
            raise ValueError("config: is for one agent: give each of agents its own settings")
        if self.agent is not None and not self.search:
            raise ValueError("search: give at least one setting")
        if AGENT in self.search:
            raise ValueError("search.agent: list agents instead")
        return self

    @model_validator(mode="after")
    def _one_population(self) -> Sweep:
        if self.population is not None and self.early_stopping is not None:
            raise ValueError("give population or early_stopping, not both")
        if self.population is not None and self.agents:
            raise ValueError("population: a checkpoint continues with the same agent only: give agent")
        return self

    @model_validator(mode="after")
    def _few_trials(self) -> Sweep:
        grids = [len(search.grid) for search in self.search.values() if search.grid is not None]
        if (trials := math.prod([len(self.agents) or 1, *grids]) * self.trials) > MOST_TRIALS:
            raise ValueError(f"trials: {trials:,} with all grids, at most {MOST_TRIALS:,} may be")
        return self

    def assignments(self) -> list[dict[str, Any]]:
        """Return each trial's settings, in order; deterministic. ``agents`` adds ``agent`` to them."""
        grids = {name: search.grid for name, search in self.search.items() if search.grid is not None}
        if self.agents:
            grids = {AGENT: list(self.agents), **grids}
        assignments = []
        for draw in range(self.trials):
            rng = np.random.default_rng([self.seed, draw])
            drawn = {name: search.draw(rng) for name, search in self.search.items() if search.grid is None}
            for values in itertools.product(*grids.values()):
                combined = {**drawn, **dict(zip(grids, values, strict=True))}
                names = [AGENT] * bool(self.agents) + list(self.search)
                assignments.append({name: combined[name] for name in names})
        return assignments


def read(path: Path) -> Sweep:
    """Return the sweep in a YAML file; an `InputError` names file, field and rule."""
    try:
        return Sweep.model_validate(file_paths.read(path))
    except ValidationError as error:
        raise InputError(one_line(str(path), error)) from None
