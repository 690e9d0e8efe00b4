"""What every training run is told: the settings that all agents and engines share.

An agent adds its own hyperparameters by subclassing `TrainSettings` in its folder. Files in
``configs/agents`` hold only what differs from the defaults here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BeforeValidator, Field, ValidationError, model_validator

import configs
from configs.errors import InputError, one_line
from configs.exponents import with_exponents
from configs.sampling import AstraeaSampling, Sampling
from configs.scenario import load_yaml
from configs.strict import Positive, Strict

Engine = Literal["native", "sb3", "rllib"]
Backend = Literal["simulator", "mahimahi", "kernel", "lab"]
Tracker = Literal["none", "tensorboard", "wandb"]

Count = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

CONFIGS = Path(configs.__file__).parent / "agents"
"""The shipped configurations, one file or several an agent."""

FREE_ON_RESUME = frozenset({"steps", "minutes", "workers", "ray_address", "track", "group"})
"""Settings that ``--resume`` may change, because they do not change what is learned; ``workers`` that are
processes change only from how many simulations at a time."""


def sampler_by_name(value: Any) -> Any:
    """Take a sampler's name for its default ranges."""
    return {"sampler": value} if isinstance(value, str) else value


def _weighted(value: Any) -> Any:
    """Take a mapping of terms to weights for the text that `leosim` reads."""
    if isinstance(value, dict):
        return ",".join(f"{term}:{weight}" for term, weight in value.items())
    return value


class Stage(Strict):
    """What a curriculum begins with."""

    until_steps: Count
    """Episodes that begin before so many environment steps are drawn from …"""
    scenarios: Annotated[Sampling, BeforeValidator(sampler_by_name)]


class TrainSettings(Strict):
    """Settings of one training run, whatever the agent and engine."""

    agent: str
    """A name that `agents.training.registry` knows, such as ``astraea``."""
    engine: Engine = "native"
    backend: Backend = "simulator"
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1
    steps: Count | None = None
    """Length of the run in environment steps: monitor intervals, summed over all simulations."""
    minutes: Positive | None = None
    """Length of the run in minutes of wall time, instead of ``steps``; those before a ``--resume`` count."""

    spec: str = "astraea"
    """The agent specification that `leosim` computes: an agent's name, or ``OBSERVATION+ACTION``. The keys
    ``observation`` and ``action`` change one half of it: ``--set observation=orca action=cwnd_ratio``."""
    reward: Annotated[str, BeforeValidator(_weighted)] = "astraea"
    """The reward that `leosim` computes: a name, or terms with weights as in ``throughput:1,delay:-0.5``,
    which YAML may also write as a mapping."""
    scenarios: Annotated[Sampling, BeforeValidator(sampler_by_name)] = AstraeaSampling()
    """The ranges that episodes are drawn from: a sampler's name, or its ranges (`configs.sampling`)."""
    curriculum: list[Stage] = Field(default_factory=list)
    """What comes before ``scenarios``, in order of ``until_steps``; native and sb3 only."""
    interval_ms: Positive = 30.0
    """The monitor interval in ms."""
    num_envs: Count = 16
    """Simulations stepped together; per worker where workers are processes."""
    workers: Count = 1
    """Processes of rllib, and of sb3's PPO with and without memory, that sample and learn side by side; else
    threads that step the simulations. With two and more, Astraea's and Orca's critics have a thread each."""
    ray_address: str | None = None
    """An existing Ray cluster; by default Ray starts on this machine."""

    held_out_episodes: Annotated[int, Field(ge=0)] = 0
    """Episodes on scenarios that training never draws, which choose among the checkpoints' policies: rows of
    evaluation.csv; ``best/`` keeps the policy that earned most. 0: none."""
    held_out_links: Annotated[int, Field(ge=0)] = 0
    """Links of the same ranges on which each checkpoint's policy is held to what users want
    (`agents.training.bars`): where there are any, ``best/`` keeps the policy that holds most of them, and
    rewards decide ties."""

    track: Tracker = "tensorboard"
    group: str | None = None
    """What wandb groups this run under, with the same run of other seeds, or other trials of a sweep."""
    progress_steps: Count = 10_000
    """A row of progress.csv every so many environment steps."""
    checkpoint_steps: Count = 100_000
    """A checkpoint every so many environment steps; the last steps are always followed by one."""

    @model_validator(mode="before")
    @classmethod
    def _complete_ranges(cls, data: Any) -> Any:
        """Take ranges without a sampler's name for changes to the agent's default ranges."""
        ranges = data.get("scenarios") if isinstance(data, dict) else None
        if not isinstance(ranges, dict) or "sampler" in ranges:
            return data
        default = cls.model_fields["scenarios"].default.model_dump(exclude_defaults=True)
        sampler = cls.model_fields["scenarios"].default.sampler
        return {**data, "scenarios": {"sampler": sampler, **default, **ranges}}

    @model_validator(mode="before")
    @classmethod
    def _compose_spec(cls, data: Any) -> Any:
        """Replace ``observation`` and ``action`` by the ``spec`` that has them."""
        if not isinstance(data, dict) or not {"observation", "action"} & data.keys():
            return data
        rest = {key: value for key, value in data.items() if key not in ("observation", "action")}
        spec = str(rest.get("spec", cls.model_fields["spec"].default))
        observation, _, action = spec.partition("+")
        action = action or observation
        parts = (data.get("observation", observation), data.get("action", action))
        return {**rest, "spec": "+".join(map(str, parts))}

    @model_validator(mode="after")
    def _one_length(self) -> TrainSettings:
        if self.steps is not None and self.minutes is not None:
            raise ValueError("give steps or minutes, not both")
        return self

    @model_validator(mode="after")
    def _links_beside_episodes(self) -> TrainSettings:
        if self.held_out_links and not self.held_out_episodes:
            raise ValueError("held_out_links: needs held_out_episodes, whose rewards decide ties")
        return self

    @model_validator(mode="after")
    def _rising_curriculum(self) -> TrainSettings:
        ends = [stage.until_steps for stage in self.curriculum]
        if ends != sorted(set(ends)):
            raise ValueError("curriculum: until_steps must rise from stage to stage")
        if ends and self.engine == "rllib":
            raise ValueError("curriculum: is for the engines native and sb3")
        return self

    def to_yaml(self) -> str:
        """Return every setting as YAML, defaults included."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False)


Settings = TypeVar("Settings", bound=TrainSettings)


def read_config(path: Path) -> dict[str, Any]:
    """Return the mapping in the YAML file at ``path``; an empty file is an empty mapping.

    Raises:
        InputError: the file cannot be read or does not hold a mapping.
    """
    data = with_exponents(load_yaml(path))
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InputError(f"{path}: (whole file): must be a mapping of settings")
    return data


def parse_assignment(text: str) -> tuple[str, Any]:
    """Return key and value of a ``--set`` argument such as ``batch_size=256``; the value is YAML.

    Raises:
        InputError: no key, no equals sign, or a value that is not YAML.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set: {text}: must be KEY=VALUE")
    try:
        return key.strip(), with_exponents(yaml.safe_load(value))
    except (yaml.YAMLError, ValueError, RecursionError):  # a date that there is not, or brackets without end
        raise InputError(f"--set: {key.strip()}: {value!r} is not YAML") from None


def assign(data: dict[str, Any], key: str, value: Any) -> None:
    """Set ``key`` of ``data`` to ``value``; ``scenarios.duration_s`` names a key of a mapping within.

    Raises:
        InputError: the path leads through something that is not a mapping.
    """
    *parents, last = key.split(".")
    for parent in parents:
        inner = data.setdefault(parent, {})
        if parent == "scenarios" and isinstance(inner, str):
            inner = data[parent] = {"sampler": inner}
        if not isinstance(inner, dict):
            raise InputError(f"--set: {key}: {parent} is not a mapping of settings")
        data = inner
    data[last] = value


def build(model: type[Settings], source: str, data: dict[str, Any]) -> Settings:
    """Return ``data`` as settings of type ``model``.

    Raises:
        InputError: one line with ``source``, field and rule.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise InputError(one_line(source, error)) from None
