"""Evaluate policies on held-out scenarios, which no training run draws."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.agents.training.episode_batch import Episodes
from leogym.agents.training.settings import TrainSettings
from leogym.configs.scenario import LEARNER, Scenario

Act = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Maps observations (n, observation_dim) to actions (n, action_dim)."""

Remembering = Callable[[NDArray[np.float32], NDArray[np.int64]], NDArray[np.float32]]
"""An `Act` with memory: its second argument has the number of each observation's flow."""

CHOOSING_EPISODE = 1_000_000_000
"""First of the episodes that choose a run's best checkpoint and the seed to ship. Training counts from 0 and
never gets here; the scenarios are the same for every seed."""
JUDGING_EPISODE = 2_000_000_000
"""First of the episodes that evaluate a chosen policy; they never choose one."""
HELD_OUT_SEED = 0

METRICS = ("power", "normalized_goodput", "delay_inflation", "loss_rate")


def acting_each(policies: Sequence[leosim.Policy], flows: int) -> Remembering:
    """Return a function that acts on up to ``flows`` flows with each of ``policies`` in turn."""
    if len(policies) == 1:
        return acting(policies[0], flows)
    parts = [acting(policy, flows) for policy in policies]

    def act(observations: NDArray[np.float32], which: NDArray[np.int64]) -> NDArray[np.float32]:
        groups = [np.flatnonzero(which % len(parts) == number) for number in range(len(parts))]
        acted = [
            part(observations[group], which[group])
            for part, group in zip(parts, groups, strict=True)
            if len(group)
        ]
        joined = np.concatenate(acted)
        actions = np.empty_like(joined)
        actions[np.concatenate(groups)] = joined
        return actions

    return act


def acting(policy: leosim.Policy, flows: int) -> Remembering:
    """Return a function that acts on up to ``flows`` flows and keeps a recurrent policy's memory of each."""
    memories = np.zeros((flows, policy.memory_dim), np.float32)

    def act(observations: NDArray[np.float32], which: NDArray[np.int64]) -> NDArray[np.float32]:
        if not policy.memory_dim:
            return policy.act(observations)
        remembered = memories[which]
        actions = policy.act(observations, remembered)
        memories[which] = remembered
        return actions

    return act


def evaluate_policy(
    policy: leosim.Policy, settings: TrainSettings, episodes: int, *, first: int = JUDGING_EPISODE
) -> dict[str, float]:
    """Evaluate an exported ``policy``, which may be recurrent; see `evaluate`.

    If it names known ranges or a fallback, flows fall back as in any run, and ``fallbacks``
    is their mean number.
    """
    return evaluate_policies([policy], settings, episodes, first=first)


def evaluate_policies(
    policies: Sequence[leosim.Policy],
    settings: TrainSettings,
    episodes: int,
    *,
    first: int = JUDGING_EPISODE,
) -> dict[str, float]:
    """Evaluate one policy for all learning flows, or one for each: at least as many as an episode has.

    All policies have the same known ranges. See `evaluate_policy`.
    """
    slots = settings.scenarios.max_learning_flows
    # An episode may have fewer flows than there are policies.
    act = acting_each(policies[:slots], episodes * slots)
    return _evaluate(act, settings, episodes, first, policies[0])


def evaluate_action(
    action: float, settings: TrainSettings, episodes: int, *, first: int = JUDGING_EPISODE
) -> dict[str, float]:
    """Evaluate the same ``action`` at every interval (0 changes nothing); see `evaluate`."""

    def act(observations: NDArray[np.float32], which: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.full((len(observations), 1), action, np.float32)

    return _evaluate(act, settings, episodes, first)


def evaluate(
    act: Act, settings: TrainSettings, episodes: int, *, first: int = JUDGING_EPISODE
) -> dict[str, float]:
    """Run ``act`` without exploration on ``episodes`` held-out scenarios from the ranges of ``settings``.

    ``first`` is the first episode, `JUDGING_EPISODE` or `CHOOSING_EPISODE`.

    Returns:
        ``reward``, the mean per flow and interval, and the means of `METRICS` over flows. A flow's normalized
        goodput is relative to the whole bottleneck: n equal flows have 1/n each.
    """
    return _evaluate(lambda observations, which: act(observations), settings, episodes, first)


def evaluate_scheme(
    scheme: str, settings: TrainSettings, episodes: int, *, first: int = JUDGING_EPISODE
) -> dict[str, float]:
    """Run ``scheme`` in the place of the learning flows of the same held-out scenarios; see `evaluate`.

    ``reward`` is NaN where background flows run, too: a reward may depend on which flows learn.
    """
    drawn = Episodes(_held_out(settings, 1))
    scenarios = [drawn.scenario(first + index) for index in range(episodes)]
    steered = [_steered(scenario, scheme) for scenario in scenarios]
    batch = leosim.Batch(
        episodes,
        slots=max(sum(flow.count for flow in scenario.flows) for scenario in steered),
        agent=settings.spec,
        reward=settings.reward,
        interval_ms=settings.interval_ms,
        threads=settings.workers,
        watch=True,
    )
    used = {name for scenario in steered for name in scenario.traces}
    traces: dict[str, leosim.PathTrace] = {}
    if used:
        from leogym.traces import load_all  # here, because it builds orbits, which static links do not need

        traces = load_all(used)
    for index, scenario in enumerate(steered):
        batch.reset(index, scenario.to_json(), traces)
    actions = np.zeros((*batch.active.shape, batch.action_dim), np.float32)
    total, count = 0.0, 0
    while not batch.finished.all():
        active = batch.active & ~batch.finished[:, None]
        batch.step(actions)
        total += float(batch.rewards_view[active].sum(dtype=np.float64))
        count += int(active.sum())
    learns = [
        [flow.scheme == LEARNER for flow in scenario.flows for _ in range(flow.count)]
        for scenario in scenarios
    ]
    flows = [
        flow
        for index, of_learners in enumerate(learns)
        for flow, learner in zip(batch.run_log(index).flows, of_learners, strict=True)
        if learner
    ]
    alone = all(learner for of_learners in learns for learner in of_learners)
    return {"reward": total / count if alone else math.nan, **_means(flows)}


def _steered(scenario: Scenario, scheme: str) -> Scenario:
    """Return ``scenario`` with ``scheme`` in the place of the learning flows."""
    flows = [
        flow.model_copy(update={"scheme": scheme}) if flow.scheme == LEARNER else flow
        for flow in scenario.flows
    ]
    return scenario.model_copy(update={"flows": flows})


def _held_out(settings: TrainSettings, episodes: int) -> TrainSettings:
    changes = {"seed": HELD_OUT_SEED, "num_envs": episodes, "backend": "simulator", "curriculum": []}
    return settings.model_copy(update=changes)


def _means(flows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the means of `METRICS` over ``flows``, each over the flows where it is a number."""
    means = {}
    for name in METRICS:
        values = [flow[name] for flow in flows if math.isfinite(flow[name])]
        means[name] = float(np.mean(values)) if values else math.nan
    return means


def _evaluate(
    act: Remembering,
    settings: TrainSettings,
    episodes: int,
    first: int,
    guard: leosim.Policy | None = None,
) -> dict[str, float]:
    simulations = Episodes(_held_out(settings, episodes), first_episode=first, guard=guard)
    simulations.start()
    batch = simulations.batch
    total, count = 0.0, 0
    while not batch.finished.all():
        active = batch.active & ~batch.finished[:, None]
        actions = np.zeros(simulations.action_shape, dtype=np.float32)
        if active.any():
            actions[active] = act(batch.observations[active], np.flatnonzero(active))
        simulations.step(actions)
        total += float(batch.rewards_view[active].sum(dtype=np.float64))
        count += int(active.sum())
    flows = [
        flow for index in range(episodes) for flow in batch.run_log(index).flows if flow["scheme"] == LEARNER
    ]
    means = _means(flows)
    if guard is not None and guard.known_ranges is not None:
        means["fallbacks"] = float(np.mean([flow["fallbacks"] for flow in flows]))
    return {"reward": total / count, **means}
