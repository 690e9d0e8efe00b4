"""Draw training scenarios from ranges (domain randomisation).

A sampler is a callable ``(rng) -> Scenario``; the same state of ``rng`` gives the same scenario.

Example:
    >>> import numpy as np
    >>> draw = sampler("astraea", flows=[2, 2], duration_s=10.0)
    >>> draw(np.random.default_rng(1)).duration_s
    10.0
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from leogym.configs import named_scenarios, sampling
from leogym.configs.queue import Queue
from leogym.configs.sampling import (
    AstraeaSampling,
    AuroraSampling,
    FlowMix,
    LeoSampling,
    MixtureSampling,
    NamedSampling,
    Ranges,
    TraceSampling,
    with_one_learning_flow,
)
from leogym.configs.scenario import LEARNER, Flow, Link, Scenario

PACKET_BITS = 1_500 * 8


class Sampler:
    """A callable ``(rng) -> Scenario`` over ranges of `configs.sampling`."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self.max_learning_flows = ranges.max_learning_flows

    def __call__(self, rng: np.random.Generator) -> Scenario:
        """Draw a scenario."""
        return draw(self.ranges, rng)

    def with_one_learning_flow(self) -> "Sampler":
        """Return the sampler with one learning flow, unless its ranges set their number."""
        return Sampler(with_one_learning_flow(self.ranges))

    def __repr__(self) -> str:
        return f"Sampler({self.ranges!r})"


def sampler(name: str, **ranges: Any) -> Sampler:
    """Return the sampler ``name`` (see `configs.sampling.names`) with ``ranges`` replaced."""
    return Sampler(sampling.parse({"sampler": name, **ranges}, f"sampler {name}"))


def draw(ranges: Ranges, rng: np.random.Generator) -> Scenario:
    """Draw one scenario from ``ranges`` of any kind."""
    if isinstance(ranges, AstraeaSampling):
        return draw_astraea(ranges, rng)
    if isinstance(ranges, AuroraSampling):
        return draw_aurora(ranges, rng)
    if isinstance(ranges, TraceSampling):
        return draw_trace(ranges, rng)
    if isinstance(ranges, NamedSampling):
        return draw_named(ranges, rng)
    if isinstance(ranges, MixtureSampling):
        weights = np.array([part.weight for part in ranges.parts])
        part = ranges.parts[int(rng.choice(len(weights), p=weights / weights.sum()))]
        return draw(part.scenarios, rng)
    return draw_leo(ranges, rng)


def paths(ranges: Ranges) -> list[str]:
    """Return the names of all path traces that scenarios from ``ranges`` can use."""
    if isinstance(ranges, MixtureSampling):
        return sorted({path for part in ranges.parts for path in paths(part.scenarios)})
    if isinstance(ranges, NamedSampling):
        scenarios = [scenario for name in ranges.names for scenario in named_scenarios.to_learn(name)]
        return sorted({trace for scenario in scenarios for trace in scenario.traces})
    if isinstance(ranges, TraceSampling):
        return [path for name in ranges.paths for path in _traces_of(name, ranges.seeds)]
    return [*ranges.paths] if isinstance(ranges, LeoSampling) else []


def draw_astraea(ranges: AstraeaSampling, rng: np.random.Generator) -> Scenario:
    """Draw a static bottleneck that several flows share; the default ranges are Astraea's."""
    rtt_ms = _uniform(rng, ranges.base_rtt_ms)
    link = Link(
        rate_mbps=_uniform(rng, ranges.rate_mbps),
        delay_ms=rtt_ms / 2,
        loss=ranges.loss,
        queue=Queue(bdp=_log_uniform(rng, ranges.queue_bdp)),
    )
    count = _count(rng, ranges)
    longest_extra_ms = (ranges.base_rtt_ms[1] - rtt_ms) / 2
    unequal = rng.random() < ranges.unequal_rtt_probability
    extra_delay_ms = rng.uniform(0.0, longest_extra_ms, count) if unequal else np.zeros(count)
    # One flow keeps the link's RTT, so the drawn RTT is the shortest of the episode.
    extra_delay_ms[int(rng.integers(count))] = 0.0
    if ranges.burst_bytes != (0,):
        burst_bytes = ranges.burst_bytes[int(rng.integers(len(ranges.burst_bytes)))]
        link = link.model_copy(update={"burst_bytes": burst_bytes})
    return _scenario(rng, ranges, "astraea", link, extra_delay_ms)


def draw_aurora(ranges: AuroraSampling, rng: np.random.Generator) -> Scenario:
    """Draw a slow static link; the default ranges are those of Aurora's simulator."""
    delay_ms = _uniform(rng, ranges.delay_ms)
    link = Link(
        rate_mbps=_uniform(rng, ranges.rate_packets_per_s) * PACKET_BITS / 1e6,
        delay_ms=delay_ms,
        loss=_uniform(rng, ranges.loss),
        queue=Queue(packets=1 + int(np.exp(_uniform(rng, ranges.queue_exponent)))),
    )
    duration_s = ranges.duration_rtts * 2 * delay_ms / 1e3
    mix = ranges.model_copy(update={"duration_s": duration_s})
    return _scenario(rng, mix, "aurora", link, np.zeros(_count(rng, ranges)))


def draw_leo(ranges: LeoSampling, rng: np.random.Generator) -> Scenario:
    """Draw a LEO path (built by `traces.load` on first use), a start time in it, and its flows."""
    path = ranges.paths[int(rng.integers(len(ranges.paths)))]
    link = Link(
        trace=path,
        # Whole milliseconds keep scenario files short; a trace's rows are 100 ms apart.
        offset_s=int(rng.integers(period_ms(path))) / 1e3,
        rate_mbps=_uniform(rng, ranges.rate_mbps),
        loss=ranges.loss,
        queue=Queue(bdp=_log_uniform(rng, ranges.queue_bdp)),
    )
    extra_delay_ms = rng.uniform(*ranges.extra_delay_ms, _count(rng, ranges))
    return _scenario(rng, ranges, f"leo-{path}", link, extra_delay_ms)


def draw_trace(ranges: TraceSampling, rng: np.random.Generator) -> Scenario:
    """Draw a path trace, a start time in it, and the flows that share it."""
    traces = _traces_of(ranges.paths[int(rng.integers(len(ranges.paths)))], ranges.seeds)
    path = traces[int(rng.integers(len(traces)))]
    link = Link(
        trace=path,
        offset_s=int(rng.integers(period_ms(path))) / 1e3,
        rate_mbps=_uniform(rng, ranges.rate_mbps) if ranges.rate_mbps else None,
        loss=_uniform(rng, ranges.loss),
        queue=Queue(kind=ranges.queue_kind, packets=round(_log_uniform(rng, ranges.queue_packets))),
    )
    extra_delay_ms = rng.uniform(*ranges.extra_delay_ms, _count(rng, ranges))
    return _scenario(rng, ranges, f"trace-{path}", link, extra_delay_ms)


def draw_case(scenarios: Sequence[Scenario], vary_offset: bool, rng: np.random.Generator) -> Scenario:
    """Draw one of ``scenarios``, a start time in its path traces if it varies, and the simulation's seed."""
    scenario = scenarios[int(rng.integers(len(scenarios)))]
    links = scenario.links
    if vary_offset and scenario.traces:
        offset_s = int(rng.integers(max(period_ms(path) for path in scenario.traces))) / 1e3
        links = {
            name: link if link.trace is None else link.model_copy(update={"offset_s": offset_s})
            for name, link in links.items()
        }
    return scenario.model_copy(update={"seed": int(rng.integers(2**63)), "links": links})


def draw_named(ranges: NamedSampling, rng: np.random.Generator) -> Scenario:
    """Draw one of the scenarios, a start time in its path traces, which flows learn, and the seed."""
    name = ranges.names[int(rng.integers(len(ranges.names)))]
    drawn = draw_case(named_scenarios.to_learn(name), named_scenarios.load(name).vary_offset, rng)
    most = ranges.learning_flows
    if most is None or named_scenarios.learning_flows(drawn) <= most:
        return drawn
    return _with_background(drawn, most, ranges.background, rng)


def _with_background(
    scenario: Scenario, learning: int, background: tuple[str, ...], rng: np.random.Generator
) -> Scenario:
    """Let only ``learning`` flows learn; the others draw a scheme of ``background``."""
    learns = iter((rng.permutation(named_scenarios.learning_flows(scenario)) < learning).tolist())
    flows: list[Flow] = []
    places: list[list[int]] = []
    """Of each entry, its flows' indices: an entry may stand for several, of which some learn."""
    for entry in scenario.flows:
        places.append([*range(len(flows), len(flows) + entry.count)])
        for _ in range(entry.count):
            scheme = entry.scheme
            if scheme == LEARNER and not next(learns):
                scheme = background[int(rng.integers(len(background)))]
            flows.append(entry.model_copy(update={"scheme": scheme, "count": 1}))
    events = [
        event.model_copy(
            update={
                "reroute": event.reroute.model_copy(
                    update={"flows": [at for index in event.reroute.flows for at in places[index]]}
                )
            }
        )
        for event in scenario.events
    ]
    return scenario.model_copy(update={"flows": flows, "events": events})


def _traces_of(name: str, seeds: int) -> list[str]:
    """Return the traces of ``name``: ``seeds`` of them for a preset without a seed."""
    from leogym.traces.path import synth  # here, because it builds orbits, which static links do not need

    return [f"{name}@{seed}" for seed in range(seeds)] if name in synth.PRESETS else [name]


def _scenario(
    rng: np.random.Generator, ranges: FlowMix, name: str, link: Link, extra_delay_ms: np.ndarray
) -> Scenario:
    """Put a flow on ``link`` for each entry of ``extra_delay_ms``, and draw the simulation's seed."""
    count = len(extra_delay_ms)
    # Given their number, the arrivals of a Poisson process are independent and uniform.
    window_s = ranges.start_window * ranges.duration_s
    starts_s = np.concatenate([[0.0], np.sort(rng.uniform(0.0, window_s, count - 1))])
    learning = count if ranges.learning_flows is None else ranges.learning_flows
    # Learning flows are drawn at random, so they also start on busy links.
    learns = np.zeros(count, dtype=bool)
    learns[rng.permutation(count)[:learning]] = True
    flows = []
    for start_s, extra_ms, agent in zip(starts_s.tolist(), extra_delay_ms.tolist(), learns, strict=True):
        earliest_s = start_s + ranges.minimum_life_s
        leaves = rng.random() < ranges.leave_probability and earliest_s < ranges.duration_s
        stop_s = float(rng.uniform(earliest_s, ranges.duration_s)) if leaves else None
        scheme = "agent" if agent else ranges.background[int(rng.integers(len(ranges.background)))]
        flows.append(
            Flow(
                scheme=scheme,
                start_s=start_s,
                stop_s=stop_s,
                route=["bottleneck"],
                extra_delay_ms=extra_ms,
            )
        )
    return Scenario(
        name=name,
        duration_s=ranges.duration_s,
        seed=int(rng.integers(2**63)),
        links={"bottleneck": link},
        flows=flows,
    )


def _count(rng: np.random.Generator, ranges: FlowMix) -> int:
    low, high = ranges.flows
    return int(rng.integers(low, high + 1))


def _uniform(rng: np.random.Generator, pair: tuple[float, float]) -> float:
    return float(rng.uniform(*pair))


def _log_uniform(rng: np.random.Generator, pair: tuple[float, float]) -> float:
    return float(np.clip(np.exp(rng.uniform(*np.log(pair))), *pair))


@lru_cache(maxsize=256)
def period_ms(path: str) -> int:
    """Return the period of a path trace in whole ms, at least 1."""
    from leogym import traces  # here, because it builds orbits, which static links do not need

    return max(1, traces.load(path).period_ns // 1_000_000)
