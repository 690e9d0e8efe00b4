"""The settings that all agents and engines share.

An agent adds hyperparameters by subclassing `TrainSettings` in its folder. Files in ``configs/agents`` hold
only the differences from these defaults.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from leogym import configs
from leogym.common import yaml_text
from leogym.common.errors import InputError, one_line
from leogym.common.strict import Positive, Probability, Range, Strict
from leogym.configs import file_paths, names, sampling, suite
from leogym.configs.sampling import AstraeaSampling, Sampling
from leogym.traces.path import named_paths

Engine = Literal["native", "sb3", "rllib"]
Backend = Literal["simulator", "mahimahi", "kernel"]
TRACKERS = ("tensorboard", "wandb")

Count = Annotated[int, Range(ge=1, le=10**12)]
Size = Annotated[int, Range(ge=1, le=10_000_000)]
"""Number of samples or transitions that are held at a time."""
Width = Annotated[int, Range(ge=1, le=65_536)]
"""Part of a network's shape."""
Simulations = Annotated[int, Range(ge=1, le=100_000)]
Fraction = Probability

CONFIGS = Path(configs.__file__).parent / "agents"
"""The shipped configurations, one or more per agent."""

FREE_ON_RESUME = frozenset({"steps", "minutes", "workers", "ray_address", "track", "group"})
"""Settings that ``--resume`` may change, because training stays the same. For engines whose ``workers`` are
processes, only the number of parallel simulations changes."""


def ranges_by_name(value: Any) -> Any:
    """Convert a name or file to ranges; raise a ValueError that has the nearest names if there is none."""
    if isinstance(value, str) and value not in names.known() and not suite.is_file(value):
        if named_paths.is_named(value):
            raise ValueError(f"{value!r}: {named_paths.as_sampler(value)}")
        raise ValueError(str(names.unknown(value, "(name)")).partition(": ")[2])
    return sampling.by_name(value)


def _weighted(value: Any) -> Any:
    """Convert a mapping of terms to weights to the text that `leosim` reads."""
    if isinstance(value, dict):
        return ",".join(f"{term}:{weight}" for term, weight in value.items())
    return value


RewardText = Annotated[str, BeforeValidator(_weighted)]
"""A reward's name, or terms with weights, as text or as a mapping."""


def _trackers(value: Any) -> Any:
    """Convert trackers, as a list or as text with commas, to text with commas; "none" for an empty list."""
    if not isinstance(value, str | list):
        return value
    parts = value.split(",") if isinstance(value, str) else value
    trackers = [str(part).strip() for part in parts]
    if trackers in (["none"], []):
        return "none"
    if any(name not in TRACKERS for name in trackers):
        raise ValueError(f"must be none or some of {', '.join(TRACKERS)}, separated by commas, not {value!r}")
    return ",".join(dict.fromkeys(trackers))


def _pair(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _rising(bounds: tuple[float, float]) -> tuple[float, float]:
    if bounds[0] > bounds[1]:
        raise ValueError("must be [least, most]")
    return bounds


RETIRED = {"held_out_links": 0}
"""Settings that are gone, at the value that did nothing: the files of earlier runs have them."""


class Stage(Strict):
    """One stage of a curriculum: episodes that begin before step ``until_steps`` use its ``scenarios``."""

    until_steps: Count
    scenarios: Annotated[Sampling, BeforeValidator(ranges_by_name)]


Bounds = Annotated[tuple[Positive, Positive], BeforeValidator(_pair), AfterValidator(_rising)]
Losses = Annotated[tuple[Probability, Probability], BeforeValidator(_pair), AfterValidator(_rising)]


class KnownRanges(Strict):
    """A policy's known ranges, as [least, most]; beyond, its flows fall back (``docs/policies.md``)."""

    rate_mbps: Bounds | None = None
    """A flow's delivery rate."""
    rtt_ms: Bounds | None = None
    """The smallest RTT of the last seconds."""
    loss: Losses | None = None
    """Share of the sent bytes."""


class TrainSettings(Strict):
    """Settings of one training run of any agent and engine."""

    agent: str
    """A name that `agents.training.registry` knows, such as ``astraea``."""
    engine: Engine = "native"
    backend: Backend = "simulator"
    seed: Annotated[int, Range(ge=0, lt=2**32)] = 1
    steps: Count | None = None
    """Length of the run in environment steps: monitor intervals, summed over all simulations."""
    minutes: Positive | None = None
    """Length of the run in minutes of wall time, instead of ``steps``; includes the time before a resume."""

    spec: str = "astraea"
    """The agent specification: an agent's name, or ``OBSERVATION+ACTION``. The keys ``observation`` and
    ``action`` replace one half: ``--set observation=orca action=cwnd_ratio``."""
    reward: RewardText = "astraea"
    """The reward: a name, or terms with weights such as ``throughput:1,delay:-0.5`` (in YAML also as a
    mapping)."""
    scenarios: Annotated[Sampling, BeforeValidator(ranges_by_name)] = AstraeaSampling()
    """What episodes are drawn from: the name of a sampler, scenario or suite, a file of one, or a sampler's
    ranges (`configs.sampling`)."""
    curriculum: list[Stage] = Field(default_factory=list)
    """Stages before ``scenarios``, in order of ``until_steps``; native and sb3 only."""
    interval_ms: Annotated[float, Range(ge=0.1, le=10_000)] = 30.0
    """The monitor interval in ms."""
    num_envs: Simulations = 16
    """Simulations that step together; per worker where workers are processes."""
    workers: Annotated[int, Range(ge=1, le=2**20)] = 1
    """Processes that sample and learn in parallel (rllib, and PPO and recurrent PPO of sb3), or threads that
    step the simulations (all others)."""
    ray_address: str | None = None
    """An existing Ray cluster; None starts Ray on this machine."""

    known_ranges: KnownRanges | None = None
    """Goes into policy.json: beyond these, and with an action that is not a number, flows fall back to Cubic.
    None: the policy steers anywhere."""

    held_out_episodes: Annotated[int, Range(ge=0, le=100_000)] = 0
    """Held-out episodes that evaluate each checkpoint's policy: rows of evaluation.csv. ``best/`` keeps the
    policy with the highest reward. 0 disables evaluation."""

    held_out_scenarios: Annotated[Sampling, BeforeValidator(ranges_by_name)] | None = None
    """What held-out episodes are drawn from, so that runs with other ``scenarios`` compare; default:
    ``scenarios``."""

    track: Annotated[str, BeforeValidator(_trackers)] = "tensorboard"
    """Experiment trackers: ``none``, ``tensorboard``, ``wandb`` or both, with a comma or as a list."""
    group: str | None = None
    """The group of this run in wandb, shared with other seeds of the run or other trials of a sweep."""
    steps_per_minute: Positive | None = None
    """Measured on two idle cores of 2026; the run's first line then says how long it will take."""
    useful_steps: Count | None = None
    """Steps after which the policy was worth using in all seeds, for the same line."""
    progress_steps: Count = 10_000
    """Environment steps between rows of progress.csv."""
    checkpoint_steps: Count = 100_000
    """Environment steps between checkpoints; the end of the run always writes one."""

    @model_validator(mode="before")
    @classmethod
    def _without_retired(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if (name, value) not in RETIRED.items()}

    @model_validator(mode="before")
    @classmethod
    def _complete_ranges(cls, data: Any) -> Any:
        """Complete ranges without a sampler's name with the agent's default ranges."""
        ranges = data.get("scenarios") if isinstance(data, dict) else None
        if not isinstance(ranges, dict) or "sampler" in ranges:
            return data
        default = cls.model_fields["scenarios"].default.model_dump(exclude_defaults=True)
        sampler = cls.model_fields["scenarios"].default.sampler
        return {**data, "scenarios": {"sampler": sampler, **default, **ranges}}

    @model_validator(mode="before")
    @classmethod
    def _compose_spec(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not {"observation", "action"} & data.keys():
            return data
        other_settings = {key: value for key, value in data.items() if key not in ("observation", "action")}
        spec = str(other_settings.get("spec", cls.model_fields["spec"].default))
        observation, _, action = spec.partition("+")
        action = action or observation
        parts = (data.get("observation", observation), data.get("action", action))
        return {**other_settings, "spec": "+".join(map(str, parts))}

    @model_validator(mode="after")
    def _one_length(self) -> TrainSettings:
        if self.steps is not None and self.minutes is not None:
            raise ValueError("give steps or minutes, not both")
        return self

    @model_validator(mode="after")
    def _rising_curriculum(self) -> TrainSettings:
        ends = [stage.until_steps for stage in self.curriculum]
        if ends != sorted(set(ends)):
            raise ValueError("curriculum: until_steps must rise from stage to stage")
        if ends and self.engine == "rllib":
            raise ValueError("curriculum: needs the engine native or sb3")
        return self

    def for_held_out(self) -> TrainSettings:
        """Return these settings with the scenarios of held-out episodes."""
        if self.held_out_scenarios is None:
            return self
        return self.model_copy(update={"scenarios": self.held_out_scenarios, "curriculum": []})

    def to_yaml(self) -> str:
        """Return every setting as YAML, defaults included."""
        return yaml_text.dump(self.model_dump(mode="json"))


Settings = TypeVar("Settings", bound=TrainSettings)


def read_config(path: Path) -> dict[str, Any]:
    """Return the mapping in the YAML file at ``path``; an empty file gives an empty mapping."""
    data = file_paths.read(path)
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InputError(f"{path}: (whole file): must be a mapping of settings")
    return data


def parse_assignment(text: str) -> tuple[str, Any]:
    """Return key and value of a ``--set`` argument such as ``batch_size=256``; the value is YAML."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set: {text}: must be KEY=VALUE")
    try:
        return key.strip(), yaml_text.parse(value, "--set")
    except yaml_text.YamlError as error:
        raise InputError(f"--set: {key.strip()}: {error.rule}") from None


def assign(data: dict[str, Any], key: str, value: Any, source: str = "--set") -> None:
    """Set ``key`` of ``data`` to ``value``; dots lead into mappings, as in ``scenarios.duration_s``.

    ``source`` is for errors.

    A ``spec`` is observation and action, and replaces those that ``data`` has. Another ``scenarios.sampler``
    keeps the ranges that it has, too.
    """
    if key == "spec":
        for half in ("observation", "action"):
            data.pop(half, None)
    *parents, last = key.split(".")
    for parent in parents:
        inner = data.setdefault(parent, {})
        if parent == "scenarios" and isinstance(inner, str):
            inner = data[parent] = sampling.by_name(inner)
        if not isinstance(inner, dict):
            raise InputError(f"{source}: {key}: {parent} is not a mapping of settings")
        data = inner
    if parents == ["scenarios"] and last == "sampler":
        for name in data.keys() - sampling.keys_of(value):
            del data[name]
    data[last] = value


def build(model: type[Settings], source: str, data: dict[str, Any]) -> Settings:
    """Return ``data`` as settings of type ``model``; errors name ``source``, field and rule."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise InputError(one_line(source, error)) from None


def require_known_task(settings: TrainSettings, source: str) -> None:
    """Raise an `InputError` that names ``source`` unless specification and reward exist."""
    import leosim  # here, so that --help needs no compiled module

    try:
        leosim.Batch(1, agent=settings.spec, reward=settings.reward)
    except leosim.InputError as error:
        name, _, rule = str(error).partition(": name: ")
        raise InputError(f"{source}: {'spec' if name == 'agent' else name}: {rule}") from None
