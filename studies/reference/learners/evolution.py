"""An evolution strategy on a network's weights: `leogym.agents.training.evolution`, a separable CMA-ES.

All candidates of a generation get the same episode, so that their returns differ by their actions only.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray

from leogym.agents.training.evolution import Evolution
from leogym.envs.seeding import mixed
from leogym.envs.simulation import Simulations
from studies.reference.learners.pickled import Pickled
from studies.reference.learners.tasks import Policy, Task


class EvolutionLearner(Pickled):
    """The distribution of candidates, and a simulation for each."""

    def __init__(self, algorithm: str, of: Task, hyperparameters: Mapping[str, Any], seed: int) -> None:
        self._h = h = {"population": 16, "hidden": 16, "deviation": 0.1, "episodes": 1, **hyperparameters}
        self._task, self._seed = of, seed
        self._simulations = Simulations(h["population"] * h["episodes"], single=of.flows == 1, **of.arguments)
        batch = self._simulations.batch
        inputs, outputs = batch.observation_dim, batch.action_dim
        self._shapes = ((inputs, h["hidden"]), (h["hidden"],), (h["hidden"], outputs), (outputs,))
        self._rng = np.random.default_rng(seed)
        first = [
            self._rng.standard_normal(shape) / np.sqrt(inputs) if place == 0 else np.zeros(shape)
            for place, shape in enumerate(self._shapes)
        ]
        self._evolution = Evolution.around(np.concatenate([part.ravel() for part in first]), h["deviation"])
        self.steps = 0

    def learn_until(self, steps: int) -> None:
        """Train to the first end of a generation at or after ``steps``."""
        while self.steps < steps:
            candidates = self._evolution.candidates(self._rng, self._h["population"])
            self._evolution.learn(candidates, self._returns(candidates))

    def _returns(self, candidates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean return of each candidate over this generation's episodes, and count their steps."""
        h, batch, flows = self._h, self._simulations.batch, self._task.flows
        for episode in range(h["episodes"]):
            seed = mixed([self._seed, self._evolution.generation, episode])
            for candidate in range(h["population"]):
                self._simulations.reset(candidate * h["episodes"] + episode, np_random(seed)[0])
        parts = self._parts(candidates)
        total = np.zeros(h["population"] * h["episodes"])
        running = np.ones(len(total), np.bool_)
        while running.any():
            acting = batch.active & running[:, None]
            rows = batch.observations.reshape(h["population"], h["episodes"] * flows, -1)
            actions = self._task.numbers(act(parts, rows).reshape(len(total) * flows, -1))
            self._simulations.step(actions.reshape(len(total), flows, -1))
            total += np.where(acting, batch.rewards_view, 0.0).sum(axis=1)
            self.steps += int(running.sum())
            running &= ~batch.finished & (batch.active.any(axis=1) | (flows > 1))
        return total.reshape(h["population"], h["episodes"]).mean(axis=1)

    def _parts(self, candidates: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Split ``candidates`` (count, weights) into the network's arrays, each (count, …)."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self._shapes])[:-1]
        parts = np.split(candidates, ends, axis=1)
        return [
            part.reshape(len(candidates), *shape) for part, shape in zip(parts, self._shapes, strict=True)
        ]

    def policy(self, rows: int) -> Policy:
        """Return the policy of the distribution's mean."""
        parts = self._parts(self._evolution.mean[None])

        def policy(observations: NDArray[np.float32], begins: NDArray[np.bool_]) -> NDArray[Any]:
            return act(parts, observations[None])[0]

        return policy


def act(parts: list[NDArray[np.float64]], observations: NDArray[Any]) -> NDArray[np.float64]:
    """Return the actions (count, rows, action_dim) of each network on its rows (count, rows, inputs)."""
    first, first_bias, second, second_bias = parts
    # Features are up to 10,000 without a bound of their own.
    hidden = np.tanh(np.clip(observations, -10.0, 10.0) @ first + first_bias[:, None])
    return np.tanh(hidden @ second + second_bias[:, None])
