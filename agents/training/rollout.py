"""What a policy earns on scenarios that no training run has seen."""

from __future__ import annotations

import math
from collections.abc import Callable

import leosim
import numpy as np
from numpy.typing import NDArray

from agents.training.settings import TrainSettings
from agents.training.simulations import LEARNER, Simulations

Act = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Maps observations (n, observation_dim) to actions (n, action_dim)."""

Remembering = Callable[[NDArray[np.float32], NDArray[np.int64]], NDArray[np.float32]]
"""The same, of flows that are told apart by a number each."""

CHOOSING_EPISODE = 1_000_000_000
"""Episodes from here on choose the best checkpoint of a run, and the seed that ships. Training counts its own
from 0 and never comes here; the scenarios are the same for every seed."""
JUDGING_EPISODE = 2_000_000_000
"""Episodes from here on judge what was chosen, and have chosen nothing."""
HELD_OUT_SEED = 0

METRICS = ("power", "normalized_goodput", "delay_inflation", "loss_rate")


def acting(policy: leosim.Policy, flows: int) -> Remembering:
    """Return ``policy`` as what acts on up to ``flows`` flows; it remembers each, if it is recurrent."""
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
    """Return what `evaluate` does, of an exported ``policy``, which may be recurrent."""
    flows = episodes * settings.scenarios.max_learning_flows
    return _evaluate(acting(policy, flows), settings, episodes, first)


def evaluate_action(
    action: float, settings: TrainSettings, episodes: int, *, first: int = JUDGING_EPISODE
) -> dict[str, float]:
    """Return what `evaluate` does, of the same ``action`` at every interval: 0 leaves all as it is."""

    def act(observations: NDArray[np.float32], which: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.full((len(observations), 1), action, np.float32)

    return _evaluate(act, settings, episodes, first)


def evaluate(
    act: Act, settings: TrainSettings, episodes: int, *, first: int = JUDGING_EPISODE
) -> dict[str, float]:
    """Run ``act`` without exploration on ``episodes`` held-out scenarios of the kind that ``settings`` draw.

    Args:
        act: what acts.
        settings: ranges, specification, reward and interval.
        episodes: how many.
        first: the first of them, `JUDGING_EPISODE` or `CHOOSING_EPISODE`.

    Returns:
        ``reward``: mean per flow and interval; and means over flows of `METRICS` (a flow's normalized goodput
        is over the whole bottleneck, so that n equal flows have 1/n each).
    """
    return _evaluate(lambda observations, which: act(observations), settings, episodes, first)


def _evaluate(act: Remembering, settings: TrainSettings, episodes: int, first: int) -> dict[str, float]:
    changes = {"seed": HELD_OUT_SEED, "num_envs": episodes, "backend": "simulator", "curriculum": []}
    held_out = settings.model_copy(update=changes)
    simulations = Simulations(held_out, first_episode=first)
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
    return {"reward": total / count, **means}
