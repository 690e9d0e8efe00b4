"""The environments of the reference results: for training as a ``VecEnv``, and their held-out episodes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from leogym.agents.returns import FIRST_SEED
from leogym.common.errors import InputError
from leogym.envs.actions import action_space, levels
from leogym.envs.parallel import PAIR_ID
from leogym.envs.sb3 import LeoVecEnv
from leogym.envs.simulation import Simulations
from leogym.registration import PAIR, PAIR_STEPS, PRESETS
from studies.reference.learners.pickled import WholeInPickles
from studies.reference.learners.shared_flows import SharedFlowsVecEnv

EPISODES = 32
"""Held-out episodes of each evaluation, the same ones for all algorithms."""

Rows = NDArray[Any]
Policy = Callable[[Rows, NDArray[np.bool_]], Rows]
"""Maps observations (rows, observation_dim), and whether each row's flow begins (rows,), to actions.

They are numbers (rows, action_dim) or indices of discrete actions (rows,). Recurrent policies reset their
memory where a flow begins."""


@dataclass(frozen=True)
class Task:
    """A registered environment."""

    id: str
    flows: int
    """Learning flows of each simulation."""
    steps: int
    """Steps of an episode."""
    arguments: dict[str, Any]
    """Arguments of the environment, without ``actions``."""
    actions: int | None = None
    """Number of discrete actions; None if they are continuous."""

    def training_env(self, num_envs: int, *, discrete: bool = True) -> VecEnv:
        """Return ``num_envs`` simulations as a ``VecEnv`` with a row for each learning flow.

        ``discrete=False`` gives discrete actions a continuous space, for algorithms that need one: a number
        in [-1, 1] selects the nearest of the actions.
        """
        if self.flows > 1:
            return SharedFlowsVecEnv(num_envs, **self.arguments)
        if self.actions is not None and not discrete:
            return NearestAction(LeoVecEnv(num_envs, **self.arguments), self.actions)
        return LeoVecEnv(num_envs, actions=self.actions, **self.arguments)

    def numbers(self, actions: Rows) -> NDArray[np.float32]:
        """Return ``actions`` of a `Policy` as the simulator takes them, (rows, action_dim)."""
        of_index = levels(self.actions)
        if of_index is None:
            return np.clip(actions, -1.0, 1.0).astype(np.float32).reshape(len(actions), -1)
        if np.asarray(actions).dtype.kind == "f":
            actions = nearest(actions.reshape(len(actions)), of_index.count)
        return of_index(actions)[:, None]


TASKS = {
    **{
        preset.id: Task(
            preset.id,
            flows=1,
            steps=preset.steps,
            arguments={name: value for name, value in preset.kwargs.items() if name != "actions"},
            actions=preset.kwargs.get("actions"),
        )
        for preset in PRESETS
    },
    PAIR_ID: Task(PAIR_ID, flows=2, steps=PAIR_STEPS, arguments={"scenario": PAIR}),
}
"""The environments of the reference results by their id."""


def task(name: str) -> Task:
    """Return the environment ``name``, or raise `InputError`."""
    if name not in TASKS:
        raise InputError(f"{name}: unknown environment (there are: {', '.join(TASKS)})")
    return TASKS[name]


def nearest(actions: Rows, count: int) -> NDArray[np.int64]:
    """Return the index of the discrete action next to each number in [-1, 1]."""
    return np.rint((np.clip(actions, -1.0, 1.0) + 1.0) / 2.0 * (count - 1)).astype(np.int64)


class NearestAction(WholeInPickles, VecEnvWrapper):
    """Discrete actions for algorithms with continuous ones: a number selects the nearest level."""

    def __init__(self, venv: VecEnv, count: int) -> None:
        super().__init__(venv, action_space=action_space(1))
        self._count = count

    def reset(self) -> VecEnvObs:
        """Reset the environment."""
        return self.venv.reset()

    def step_async(self, actions: NDArray[np.float32]) -> None:
        """Step the environment with the levels next to ``actions`` (num_envs, 1)."""
        of_index = levels(self._count)
        assert of_index is not None
        self.venv.step_async(of_index(nearest(actions, self._count)))

    def step_wait(self) -> VecEnvStepReturn:
        """Return the step's results."""
        return self.venv.step_wait()


def held_out_returns(
    of: Task, policy: Policy, episodes: int = EPISODES, first_seed: int = FIRST_SEED
) -> NDArray[np.float64]:
    """Return the returns of ``policy`` in the same ``episodes`` at each call, (episodes,).

    The return of an episode with several flows is the mean over flows. `agents.returns` has the same
    episodes with the default seed.
    """
    simulations = Simulations(episodes, single=of.flows == 1, **of.arguments)
    for index in range(episodes):
        simulations.reset(index, np_random(first_seed + index)[0])
    batch = simulations.batch
    total = np.zeros((episodes, of.flows))
    running = np.ones(episodes, np.bool_)
    was_active = np.zeros((episodes, of.flows), np.bool_)
    while running.any():
        active = batch.active & running[:, None]
        rows = batch.observations.reshape(episodes * of.flows, -1)
        begins = (active & ~was_active).reshape(-1)
        actions = of.numbers(policy(np.where(active.reshape(-1, 1), rows, np.float32(0.0)), begins))
        simulations.step(actions.reshape(episodes, of.flows, -1))
        total += np.where(active, batch.rewards_view, 0.0)
        was_active = active
        running &= ~batch.finished & (batch.active.any(axis=1) | (of.flows > 1))
    simulations.close()
    return total.mean(axis=1)
