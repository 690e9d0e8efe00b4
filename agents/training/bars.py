"""On how many links a policy does all that users want of it: bars that a reward does not see one by one.

A reward is a mean over flows and intervals: what it gains where flows are alone it may lose where five share
a link. A bar is held on a link or not, and a policy is as good as the number of links on which it holds all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from agents.training.rollout import HELD_OUT_SEED, Remembering, acting
from agents.training.settings import TrainSettings
from configs.sampling import AstraeaSampling, FlowMix, MixtureSampling, Ranges
from configs.scenario import Scenario
from envs.sampling import draw, paths
from results.measurement import Measurement
from results.metrics import run_metrics, shared_window_s

DURATION_S, JOINED_SHARE, LAST_S = 60.0, 1 / 3, 30.0
"""Flows join within this share of a run, none leaves, and its last seconds count."""
SERIES_MS = 100.0

CHOOSING_LINK = 4_000_000_000
"""Links from here on choose; none of them is among the episodes of training, of lessons or of
`agents.training.rollout`."""
JUDGING_LINK = 6_000_000_000
"""Links from here on judge what was chosen, and have chosen nothing."""

Measured = dict[str, float | None]


@dataclass(frozen=True)
class Bar:
    """A bound on what is measured on a link.

    Attributes:
        name: of the bar, and of its column in evaluation.csv after ``held_``.
        of: returns what is bounded, None on a link that the bar says nothing of.
        holds: whether a value does.
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
"""Those of the suite static-grid's table in the README of this folder."""


def links_held(
    policy: leosim.Policy, settings: TrainSettings, links: int, *, first: int = CHOOSING_LINK
) -> dict[str, int]:
    """Return on how many ``links`` an exported ``policy`` holds its bars.

    Args:
        policy: may be recurrent.
        settings: the ranges that links are drawn from, specification and interval.
        links: how many.
        first: the first of them, `CHOOSING_LINK` or `JUDGING_LINK`.

    Returns:
        ``links_held``, on which all bars hold, and ``held_…`` for each bar.
    """
    act = acting(policy, links * settings.scenarios.max_learning_flows)
    return counted(measure(act, settings, links, first=first))


def counted(measured: list[Measured]) -> dict[str, int]:
    """Count the links on which all bars hold, and on which each does; what a bar does not bound it holds."""
    verdicts = [{bar.name: _holds(bar, link) for bar in BARS} for link in measured]
    each = {f"held_{bar.name}": sum(verdict[bar.name] for verdict in verdicts) for bar in BARS}
    return {"links_held": sum(all(verdict.values()) for verdict in verdicts), **each}


def measure(
    act: Remembering, settings: TrainSettings, links: int, *, first: int = CHOOSING_LINK
) -> list[Measured]:
    """Return utilization, goodput ratio, Jain's index and delay inflation of ``act`` on each link."""
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
    """Return ``ranges`` of links on which flows join early and stay, of one RTT where that can be said."""
    if isinstance(ranges, MixtureSampling):
        parts = [part.model_copy(update={"scenarios": _lasting(part.scenarios)}) for part in ranges.parts]
        return ranges.model_copy(update={"parts": parts})
    return _lasting(ranges)


def _lasting(ranges: Any) -> Any:
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
    import traces  # here, because it builds orbits: static links do without

    return traces.load_all(names)


def _measured(log: leosim.RunLog, scenario: Scenario) -> Measured:
    shares = run_metrics(Measurement.of(log), scenario, shared_window_s(log.flows, LAST_S))
    inflations = [flow["delay_inflation"] for flow in log.flows if np.isfinite(flow["delay_inflation"])]
    return {**shares, "delay_inflation": float(np.mean(inflations)) if inflations else None}


def _holds(bar: Bar, measured: Measured) -> bool:
    value = bar.of(measured)
    return value is None or bar.holds(value)
