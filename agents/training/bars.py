"""Count the links on which a policy holds all bars: bounds on utilization, fairness and delay.

A reward is a mean over flows and intervals, so gains on links with one flow can hide losses on links that
five flows share. A link holds a bar or not, so the number of links that hold all bars hides nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.agents.training.rollout import HELD_OUT_SEED, Remembering, acting
from leogym.agents.training.settings import TrainSettings
from leogym.configs.sampling import AstraeaSampling, FlowMix, MixtureSampling, NamedSampling, Ranges
from leogym.configs.scenario import Scenario
from leogym.envs.sampling import draw, paths
from leogym.results.measurement import Measurement
from leogym.results.metrics import run_metrics, shared_window_s

DURATION_S, JOINED_SHARE, LAST_S = 60.0, 1 / 3, 30.0
"""Run length (s), the share of it in which flows join (none leaves), and the measured last seconds."""
SERIES_MS = 100.0

CHOOSING_LINK = 4_000_000_000
"""First of the links that choose checkpoints and seeds; training, lessons and `agents.training.rollout` never
use these links."""
JUDGING_LINK = 6_000_000_000
"""First of the links that evaluate a chosen policy; they never choose one."""

Measured = dict[str, float | None]


@dataclass(frozen=True)
class Bar:
    """A bound on a metric of a link.

    Attributes:
        name: its column in evaluation.csv is ``held_NAME``.
        of: returns the bounded metric; None on links that the bar does not apply to.
        holds: returns whether a value is within the bound.
    """

    name: str
    of: Callable[[Measured], float | None]
    holds: Callable[[float], bool]


BARS = (
    Bar("utilization", lambda measured: measured["utilization"], lambda value: value >= 0.9),
    Bar(
        "alone",
        lambda measured: measured["utilization"] if measured["jain"] is None else None,
        lambda value: value >= 0.9,
    ),
    Bar("goodput_ratio", lambda measured: measured["goodput_ratio"], lambda value: value >= 0.9),
    Bar("jain", lambda measured: measured["jain"], lambda value: value >= 0.95),
    Bar("delay_inflation", lambda measured: measured["delay_inflation"], lambda value: value <= 1.3),
)
"""The bars of the static-grid table in ``studies/policies/README.md``."""


def links_held(
    policy: leosim.Policy, settings: TrainSettings, links: int, *, first: int = CHOOSING_LINK
) -> dict[str, int]:
    """Count the links on which an exported ``policy`` holds its bars.

    ``first`` is the first link, `CHOOSING_LINK` or `JUDGING_LINK`.

    Returns:
        ``links_held``, the number of links on which all bars hold, and ``held_NAME`` for each bar.
    """
    act = acting(policy, links * settings.scenarios.max_learning_flows)
    return counted(measure(act, settings, links, first=first, guard=policy))


def counted(measured: list[Measured]) -> dict[str, int]:
    """Count the links on which all bars hold, and for each bar; a bar holds where it does not apply."""
    verdicts = [{bar.name: _holds(bar, link) for bar in BARS} for link in measured]
    each = {f"held_{bar.name}": sum(verdict[bar.name] for verdict in verdicts) for bar in BARS}
    return {"links_held": sum(all(verdict.values()) for verdict in verdicts), **each}


def measure(
    act: Remembering,
    settings: TrainSettings,
    links: int,
    *,
    first: int = CHOOSING_LINK,
    guard: leosim.Policy | None = None,
) -> list[Measured]:
    """Return utilization, goodput ratio, Jain's index and delay inflation of ``act`` on each link.

    Flows fall back where those of the policy ``guard`` would.
    """
    ranges = lasting(settings.scenarios)
    scenarios = [
        draw(ranges, np.random.default_rng([HELD_OUT_SEED, 1, first + link])) for link in range(links)
    ]
    batch = leosim.Batch(
        links,
        slots=ranges.max_learning_flows,
        agent=settings.spec,
        interval_ms=settings.interval_ms,
        series_ms=SERIES_MS,
        threads=settings.workers,
        guard=guard,
    )
    traces = _traces(ranges)
    for index, scenario in enumerate(scenarios):
        batch.reset(index, scenario.to_json(), traces)
    actions: NDArray[np.float32] = np.zeros((links, ranges.max_learning_flows, batch.action_dim), np.float32)
    while not batch.finished.all():
        active = batch.active & ~batch.finished[:, None]
        actions[:] = 0
        if active.any():
            actions[active] = act(batch.observations[active], np.flatnonzero(active))
        batch.step(actions)
    return [_measured(batch.run_log(index), scenario) for index, scenario in enumerate(scenarios)]


def lasting(ranges: Ranges) -> Ranges:
    """Change ``ranges`` so that flows join early and stay, with equal RTTs if the sampler allows."""
    if isinstance(ranges, MixtureSampling):
        parts = [part.model_copy(update={"scenarios": _lasting(part.scenarios)}) for part in ranges.parts]
        return ranges.model_copy(update={"parts": parts})
    return _lasting(ranges)


def _lasting(ranges: Any) -> Any:
    if isinstance(ranges, NamedSampling):
        return ranges  # a file says itself when its flows run
    assert isinstance(ranges, FlowMix)
    changes: dict[str, Any] = {
        "duration_s": DURATION_S,
        "start_window": JOINED_SHARE,
        "leave_probability": 0.0,
    }
    if isinstance(ranges, AstraeaSampling):
        changes["unequal_rtt_probability"] = 0.0
    return ranges.model_copy(update=changes)


def _traces(ranges: Ranges) -> dict[str, leosim.PathTrace]:
    names = set(paths(ranges))
    if not names:
        return {}
    from leogym import traces  # here, because it builds orbits, which static links do not need

    return traces.load_all(names)


def _measured(log: leosim.RunLog, scenario: Scenario) -> Measured:
    shares = run_metrics(Measurement.of(log), scenario, shared_window_s(log.flows, LAST_S))
    inflations = [flow["delay_inflation"] for flow in log.flows if np.isfinite(flow["delay_inflation"])]
    return {**shares, "delay_inflation": float(np.mean(inflations)) if inflations else None}


def _holds(bar: Bar, measured: Measured) -> bool:
    value = bar.of(measured)
    return value is None or bar.holds(value)
