"""Ranges of training scenarios (domain randomisation); `envs.sampling` draws from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from leogym.common.errors import InputError, one_line
from leogym.common.nearest import suggest_names
from leogym.common.strict import Probability, Range, Strict
from leogym.configs import named_scenarios
from leogym.configs.scenario import Delay, Duration, Rate


def _pair(value: Any) -> Any:
    """Convert a number to a range of zero width, and YAML's list to a tuple."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (value, value)
    return tuple(value) if isinstance(value, list) else value


def _sequence(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _ordered(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    if pair[0] > pair[1]:
        raise ValueError("a range is [low, high] with low <= high")
    return pair


T = TypeVar("T")
Span = Annotated[tuple[T, T], BeforeValidator(_pair), AfterValidator(_ordered)]
PositiveDelay = Annotated[float, Range(gt=0, le=1e7)]
PacketRate = Annotated[float, Range(ge=1e-3, le=1e8)]
QueueBdp = Annotated[float, Range(gt=0, lt=1e6)]
Exponent = Annotated[float, Range(ge=0, le=40)]
Count = Annotated[int, Range(ge=1, le=1000)]
BurstSizes = Annotated[
    tuple[Annotated[int, Range(ge=0, lt=2**32)], ...], BeforeValidator(_sequence), Field(min_length=1)
]
Names = Annotated[tuple[str, ...], BeforeValidator(_sequence), Field(min_length=1)]


class FlowMix(Strict):
    """Settings of all samplers: how many flows, which of them learn, when they start and stop."""

    duration_s: Duration = 30.0
    """Length of an episode."""
    flows: Span[Count] = (1, 1)
    """Number of flows, uniform."""
    learning_flows: Count | None = None
    """Number of learning flows, picked at random; default: all."""
    background: Names = ("cubic",)
    """Each flow that does not learn draws its scheme from this list."""
    start_window: Annotated[float, Range(ge=0, lt=1)] = 0.5
    """The first flow starts at 0, the others in this share of the episode, as a Poisson process."""
    leave_probability: Probability = 0.0
    """Probability that a flow stops early, at a uniform time in the rest of the episode."""
    minimum_life_s: Duration = 1.0
    """No flow stops sooner after its start: it needs reports to learn from."""

    @model_validator(mode="after")
    def _enough_flows(self) -> FlowMix:
        if self.learning_flows is not None and self.learning_flows > self.flows[0]:
            raise ValueError("learning_flows must not exceed the lower end of flows")
        return self

    @property
    def max_learning_flows(self) -> int:
        """The maximum number of learning flows in an episode."""
        return self.flows[1] if self.learning_flows is None else self.learning_flows


class AstraeaSampling(FlowMix):
    """One static drop-tail bottleneck shared by several flows, over Astraea's published ranges.

    Published (Astraea, EuroSys 2024, training table): the rate, base RTT, buffer and number of flows, Poisson
    starts, unequal RTTs, a link that is static within an episode. Our choices: uniform draws (the buffer is
    log-uniform, or shallow ones would be rare), the share of unequal RTTs, the duration.
    """

    sampler: Literal["astraea"] = "astraea"
    flows: Span[Count] = (2, 5)
    """Number of flows, uniform."""
    rate_mbps: Span[Rate] = (40.0, 160.0)
    """Rate of the link, uniform."""
    base_rtt_ms: Span[PositiveDelay] = (10.0, 140.0)
    """Smallest base RTT among the flows; its range also bounds the largest."""
    queue_bdp: Span[QueueBdp] = (0.1, 16.0)
    """Queue size in bandwidth-delay products, log-uniform."""
    unequal_rtt_probability: Probability = 0.5
    """Share of episodes in which each flow draws its own base RTT, uniform up to the range's upper end."""
    loss: Probability = 0.0
    """Random loss per packet."""
    burst_bytes: BurstSizes = (0,)
    """The link's token bucket depth, one of these; 0: an exact link. Our addition."""


class LeoSampling(FlowMix):
    """Flows over one LEO path, which starts at a random time of its trace's period."""

    sampler: Literal["leo"] = "leo"
    duration_s: Duration = 60.0
    """Length of an episode."""
    flows: Span[Count] = (1, 3)
    """Number of flows, uniform."""
    paths: Names = ("sd-ny-isl", "sd-ny-bp", "ny-ldn-isl")
    """Named paths or path trace files; each episode draws one."""
    rate_mbps: Span[Rate] = (40.0, 160.0)
    """Rate of the path, uniform; replaces the trace's capacity."""
    queue_bdp: Span[QueueBdp] = (0.5, 4.0)
    """Queue size in bandwidth-delay products, log-uniform."""
    extra_delay_ms: Span[Delay] = (0.0, 0.0)
    """Extra one-way access delay of each flow, uniform."""
    loss: Probability = 0.0
    """Random loss per packet, on top of the trace's."""


class AuroraSampling(FlowMix):
    """One flow by default, on a slow static link with ranges of Aurora's simulator (Jay et al., ICML 2019).

    Published: rate, one-way latency, random loss, a queue of 1 + floor(e^u) packets with u uniform in [0, 8],
    and episodes of 400 monitor intervals of half an RTT, which is ``duration_rtts`` base RTTs. Left out:
    noise of up to 10 % on each packet's latency, which reorders packets.
    """

    sampler: Literal["aurora"] = "aurora"
    duration_rtts: Annotated[float, Range(gt=0, le=1e5)] = 200.0
    """Length of an episode in base RTTs; replaces ``duration_s``."""
    rate_packets_per_s: Span[PacketRate] = (100.0, 500.0)
    """Rate of the link in packets of 1,500 bytes per second, uniform."""
    delay_ms: Span[PositiveDelay] = (50.0, 500.0)
    """One-way delay of the link, uniform."""
    queue_exponent: Span[Exponent] = (0.0, 8.0)
    """Exponent u of the queue's size, uniform: 1 + floor(e^u) packets."""
    loss: Span[Probability] = (0.0, 0.05)
    """Random loss per packet, uniform."""


class TraceSampling(FlowMix):
    """Flows over path traces: steps of rate and delay, handovers with outages, loss, weather.

    A preset of `traces.path.synth`, such as ``uniform-steps`` or ``starlink``, provides ``seeds`` traces.
    Weather needs trace files: ``leogym traces build sd-ny-bp --rain 40 --out rain.csv``.
    """

    sampler: Literal["traces"] = "traces"
    paths: Names = ("uniform-steps", "starlink", "sd-ny-bp")
    """Named paths, presets and path trace files; each episode draws one and starts at a random time of it."""
    seeds: Count = 16
    """Traces of each preset."""
    rate_mbps: Annotated[tuple[Rate, Rate] | None, BeforeValidator(_pair)] = None
    """Replaces the trace's capacity; uniform."""
    queue_packets: Span[Count] = (50, 1000)
    """Queue size in packets, log-uniform."""
    queue_kind: Literal["droptail", "head_drop"] = "droptail"
    """What a full queue drops: the packet that arrives, or the oldest one, as at a Starlink terminal."""
    extra_delay_ms: Span[Delay] = (0.0, 0.0)
    """Extra one-way access delay of each flow, uniform."""
    loss: Span[Probability] = (0.0, 0.0)
    """Random loss per packet on top of the trace's, uniform."""


Simple = Annotated[
    AstraeaSampling | LeoSampling | AuroraSampling | TraceSampling, Field(discriminator="sampler")
]


class Part(Strict):
    """A component of a mixture."""

    weight: Annotated[float, Range(gt=0, le=1e9)] = 1.0
    """Share of the episodes, relative to the other parts' weights."""
    scenarios: Simple
    """One of the samplers above."""


class MixtureSampling(Strict):
    """Several samplers; each episode draws from one of them."""

    sampler: Literal["mixture"] = "mixture"
    parts: Annotated[list[Part], Field(min_length=1)] = Field(
        default_factory=lambda: [
            Part(scenarios=ranges) for ranges in (AstraeaSampling(), LeoSampling(), TraceSampling())
        ]
    )
    """Default: equal parts of ``astraea``, ``leo`` and ``traces``."""

    @property
    def max_learning_flows(self) -> int:
        """The maximum number of learning flows in an episode."""
        return max(part.scenarios.max_learning_flows for part in self.parts)


class NamedSampling(Strict):
    """Scenarios and suites by name or file; each episode draws a scenario of one of them, and a seed.

    Learning flows take the place of the scheme under test, and start times in path traces are drawn unless
    the file gives them.
    """

    sampler: Literal["named"] = "named"
    names: Names
    """Of ``configs/scenarios`` and ``configs/suites``, or files."""
    learning_flows: Count | None = None
    """Number of learning flows, picked at random; default: all."""
    background: Names = ("cubic",)
    """Each flow that then does not learn draws its scheme from this list."""

    @field_validator("names")
    @classmethod
    def _with_learning_flows(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            try:
                cases = named_scenarios.to_learn(name)
            except InputError as error:
                raise ValueError(str(error)) from None
            if not cases:
                raise ValueError(f"{name}: has no flow that could learn: none has scheme agent or $scheme")
        return names

    @property
    def max_learning_flows(self) -> int:
        """The maximum number of learning flows in an episode."""
        cases = [case for name in self.names for case in named_scenarios.to_learn(name)]
        most = max(map(named_scenarios.learning_flows, cases))
        return most if self.learning_flows is None else min(most, self.learning_flows)


Ranges = AstraeaSampling | LeoSampling | AuroraSampling | TraceSampling | MixtureSampling | NamedSampling
Sampling = Annotated[Ranges, Field(discriminator="sampler")]

_SAMPLERS: dict[str, type[Ranges]] = {
    "astraea": AstraeaSampling,
    "aurora": AuroraSampling,
    "leo": LeoSampling,
    "mixture": MixtureSampling,
    "traces": TraceSampling,
}


def _for_each(ranges: Ranges, change: Callable[[Any], Ranges]) -> Ranges:
    """Return ``ranges`` with ``change`` made to them, or to each part of a mixture."""
    if not isinstance(ranges, MixtureSampling):
        return change(ranges)
    parts = [part.model_copy(update={"scenarios": change(part.scenarios)}) for part in ranges.parts]
    return ranges.model_copy(update={"parts": parts})


def with_learning_flows(ranges: Ranges, count: int) -> Ranges:
    """Return ``ranges`` with ``count`` learning flows in each scenario; the others are background flows."""
    return _for_each(ranges, lambda each: each.model_copy(update={"learning_flows": count}))


def with_one_learning_flow(ranges: Ranges) -> Ranges:
    """Return ``ranges`` with one learning flow in each scenario, unless they set ``learning_flows``."""
    return _for_each(
        ranges, lambda each: each if each.learning_flows is not None else with_learning_flows(each, 1)
    )


def names() -> list[str]:
    """Return the samplers' names."""
    return list(_SAMPLERS)


def about(name: str) -> str:
    """Return the first sentence about a sampler."""
    return " ".join((_SAMPLERS[name].__doc__ or "").split("\n\n")[0].split())


def keys_of(name: Any) -> set[str]:
    """Return the keys that a sampler's mapping may have; none for an unknown name."""
    return set(_SAMPLERS[name].model_fields) if name in _SAMPLERS else set()


def by_name(value: Any) -> Any:
    """Convert the name of a sampler, scenario or suite, or a file, to the mapping of its ranges."""
    if not isinstance(value, str):
        return value
    if value not in _SAMPLERS and named_scenarios.is_known(value):
        return {"sampler": "named", "names": [value]}
    return {"sampler": value}


def parse(data: Any, source: str) -> Ranges:
    """Return the ranges that ``data`` describes: a sampler's name or a mapping with the key ``sampler``."""
    data = by_name(data)
    if isinstance(data, dict) and data.get("sampler") not in (*_SAMPLERS, "named"):
        raise InputError(
            f"{source}: sampler: unknown sampler {data.get('sampler')!r} "
            f"{suggest_names(str(data.get('sampler')), _SAMPLERS)}"
        )
    try:
        return TypeAdapter(Sampling).validate_python(data)
    except ValidationError as error:
        raise InputError(one_line(source, error)) from None
