"""What a policy earns on scenarios that no training run has seen."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from agents.settings import TrainSettings
from agents.simulations import LEARNER, Simulations

Act = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Maps observations (n, observation_dim) to actions (n, action_dim)."""

HELD_OUT_EPISODE = 1_000_000_000
"""Training counts its episodes from 0 and never comes here; the scenarios are the same for every seed."""
HELD_OUT_SEED = 0

METRICS = ("normalized_goodput", "delay_inflation", "loss_rate")


def evaluate(act: Act, settings: TrainSettings, episodes: int) -> dict[str, float]:
    """Run ``act`` without exploration on ``episodes`` held-out scenarios of the kind that ``settings`` draw.

    Returns:
        ``reward``: mean per flow and interval; and means over flows of `METRICS` (a flow's normalized goodput
        is over the whole bottleneck, so that n equal flows have 1/n each).
    """
    changes = {"seed": HELD_OUT_SEED, "num_envs": episodes, "backend": "simulator"}
    held_out = settings.model_copy(update=changes)
    simulations = Simulations(held_out, first_episode=HELD_OUT_EPISODE)
    simulations.start()
    batch = simulations.batch
    total, count = 0.0, 0
    while not batch.finished.all():
        active = batch.active & ~batch.finished[:, None]
        actions = np.zeros(simulations.action_shape, dtype=np.float32)
        if active.any():
            actions[active] = act(batch.observations[active])
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
