"""Evaluate policies on held-out scenarios, which no training run draws."""

import math
from collections.abc import Callable

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.agents.training.episode_batch import Episodes
from leogym.agents.training.settings import TrainSettings
from leogym.envs.learners import LEARNER

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
    flows = episodes * settings.scenarios.max_learning_flows
    return _evaluate(acting(policy, flows), settings, episodes, first, policy)


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


def _evaluate(
    act: Remembering,
    settings: TrainSettings,
    episodes: int,
    first: int,
    guard: leosim.Policy | None = None,
) -> dict[str, float]:
    changes = {"seed": HELD_OUT_SEED, "num_envs": episodes, "backend": "simulator", "curriculum": []}
    held_out = settings.model_copy(update=changes)
    simulations = Episodes(held_out, first_episode=first, guard=guard)
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
    means = {}
    for name in METRICS:
        values = [flow[name] for flow in flows if math.isfinite(flow[name])]
        means[name] = float(np.mean(values)) if values else math.nan
    if guard is not None and guard.known_ranges is not None:
        means["fallbacks"] = float(np.mean([flow["fallbacks"] for flow in flows]))
    return {"reward": total / count, **means}
