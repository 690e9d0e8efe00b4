"""Lessons before training: the actor imitates a rule on observations that it reaches itself (DAgger).

Each lesson steps simulations in which some flows follow the rule and the others the actor. It then fits the
actor to the rule's actions on all observations so far (Ross, Gordon and Bagnell, "A reduction of imitation
learning and structured prediction to no-regret online learning", AISTATS 2011). The rule is a function of the
observation, so lessons store only observations.
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from leogym.agents.astraea import sawtooth
from leogym.agents.astraea.actor_critic import Actor
from leogym.agents.astraea.settings import AstraeaSettings
from leogym.agents.astraea.td3 import act
from leogym.agents.training.episode_batch import Episodes

FIRST_EPISODE = 3_000_000_000
"""First of the lessons' episodes; training, choosing and evaluation never use them."""
FOLLOW_THE_RULE = 0.2
"""Share of the flows that follow the rule in a lesson after the first; in the first one all do."""
SURPRISES = 0.03
"""Share of random actions, so the actor also sees situations to recover from."""
KEPT = 0.25
"""Share of the observations that a lesson keeps, as those of one flow are similar."""


def imitate(
    actor: Actor,
    rule: Callable[[Tensor], Tensor],
    settings: AstraeaSettings,
    report_lesson: Callable[[int, float], None] = lambda lesson, error: None,
) -> None:
    """Fit ``actor`` to ``rule`` in ``settings.lessons`` lessons.

    ``rule`` maps observations (n, observation_dim) to actions (n, action_dim). ``report_lesson`` is called
    with the number of each lesson and the mean squared error of its fit.
    """
    changes = {"curriculum": [], "num_envs": settings.lesson_envs or settings.num_envs}
    simulations = Episodes(settings.model_copy(update=changes), first_episode=FIRST_EPISODE)
    sawtooth.check(simulations.batch.observation_dim, settings.spec)
    simulations.start()
    rng = np.random.default_rng([settings.seed, 2])
    optimiser = torch.optim.Adam(actor.parameters(), settings.lesson_learning_rate, fused=True)
    updates = settings.lessons * settings.lesson_updates
    batches: list[NDArray[np.float32]] = []
    for lesson in range(settings.lessons):
        batches += _observe(simulations, actor, rule, 1.0 if lesson == 0 else FOLLOW_THE_RULE, settings, rng)
        observations = torch.from_numpy(np.concatenate(batches))
        wanted = rule(observations)
        if lesson == 0 and settings.start_from is None:  # random weights suit any inputs
            actor.whitening.fit(observations)
        elif lesson == 0:
            actor.whiten(observations)
        total = 0.0
        actor.train()
        for update in range(settings.lesson_updates):
            done = (lesson * settings.lesson_updates + update) / updates
            optimiser.param_groups[0]["lr"] = settings.lesson_learning_rate * (1 - done)
            batch = torch.from_numpy(rng.integers(len(observations), size=settings.lesson_batch))
            error = functional.mse_loss(actor(observations[batch]), wanted[batch])
            optimiser.zero_grad(set_to_none=True)
            error.backward()
            optimiser.step()
            total += error.item()
        report_lesson(lesson + 1, total / settings.lesson_updates)
    simulations.close()


def _observe(
    simulations: Episodes,
    actor: Actor,
    rule: Callable[[Tensor], Tensor],
    share: float,
    settings: AstraeaSettings,
    rng: np.random.Generator,
) -> list[NDArray[np.float32]]:
    """Step ``simulations`` for a lesson; return observations in arrays (n, observation_dim)."""
    batch = simulations.batch
    follows = rng.random((simulations.size, simulations.slots)) < share
    observed: list[NDArray[np.float32]] = []
    for _ in range(settings.lesson_intervals):
        active = batch.active.copy()
        observations = batch.observations[active]
        actions = np.zeros(simulations.action_shape, np.float32)
        wanted = rule(torch.from_numpy(observations)).numpy()
        chosen = np.where(follows[active][:, None], wanted, act(actor.eval(), observations))
        surprising = rng.random(chosen.shape) < SURPRISES
        actions[active] = np.where(surprising, rng.uniform(-1, 1, chosen.shape), chosen)
        observed.append(observations[rng.random(len(observations)) < KEPT])
        simulations.step(actions)
        for index in np.flatnonzero(batch.finished):
            simulations.restart(int(index))
    return observed
