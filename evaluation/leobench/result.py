"""The result of an entry: one JSON file per entry, version and split, checked against a schema."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from leogym.common import digests, json_text
from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError, one_line
from leogym.common.strict import Probability, Range, Strict
from leogym.evaluation.leobench.version import Part, Tier
from leogym.results import intervals

FORMAT = "leobench-result"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Estimate(Strict):
    """A value with its 95 % bootstrap interval over runs; without one if there are too few runs."""

    value: Annotated[float, Range()]
    low: Annotated[float, Range()] | None
    high: Annotated[float, Range()] | None
    runs: Annotated[int, Range(ge=1)]

    @model_validator(mode="after")
    def _ordered(self) -> Estimate:
        if (self.low is None) != (self.high is None):
            raise ValueError("low and high: give both or neither")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError("low: must be at most high")
        return self

    @classmethod
    def of(cls, interval: intervals.Interval) -> Estimate:
        """Convert an interval; NaN bounds are none."""
        has_bounds = math.isfinite(interval.low) and math.isfinite(interval.high)
        low, high = (interval.low, interval.high) if has_bounds else (None, None)
        return cls(value=interval.mean, low=low, high=high, runs=interval.n)


class Entry(Strict):
    """What was judged."""

    name: Annotated[str, Field(pattern=r"^[\w.+-]+$")]
    kind: Literal["scheme", "policy", "class", "library"]
    sha256: Sha256 | None
    """Of the policy's or the program's files; a classic scheme is part of the simulator."""
    about: str


class Judged(Strict):
    """The version and the split that the entry was judged on."""

    version: str
    status: Literal["draft", "frozen"]
    """Results of a draft are not comparable with those of another day."""
    files_sha256: Sha256
    """Of the version's files."""
    split: Literal["dev", "judge"]
    tier: Tier = "simulator"
    """What ran it: the simulator runs all of the split, the others a fixed part of "dev"."""
    kernel: str | None = None
    """The Linux whose TCP ran, on a tier beside the simulator."""
    seed: Annotated[int, Range(ge=0)]
    """The judging's seed, as given; for "dev", the version's."""
    traces: dict[str, Sha256]

    @model_validator(mode="after")
    def _named(self) -> Judged:
        if (self.tier == "simulator") != (self.kernel is None):
            raise ValueError("kernel: is named on every tier but the simulator")
        return self


class JudgedRun(Strict):
    """A run and its value in each part that its suite measures."""

    suite: str
    scenario: str
    repeat: Annotated[int, Range(ge=0)]
    values: dict[Part, Probability]
    simulated: dict[Part, Probability] | None = None
    """Beside a run of a real kernel: the values of the same run in the simulator."""
    failed: str | None = None
    """How the entry failed in this run, in one line; all its values are then 0."""


class Circumstances(Strict):
    """What may differ between two judgings of the same entry, version, split and seed."""

    date: str
    seconds: Annotated[float, Range(ge=0)]
    command: str
    commit: str | None
    core_sha256: Sha256
    """Of the simulator's binary, which compilers change without changing its results."""
    leogym_sha256: Sha256 | None = None
    """Of leogym's files that determine results (`common.build.files`); earlier files have none."""
    tier_version: str | None = None
    """Of the lab: the hash of its image, QEMU and what reads its logs."""
    versions: dict[str, str]
    platform: str
    processor: str
    cores: Annotated[int, Range(ge=1)]
    sha256: Sha256 | None = None
    """Of the file itself (`common.digests.seal`); earlier files have none."""


class Simulated(Strict):
    """What the simulator says of the runs that a real kernel ran, each with the same seed and phase."""

    score: Estimate
    parts: dict[Part, Estimate]


class Result(Strict):
    """An entry's result."""

    format: Literal["leobench-result"] = FORMAT
    format_version: Literal[1] = 1
    entry: Entry
    judged: Judged
    score: Estimate
    parts: dict[Part, Estimate]
    suites: dict[str, dict[Part, Probability]]
    simulated: Simulated | None = None
    runs: list[JudgedRun]
    circumstances: Circumstances

    @property
    def file_name(self) -> str:
        """The name of its file: version, split, tier and entry."""
        return file_name(self.judged, self.entry.name)

    @property
    def failures(self) -> int:
        """The number of runs in which the entry failed."""
        return sum(run.failed is not None for run in self.runs)

    def strata(self, part: Part) -> dict[str, list[float]]:
        """Return the runs' values of a part by suite."""
        values_by_suite: dict[str, list[float]] = {}
        for run in self.runs:
            if part in run.values:
                values_by_suite.setdefault(run.suite, []).append(run.values[part])
        return values_by_suite


def file_name(judged: Judged, entry: str) -> str:
    """Return the name of a result's file."""
    split = judged.split if judged.split == "dev" else f"judge-{judged.seed}"
    tier = "" if judged.tier == "simulator" else f"--{judged.tier}"
    return f"{judged.version}--{split}{tier}--{entry}.json"


def encode(result: Result) -> bytes:
    """Return the file's bytes; two judgings of one seed differ only in ``circumstances``."""
    sealed = result.circumstances.model_copy(update={"sha256": digests.UNSEALED})
    data = result.model_copy(update={"circumstances": sealed}).model_dump(mode="json")
    return digests.seal((json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode())


def read(path: Path) -> Result:
    """Return the result in a file; an `InputError` names file, field and rule."""
    try:
        result = Result.model_validate(json_text.read(path))
    except ValidationError as error:
        raise InputError(one_line(str(path), error)) from None
    digest = result.circumstances.sha256
    if digest is not None and not digests.is_intact(path.read_bytes(), digest):
        again = leogym_command("leobench", "judge", result.entry.name, "--out", path.parent)
        raise InputError(f"{path}: changed since it was written: delete it, and judge again: {again}")
    circumstances = result.circumstances.model_copy(update={"sha256": None})
    return result.model_copy(update={"circumstances": circumstances})


def read_all(folder: Path) -> list[Result]:
    """Return all results in a folder, best first."""
    results = [read(path) for path in sorted(folder.glob("*.json"))]
    return sorted(results, key=lambda result: (-result.score.value, result.entry.name))
