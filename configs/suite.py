"""The suite: a scenario template, the values to run it with, and the metrics that answer its question."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from leogym.common import text_file, yaml_text
from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError, one_line
from leogym.common.nearest import suggest_names
from leogym.common.strict import NonNegative, Positive, Range, Strict
from leogym.configs import arithmetic, file_paths, scenario
from leogym.configs.scenario import Scenario

FOLDER = Path(__file__).parent / "suites"
LISTED_BY = leogym_command("evaluate", "--list")
"""The command that lists all suites, scenarios, schemes and backends."""

MOST_CASES = 100_000
"""Combinations of a suite's grid and spread."""
MOST_REPEATS = 10_000

Repeats = Annotated[int, Range(ge=1, le=MOST_REPEATS)]
Value = bool | int | float | str
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)] | Annotated[str, Field(pattern=r"^\$\w+$")]
Metric = Literal[
    "goodput_mbps",
    "normalized_goodput",
    "delay_inflation",
    "power",
    "rtt_mean_ms",
    "rtt_p95_ms",
    "base_rtt_mean_ms",
    "loss_rate",
    "retransmit_rate",
    "utilization",
    "goodput_ratio",
    "jain",
    "shared_delay_inflation",
    "completion_s",
    "share",
    "qoe",
    "startup_s",
    "rebuffer_s",
    "bitrate_mbps",
    "switches",
    "page_load_s",
    "freeze_s",
    "delay_p50_ms",
    "delay_p95_ms",
    "delay_p99_ms",
]
Figure = Literal[
    "tradeoff",
    "timeline",
    "sharing",
    "fairness",
    "efficiency",
    "curve",
    "windows",
    "boxes",
    "completion",
    "distribution",
    "cdf",
]

_PLACEHOLDER = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class Quick(Strict):
    """Changes for ``--quick``: fewer repeats and shorter runs."""

    repeats: Repeats | None = None
    """Repeats instead of the suite's."""
    parameters: dict[str, Value] = Field(default={})
    """Values instead of some of ``parameters``."""
    fairness_last_s: Seconds | None = None
    """Seconds instead of the suite's."""


class Spot(Strict):
    """Changes for ``--spot``: a sample of the suite that the lab's kernel runs in minutes."""

    schemes: Annotated[list[str], Field(min_length=1)] | None = None
    """Schemes that the lab's kernel has; default: the suite's."""
    parameters: dict[str, Value] = Field(default={})
    """Values instead of some of ``parameters``."""
    grid: dict[str, Value] = Field(default={})
    """A value for each key of ``grid``."""
    spread: Annotated[int, Range(ge=0, lt=MOST_CASES)] = 0
    """Index of a set of ``spread``."""
    fairness_last_s: Seconds | None = None
    """Seconds instead of the suite's."""


class Compare(Strict):
    """Comparison of flows over the time in which all of them run."""

    ratio_of: Annotated[int, Range(ge=0, lt=scenario.MOST_FLOWS)] | None = None
    """Index of the flow to compare with the others' highest goodput; default: lowest with highest."""
    apart: bool = False
    """Whether to group flows by shared links: goodput ratio and Jain's index are then means over the groups,
    and utilization is that of all groups' bottlenecks together."""
    every_s: Positive | None = None
    """Count only the first ``first_s`` of each such period since the run's start; default: all."""
    first_s: NonNegative = 0.0
    """Counted seconds of each period of ``every_s``."""

    @model_validator(mode="after")
    def _parts(self) -> Compare:
        if self.ratio_of is not None and self.apart:
            raise ValueError("give one of ratio_of and apart")
        if self.every_s is not None and not 0 < self.first_s <= self.every_s:
            raise ValueError("first_s: must be above 0 and at most every_s")
        return self


@dataclass(frozen=True)
class Case:
    """One combination of the grid's values."""

    scenario: Scenario
    values: dict[str, Value]
    fairness_last_s: float | None


class Suite(Strict):
    """A scenario template and its values.

    In ``scenario``, ``$name`` (or ``${name}`` inside a longer text) stands for ``scheme`` or a key of
    ``parameters``, ``grid``, ``spread`` or ``derived``. Each combination of the grid's values becomes one
    scenario, without the flows whose ``count`` is then 0.
    """

    name: Annotated[str, Field(pattern=r"^[^/\s][^/]*$")]
    """The suite's name in tables and file names."""
    title: str
    """Heading in the report."""
    question: str = ""
    """The question that the suite answers, for the report."""
    source: str = ""
    """The publication that the suite follows, for the report."""
    file: str = Field(default="", exclude=True)
    """The suite's file, for error messages; set by `load`."""
    schemes: Annotated[list[str], Field(min_length=1)] = Field(default=["cubic", "reno"])
    """Schemes that take the place of ``$scheme`` in turn; ``--schemes`` replaces them."""
    only: dict[str, dict[str, Annotated[list[Value], Field(min_length=1)]]] = Field(default={})
    """Restricts some of ``schemes`` to cases where keys of ``grid`` and ``spread`` have one of these values.
    A scheme that ``--schemes`` names runs everywhere."""
    repeats: Repeats = 5
    """Runs of each scenario and scheme, each with its own seed."""
    parameters: dict[str, Value] = Field(default={})
    """Values by name, the same in all scenarios. ``quick`` and ``spot`` may replace them."""
    grid: dict[str, Annotated[list[Value], Field(min_length=1)]] = Field(default={})
    """Lists of values by name; each combination is a scenario."""
    spread: list[dict[str, Value]] = Field(default=[])
    """Sets of values with the same keys; each set is combined with all of the grid's values."""
    derived: dict[str, str] = Field(default={})
    """Arithmetic over the names above: ``duration_s: 2 * rtt_ms``."""
    scenario: dict[str, Any]
    """The template: a [scenario](scenario.md) with placeholders."""
    vary_offset: bool = True
    """Whether repeats start at different times of their path traces."""
    in_turn: bool = False
    """Whether each repeat starts where the one before ended in the path traces; default: at random."""
    first_as_written: bool = False
    """Whether the first repeat keeps the template's seed and offset."""
    fairness_last_s: Seconds | None = None
    """Goodput ratio and Jain's index count only the last seconds in which all flows run; default: all."""
    compare: Compare = Compare()
    """Which flows are compared, and when."""
    headline: Annotated[list[Metric], Field(min_length=1)] = Field(
        default=["normalized_goodput", "delay_inflation", "power"]
    )
    """Metrics in the report's table, most important first."""
    figures: list[Figure] = Field(default=["tradeoff", "timeline"])
    """Figures of the report, in order."""
    x: str | None = None
    """The key of ``grid`` on the x axis of the figure ``curve``."""
    references: dict[str, float] = Field(default={})
    """Theoretical values of the first headline metric, drawn as lines in the figure ``curve``."""
    quick: Quick = Quick()
    """Changes for ``--quick``."""
    spot: Spot | None = None
    """Changes for ``--spot``; without it the suite has no spot check."""

    @model_validator(mode="after")
    def _names(self) -> Suite:
        if (cases := math.prod(map(len, self.grid.values())) * max(1, len(self.spread))) > MOST_CASES:
            raise ValueError(f"grid: has {cases:,} combinations with spread, at most {MOST_CASES:,} may be")
        places = {"scheme": "the scheme under test"}
        for field in ("parameters", "grid"):
            for name in getattr(self, field):
                if name in places:
                    raise ValueError(f"{field}.{name}: is already {places[name]}")
                places[name] = f"in {field}"
        for index, case in enumerate(self.spread):
            if case.keys() != self.spread[0].keys():
                raise ValueError(f"spread.{index}: must have the keys of the first")
            for name in case if index == 0 else ():
                if name in places:
                    raise ValueError(f"spread.{index}.{name}: is already {places[name]}")
                places[name] = "in spread"
        for name, expression in self.derived.items():
            if name in places:
                raise ValueError(f"derived.{name}: is already {places[name]}")
            try:
                unknown = sorted(arithmetic.names(expression) - set(places))
            except ValueError as error:
                raise ValueError(f"derived.{name}: {error}") from None
            if unknown:
                raise ValueError(
                    f"derived.{name}: {unknown[0]} must be in parameters, grid, spread or earlier in derived"
                )
            places[name] = "in derived"
        variants = {"": self, "quick.": self.quick, "spot.": self.spot}
        for field, variant in variants.items():
            seconds = variant.fairness_last_s if variant else None
            if isinstance(seconds, str) and seconds[1:] not in places:
                raise ValueError(f"{field}fairness_last_s: {seconds} is not in parameters, grid or derived")
        if self.x is not None and self.x not in self.grid:
            raise ValueError(f"x: {self.x} is not in grid")
        if "curve" in self.figures and self.x is None:
            raise ValueError("figures: curve needs x, a key of grid")
        if self.in_turn and not self.vary_offset:
            raise ValueError("in_turn: needs vary_offset: repeats must start at different times")
        for field, shorter in (("quick", self.quick), ("spot", self.spot)):
            for name in shorter.parameters if shorter else ():
                if name not in self.parameters:
                    raise ValueError(f"{field}.parameters.{name}: is not in parameters")
        if self.spot is not None:
            if self.spot.grid.keys() != self.grid.keys():
                raise ValueError("spot.grid: must have the keys of grid")
            if self.spot.spread >= max(1, len(self.spread)):
                raise ValueError(f"spot.spread: there are only {len(self.spread)} cases")
        for name in sorted(placeholders(self.scenario)):
            if name not in places:
                raise ValueError(
                    f"scenario: ${name} is neither scheme nor in parameters, grid, spread or derived"
                )
        return self

    @model_validator(mode="after")
    def _only(self) -> Suite:
        values = dict(self.grid)
        for name in self.spread[0] if self.spread else ():
            values[name] = [case[name] for case in self.spread]
        for scheme, places in self.only.items():
            if scheme not in self.schemes:
                raise ValueError(f"only.{scheme}: is not in schemes")
            for name, wanted in places.items():
                if name not in values:
                    raise ValueError(f"only.{scheme}.{name}: is neither in grid nor in spread")
                if unknown := [value for value in wanted if value not in values[name]]:
                    raise ValueError(f"only.{scheme}.{name}: {unknown[0]} is not one of its values")
        return self

    def has(self, scheme: str | None, values: dict[str, Value]) -> bool:
        """Return whether the suite, without ``--schemes``, runs a scheme at these values."""
        places = self.only.get(scheme or "", {})
        return all(values[name] in wanted for name, wanted in places.items())

    @property
    def tests_schemes(self) -> bool:
        """Whether the template uses ``$scheme``; otherwise its flows name their schemes."""
        return "scheme" in placeholders(self.scenario)

    def as_quick(self) -> Suite:
        """Return the suite that ``--quick`` runs."""
        return self.model_copy(
            update={
                "repeats": self.quick.repeats or self.repeats,
                "parameters": {**self.parameters, **self.quick.parameters},
                "fairness_last_s": self.quick.fairness_last_s or self.fairness_last_s,
            }
        )

    def as_spot(self) -> Suite:
        """Return the suite that ``--spot`` runs; raise an `InputError` if it has no ``spot``."""
        if self.spot is None:
            raise InputError(f"{self.file or self.name}: --spot: the suite has no spot check")
        return self.model_copy(
            update={
                "spot": None,
                "schemes": self.spot.schemes or self.schemes,
                "only": {},  # the one scenario that is left is meant for all of these schemes
                "repeats": 1,
                "parameters": {**self.parameters, **self.spot.parameters},
                "grid": {name: [value] for name, value in self.spot.grid.items()},
                "spread": self.spread[self.spot.spread :][:1],
                "fairness_last_s": self.spot.fairness_last_s or self.fairness_last_s,
            }
        )

    def cases(self, scheme: str) -> Iterator[Case]:
        """Yield a case per combination of spread and grid values; an `InputError` names an invalid one."""
        combinations = list(itertools.product(*self.grid.values()))
        for together, combination in itertools.product(self.spread or [{}], combinations):
            values = {**self.parameters, **together, **dict(zip(self.grid, combination, strict=True))}
            for name, expression in self.derived.items():
                try:
                    values[name] = arithmetic.evaluate(expression, values)
                except ValueError as error:
                    raise InputError(f"{self.name}: derived.{name}: {error}") from None
            last_s = substitute(self.fairness_last_s, values)
            if last_s is not None and not (isinstance(last_s, int | float) and last_s > 0.0):
                raise InputError(f"{self.name}: fairness_last_s: must be above 0, not {last_s!r}")
            data = substitute(self.scenario, {**values, "scheme": scheme})
            data.setdefault("name", self.name)
            if isinstance(data.get("flows"), list):
                data["flows"] = [flow for flow in data["flows"] if not _is_none(flow)]
            parsed = scenario.parse(data, f"{self.name}: scenario")
            self._check_compare(parsed)
            yield Case(parsed, values, last_s)

    def _check_compare(self, parsed: Scenario) -> None:
        """Reject a comparison of single flows if an entry of ``flows`` stands for several."""
        if self.compare.ratio_of is None and not self.compare.apart:
            return
        if any(flow.count != 1 or flow.arrivals or flow.transfer_bytes for flow in parsed.flows):
            raise InputError(f"{self.name}: compare: needs flows without count, arrivals and transfer_bytes")
        if self.compare.ratio_of is not None and self.compare.ratio_of >= len(parsed.flows):
            raise InputError(f"{self.name}: compare.ratio_of: there are only {len(parsed.flows)} flows")


def _is_none(flow: Any) -> bool:
    return isinstance(flow, dict) and flow.get("count") == 0


def placeholders(node: Any) -> set[str]:
    """Return the names of all placeholders in a template."""
    if isinstance(node, str):
        return {braced or bare for braced, bare in _PLACEHOLDER.findall(node)}
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return set().union(*map(placeholders, children))


def substitute(node: Any, values: dict[str, Value]) -> Any:
    """Return a copy of a template with placeholders replaced; a lone placeholder keeps its value's type."""
    if isinstance(node, dict):
        return {key: substitute(child, values) for key, child in node.items()}
    if isinstance(node, list):
        return [substitute(child, values) for child in node]
    if not isinstance(node, str):
        return node
    whole = _PLACEHOLDER.fullmatch(node)
    if whole:
        return values[whole[1] or whole[2]]
    return _PLACEHOLDER.sub(lambda match: str(values[match[1] or match[2]]), node)


def shipped() -> list[str]:
    """Return the names of the suites in ``configs/suites``."""
    return list(_shipped())


@functools.cache
def _shipped() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


@functools.cache
def _load_shipped(name: str) -> Suite:
    file = f"configs/suites/{name}.yaml"
    return parse(yaml_text.read(FOLDER / f"{name}.yaml"), file).model_copy(update={"file": file})


def parse(data: Any, source: str) -> Suite:
    """Return the suite in ``data``; an `InputError` names ``source``, field and rule."""
    try:
        return Suite.model_validate(data)
    except ValidationError as error:
        raise InputError(one_line(source, error)) from None


def is_file(text: str) -> bool:
    """Return whether ``text`` stands for a file: it ends like one, or is the path of one."""
    return text.endswith((".yaml", ".yml", ".json")) or (text not in shipped() and text_file.is_file(text))


def load(name: str) -> Suite:
    """Return the shipped suite ``name``, or the suite in the YAML file ``name``.

    A file holds a suite (it has the key ``scenario``) or a scenario. A scenario becomes a suite of one, whose
    first repeat runs with the file's seed and offset. The scheme under test replaces ``$scheme`` and the
    scheme of learning flows (``agent``).
    """
    if not is_file(name):
        if name not in shipped():
            raise InputError(f"{name}: no suite has this name {suggest_names(name, shipped(), LISTED_BY)}")
        return _load_shipped(name).model_copy(deep=True)
    data = file_paths.read(Path(name))
    if not isinstance(data, dict):
        raise InputError(f"{name}: (whole file): must be a mapping of a scenario's or a suite's fields")
    if "scenario" in data:
        return parse(data, name).model_copy(update={"file": name})
    stem = Path(name).stem
    flows = data.get("flows")
    if isinstance(flows, list):
        flows = [_under_test(flow) for flow in flows]
        data = {**data, "flows": flows}
    several = isinstance(flows, list) and len(flows) > 1
    wrapped = parse(
        {
            "name": stem,
            "title": str(data.get("name", stem)),
            "source": name,
            "file": name,
            "scenario": data,
            "vary_offset": not _has_offset(data),
            "first_as_written": True,
            "headline": [
                "normalized_goodput",
                "delay_inflation",
                "power",
                "goodput_mbps",
                "rtt_p95_ms",
                "retransmit_rate",
                *(["jain"] if several else []),
            ],
            "figures": ["sharing", "fairness"] if several else ["tradeoff", "timeline"],
        },
        name,
    )
    # Check now, to report an error under the file's name instead of the suite's.
    scenario.parse(substitute(data, {"scheme": "cubic"}), name)
    return wrapped


def _under_test(flow: Any) -> Any:
    learns = isinstance(flow, dict) and flow.get("scheme") == scenario.LEARNER
    return {**flow, "scheme": "$scheme"} if learns else flow


def _has_offset(data: dict[str, Any]) -> bool:
    links = data.get("links")
    return isinstance(links, dict) and any(
        isinstance(link, dict) and "offset_s" in link for link in links.values()
    )
