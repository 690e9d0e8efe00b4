"""A version of the benchmark: its suites, seeds, measures and limits, as the files of a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from leogym.common import yaml_text
from leogym.common.errors import InputError, one_line
from leogym.common.nearest import suggest_names
from leogym.common.strict import Positive, Range, Strict
from leogym.configs import arithmetic
from leogym.configs import suite as suites
from leogym.configs.suite import Suite
from leogym.evaluation.entries.process import Limits
from leogym.results.metrics import METRICS

FOLDER = Path(suites.__file__).parent / "leobench"
FROZEN = "frozen.json"
Part = Literal["efficiency", "delay", "fairness", "coexistence", "startup", "robustness"]
PARTS: tuple[Part, ...] = ("efficiency", "delay", "fairness", "coexistence", "startup", "robustness")
Tier = Literal["simulator", "lab", "kernel", "mahimahi"]
TIERS: tuple[Tier, ...] = ("simulator", "lab", "kernel", "mahimahi")
ONE_OR_MORE = Annotated[int, Range(ge=1, le=1_000_000)]


class Judge(Strict):
    """What the paths of a judge split are drawn from."""

    isl: ONE_OR_MORE
    bent_pipe: ONE_OR_MORE
    isl_cities: Annotated[list[str], Field(min_length=2)]
    bent_pipe_cities: Annotated[list[str], Field(min_length=2)]
    isl_constellations: Annotated[list[str], Field(min_length=1)]
    bent_pipe_constellations: Annotated[list[str], Field(min_length=1)]
    years: Positive
    """Epochs lie in so many years from 2000 on."""
    duration_s: Positive
    """Of a path trace."""


class Bounds(Strict):
    """What a program may use, see `evaluation.entries.process.Limits`."""

    memory_mb: ONE_OR_MORE
    answer_s: Positive
    decision_cpu_ms: Positive


class Sample(Strict):
    """Scenarios of a suite that the tiers beside the simulator run, once each and shorter."""

    suite: str
    duration_s: Positive
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default={})
    """Values of the grid's keys that are kept; all of a key that is not here."""
    spread: Annotated[list[int], Field(min_length=1)] | None = None
    """Indices of the cases of ``spread`` that are kept; all by default."""


class Behaviour(Strict):
    """The runs whose results are hashed: the first scenario of each suite, shortened, with these schemes."""

    schemes: Annotated[list[str], Field(min_length=1)]
    duration_s: Positive


class Measured(Strict):
    """A suite, and how a run of it counts in the parts of the score."""

    file: Annotated[str, Field(pattern=r"^[\w-]+\.yaml$")]
    paths: bool = False
    """Whether the version's paths replace the values of the suite's grid key ``path``."""
    measures: Annotated[dict[Part, str], Field(min_length=1)]
    """An expression per part, from 0 to 1, of the run's metrics and of the suite's values."""


class Description(Strict):
    """The file ``version.yaml``."""

    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    title: str
    dev_seed: Annotated[int, Range(ge=0, lt=2**64)]
    paths: Annotated[list[str], Field(min_length=1)]
    judge: Judge
    limits: Bounds
    suites: Annotated[list[Measured], Field(min_length=1)]
    real: Annotated[list[Sample], Field(min_length=1)]
    """The fixed part that the lab's Linux and real TCP run."""
    behaviour: Behaviour

    @model_validator(mode="after")
    def _parts(self) -> Description:
        if missing := [part for part in PARTS if not any(part in suite.measures for suite in self.suites)]:
            raise ValueError(f"suites: none measures {missing[0]}")
        sampled = [part.suite for part in self.real]
        if twice := [name for name in sampled if sampled.count(name) > 1]:
            raise ValueError(f"real: two samples are of {twice[0]}")
        return self


@dataclass(frozen=True)
class Version:
    """A version, read from its folder."""

    folder: Path
    description: Description
    suites: tuple[Suite, ...]
    """In the order of ``description.suites``."""

    @property
    def name(self) -> str:
        """The version's name, such as ``v1``."""
        return self.description.name

    @property
    def status(self) -> Literal["draft", "frozen"]:
        """Whether the version is frozen, so that its results stay comparable."""
        return "frozen" if (self.folder / FROZEN).is_file() else "draft"

    @property
    def limits(self) -> Limits:
        """What a program may use."""
        return Limits(**self.description.limits.model_dump())

    @cached_property
    def files(self) -> dict[str, str]:
        """SHA-256 of each file that defines the version, by name."""
        names = ["version.yaml", *(measured.file for measured in self.description.suites)]
        return {name: hashlib.sha256((self.folder / name).read_bytes()).hexdigest() for name in names}

    @property
    def sha256(self) -> str:
        """The hash of all its files."""
        return hashlib.sha256("".join(self.files.values()).encode()).hexdigest()

    def measures(self, suite: str) -> dict[Part, str]:
        """Return the expressions of the suite ``suite`` by part."""
        pairs = zip(self.suites, self.description.suites, strict=True)
        return next(measured.measures for suite_read, measured in pairs if suite_read.name == suite)


def names() -> list[str]:
    """Return the names of all versions that come with LeoGym."""
    return sorted(path.parent.name for path in FOLDER.glob("*/version.yaml"))


def load(name: str | Path) -> Version:
    """Return the version called ``name``, or the one in the folder ``name``.

    Raises:
        InputError: there is none, or one of its files is invalid.
    """
    folder = name if isinstance(name, Path) else FOLDER / name
    if not (folder / "version.yaml").is_file():
        raise InputError(f"leobench: {name}: no such version {suggest_names(str(name), names())}")
    description = _parsed(folder / "version.yaml")
    suites_read = tuple(suites.load(str(folder / suite.file)) for suite in description.suites)
    for suite, measured in zip(suites_read, description.suites, strict=True):
        _check(suite, measured, folder / "version.yaml")
    if twice := {
        suite.name for suite in suites_read if [each.name for each in suites_read].count(suite.name) > 1
    }:
        raise InputError(f"{folder / 'version.yaml'}: suites: two are called {min(twice)}")
    for index, sample in enumerate(description.real):
        _check_sample(sample, description, suites_read, f"{folder / 'version.yaml'}: real.{index}")
    return Version(folder, description, suites_read)


def values_of(suite: Suite) -> dict[str, dict[str, Any]]:
    """Return the values of each of a suite's scenarios, by the scenario's name."""
    return {case.scenario.name: dict(case.values) for case in suite.cases("cubic")}


def _parsed(path: Path) -> Description:
    try:
        return Description.model_validate(yaml_text.read(path))
    except ValidationError as error:
        raise InputError(one_line(str(path), error)) from None


def _check_sample(sample: Sample, description: Description, suites_read: Sequence[Suite], where: str) -> None:
    index = next((index for index, suite in enumerate(suites_read) if suite.name == sample.suite), None)
    if index is None:
        raise InputError(f"{where}.suite: {sample.suite} is no suite of this version")
    suite = suites_read[index]
    grid = {**suite.grid, **({"path": description.paths} if description.suites[index].paths else {})}
    if "duration_s" not in suite.parameters:
        raise InputError(f"{where}.duration_s: {sample.suite} has no parameter duration_s")
    for key, values in sample.grid.items():
        if not set(values) <= set(grid.get(key, ())):
            raise InputError(f"{where}.grid.{key}: {sample.suite} has not all of these values")
    if any(not 0 <= index < len(suite.spread) for index in sample.spread or ()):
        raise InputError(f"{where}.spread: {sample.suite} has {len(suite.spread)} cases")


def _check(suite: Suite, measured: Measured, path: Path) -> None:
    if measured.paths and "path" not in suite.grid:
        raise InputError(f"{path}: suites: {measured.file}: has no grid key path for the version's paths")
    metric_names = {*METRICS, *next(iter(values_of(suite).values()))}
    for part, expression in measured.measures.items():
        try:
            unknown = sorted(arithmetic.names(expression) - metric_names)
        except ValueError as error:
            raise InputError(f"{path}: suites: {measured.file}: {part}: {error}") from None
        if unknown:
            raise InputError(
                f"{path}: suites: {measured.file}: {part}: {unknown[0]} is neither a metric nor a value"
            )
