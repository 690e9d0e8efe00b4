"""Several learning flows as rows of a ``VecEnv``, so that they share one policy of a single-agent library."""

from typing import Any

import numpy as np
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from leogym.envs.actions import action_space
from leogym.envs.flow import observation_space
from leogym.envs.simulation import Simulations


class SharedFlowsVecEnv(VecEnv):
    """Simulations with several learning flows each; row ``simulation · flows + flow`` belongs to a flow.

    As SuperSuit's vector of a PettingZoo environment with constant agents: before a flow starts and after it
    stopped, its observation and reward are 0 and its actions are ignored. All rows of a simulation end
    together, at the end of its scenario.

    Args:
        simulations: number of simulations.
        arguments: arguments of `leogym.envs.simulation.Simulations`.
    """

    def __init__(self, simulations: int, **arguments: Any) -> None:
        self._simulations = Simulations(simulations, **arguments)
        batch = self._simulations.batch
        self._shape = (simulations, self._simulations.slots, batch.action_dim)
        self._rngs: list[np.random.Generator] = []
        self._actions = np.zeros(self._shape, np.float32)
        super().__init__(
            simulations * self._simulations.slots,
            observation_space(batch.observation_bounds),
            action_space(batch.action_dim),
        )

    def reset(self) -> NDArray[np.float32]:
        """Start new episodes, with the seeds of an earlier `seed`; return (num_envs, observation_dim)."""
        simulations, flows, _ = self._shape
        if not self._rngs or self._seeds[0] is not None:
            self._rngs = [np_random(self._seeds[index * flows])[0] for index in range(simulations)]
        for index, rng in enumerate(self._rngs):
            self._simulations.reset(index, rng)
        self._reset_seeds()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        return self._observe(self._simulations.batch.active)

    def step_async(self, actions: NDArray[np.float32]) -> None:
        """Store the actions (num_envs, action_dim) for `step_wait`."""
        self._actions[:] = actions.reshape(self._shape)

    def step_wait(self) -> VecEnvStepReturn:
        """Run one monitor interval; return observations, rewards, dones and infos."""
        batch, flows = self._simulations.batch, self._shape[1]
        acting = batch.active.copy()
        self._simulations.step(self._actions)
        rewards = np.where(acting, batch.rewards_view, 0.0).astype(np.float32).reshape(-1)
        # At the scenario's end no flow is active any more: those that acted have a last observation.
        observations = self._observe(batch.active | acting)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        finished = batch.finished.copy()
        for index in np.flatnonzero(finished).tolist():
            for row in range(index * flows, (index + 1) * flows):
                infos[row] = {
                    "terminal_observation": observations[row].copy(),
                    "TimeLimit.truncated": True,
                }
            self._simulations.reset(index, self._rngs[index])
        if finished.any():
            began = np.repeat(finished, flows)
            observations[began] = self._observe(batch.active)[began]
        return observations, rewards, np.repeat(finished, flows), infos

    def _observe(self, seen: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the observations of the flows that ``seen`` (simulations, flows) names, and zeros."""
        rows = np.where(seen[:, :, None], self._simulations.batch.observations, np.float32(0.0))
        return rows.reshape(self.num_envs, -1)

    def close(self) -> None:
        """End the simulations."""
        self._simulations.close()

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return this object's attribute for each row."""
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Raise AttributeError: rows have no attributes."""
        raise AttributeError(attr_name)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Raise AttributeError: rows have no methods."""
        raise AttributeError(method_name)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:
        """Return False for each row: nothing wraps them."""
        return [False for _ in self._get_indices(indices)]
