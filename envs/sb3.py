"""The native batch as a vector environment for Stable-Baselines3.

``import leogym.envs`` does not import this module, because importing Stable-Baselines3 takes seconds.
"""

from typing import Any, Unpack

import gymnasium
import leosim
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray

from leogym.common import extras
from leogym.common.errors import InputError
from leogym.configs.scenario import Scenario
from leogym.envs.actions import action_space, fit_shape, levels
from leogym.envs.flow import observation_space
from leogym.envs.frames import FPS, MODES
from leogym.envs.networks import NetworkEpisode
from leogym.envs.options import scenario_option
from leogym.envs.reports import ReportReader
from leogym.envs.scenarios import ScenarioLike
from leogym.envs.simulation import Options, single_flow
from leogym.envs.views import Viewing

with extras.needed_by("leogym.envs.sb3"):
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn


class Member:
    """One simulation of a `LeoVecEnv`; attributes that a caller sets stay with it."""

    def __init__(self, of: "LeoVecEnv", index: int) -> None:
        self._of, self._index = of, index

    @property
    def observation_space(self) -> Box:
        """Space of its observations."""
        return self._of.observation_space  # type: ignore[return-value]

    @property
    def action_space(self) -> Box:
        """Space of its actions."""
        return self._of.action_space  # type: ignore[return-value]

    @property
    def render_mode(self) -> str | None:
        """The render mode."""
        return self._of.render_mode

    @property
    def np_random(self) -> np.random.Generator | None:
        """The generator of its episodes; None before the first reset."""
        return self._of.generator(self._index)

    @property
    def scenario(self) -> Scenario | NetworkEpisode | None:
        """The scenario of its episode; None before the first reset."""
        return self._of.scenario(self._index)

    @property
    def unwrapped(self) -> "Member":
        """Itself: nothing wraps it."""
        return self

    def run_log(self) -> leosim.RunLog:
        """Return the run log of its episode so far."""
        return self._of.run_log(self._index)

    def has_wrapper_attr(self, name: str) -> bool:
        """Return whether it has the attribute ``name``."""
        return hasattr(self, name)

    def get_wrapper_attr(self, name: str) -> Any:
        """Return the attribute ``name``."""
        return getattr(self, name)


class LeoVecEnv(Viewing, VecEnv):
    """Many `envs.flow.FlowEnv` as a ``VecEnv`` of Stable-Baselines3.

    `step` resets a sub-environment whose episode ends. Its ``info`` then has ``terminal_observation``, the
    last observation of the old episode, and ``TimeLimit.truncated``, true at the scenario's end. Other
    entries of ``info`` are those of `FlowEnv` for the interval that ended.

    ``num_envs`` is the number of simulations, and ``threads`` step them (0: one per core). With
    ``render_mode="rgb_array"`` `render` returns one picture of all, which ``VecVideoRecorder`` records. Other
    arguments are those of `FlowEnv`. `get_attr`, `set_attr` and `env_method` address the simulations as
    `Member`.
    """

    _VIEWS = ("global_states", "_observations", "_rewards", "_active", "_finished", "_reports", "_paths")

    def __init__(
        self,
        num_envs: int = 1,
        scenario: ScenarioLike = None,
        agent: str = "astraea",
        backend: str = "simulator",
        *,
        actions: int | None = None,
        threads: int = 1,
        render_mode: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        self._simulations = single_flow(
            num_envs, scenario=scenario, agent=agent, backend=backend, threads=threads, **options
        )
        batch = self._batch = self._simulations.batch
        self.render_mode = render_mode
        self._frames = self._simulations.frames(render_mode, MODES[1:])
        self._levels = levels(actions)
        self._members = [Member(self, index) for index in range(num_envs)]
        super().__init__(
            num_envs, observation_space(batch.observation_bounds), action_space(batch.action_dim, actions)
        )
        self.metadata: dict[str, Any] = {
            **self.metadata,
            "render_fps": FPS if self._frames is None else self._frames.fps,
        }
        self.unwrapped_rewards = np.zeros(num_envs, np.float32)
        """Rewards of the last step, before any wrapper changes them."""
        self._reader = ReportReader(batch.report_fields)
        self._action_shape = (num_envs, batch.action_dim)
        self._actions = np.zeros((num_envs, 1, batch.action_dim), np.float32)
        self._rngs: list[np.random.Generator | None] = [None] * num_envs
        self._set_views()

    def _set_views(self) -> None:
        batch = self._batch
        self.global_states = batch.global_states
        """Input of a centralised critic, (num_envs, global_dim); every step overwrites it."""
        self._observations = batch.observations[:, 0]
        self._rewards = batch.rewards_view[:, 0]
        self._active, self._finished = batch.active[:, 0], batch.finished
        self._reports, self._paths = batch.reports[:, 0], batch.paths[:, 0]

    def reset(self) -> NDArray[np.float32]:
        """Start new episodes, with the seeds of an earlier `seed`; return (num_envs, observation_dim).

        Options of an earlier `set_options`, ``{"scenario": …}``, replace the environment's scenario in these
        episodes only.
        """
        if len(self._options) != self.num_envs:
            raise InputError(f"set_options: has {len(self._options)} entries, must be {self.num_envs}")
        scenarios = [scenario_option(options) for options in self._options]
        for index, seed in enumerate(self._seeds):
            if seed is not None or self._rngs[index] is None:
                self._rngs[index] = np_random(seed)[0]
            self._reset_one(index, scenarios[index])
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [
            info | self._simulations.episode(index) for index, info in enumerate(self._read_infos())
        ]
        return self._observations.copy()

    def step_async(self, actions: NDArray[np.float32]) -> None:
        """Store the actions (num_envs, action_dim) for `step_wait`."""
        if self._rngs[0] is None:
            raise ResetNeeded("call reset before step")
        if self._levels is not None:
            actions = self._levels(actions)
        self._actions[:, 0] = fit_shape(actions, self._action_shape)

    def step_wait(self) -> VecEnvStepReturn:
        """Run one monitor interval; return observations, rewards, dones and infos."""
        self._simulations.step(self._actions)
        if self._frames is not None:
            self._frames.record()
        observations, rewards = self._observations.copy(), self._rewards.copy()
        self.unwrapped_rewards = rewards
        infos = self._read_infos()
        if late := self._simulations.punctuality():
            for info in infos:
                info.update(late)
        dones = self._finished | ~self._active
        truncated = self._simulations.at_end()[:, 0]
        for index in np.flatnonzero(dones):
            infos[index]["terminal_observation"] = observations[index].copy()
            infos[index]["TimeLimit.truncated"] = bool(truncated[index])
            self._reset_one(int(index))
            observations[index] = self._observations[index]
        if dones.any():
            began = self._read_infos()
            for index in np.flatnonzero(dones).tolist():
                self.reset_infos[index] = began[index] | self._simulations.episode(index)
        return observations, rewards, dones, infos

    def _read_infos(self) -> list[dict[str, Any]]:
        return [*self._reader.read_rows(self._reports, self._paths)]

    def _reset_one(self, index: int, scenario: ScenarioLike = None) -> None:
        rng = self._rngs[index]
        assert rng is not None
        self._simulations.reset(index, rng, scenario)

    @property
    def repeatable(self) -> bool:
        """Whether `restore` can rebuild episodes, which it cannot on real TCP."""
        return self._simulations.repeatable

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`, as strings, numbers and arrays; call `reset` before."""
        rngs = [rng.bit_generator.state for rng in self._rngs if rng is not None]
        return {"rngs": rngs, "episodes": self._simulations.state()}

    def restore(self, state: dict[str, Any]) -> NDArray[np.float32]:
        """Continue from ``state``; return its observations (num_envs, observation_dim)."""
        for index, stored in enumerate(state["rngs"]):
            rng = np_random(0)[0]
            rng.bit_generator.state = stored
            self._rngs[index] = rng
        self._reset_seeds()  # pending seeds are for other episodes
        self._simulations.restore(state["episodes"])
        return self._observations.copy()

    def get_images(self) -> tuple[NDArray[np.uint8], ...]:
        """Return a frame (480, 800, 3) of each simulation; `render` tiles them. Needs ``rgb_array``."""
        return () if self._frames is None else self._frames.all()

    def close(self) -> None:
        """End a run on real TCP."""
        self._simulations.close()

    def generator(self, index: int) -> np.random.Generator | None:
        """Return the generator of the episodes of simulation ``index``; None before the first reset."""
        return self._rngs[index]

    def scenario(self, index: int) -> Scenario | NetworkEpisode | None:
        """Return the scenario of the episode of simulation ``index``; None before the first reset."""
        return self._simulations.scenario(index)

    def run_log(self, index: int) -> Any:
        """Return the run log of the episode of simulation ``index`` so far."""
        return self._batch.run_log(index)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of each simulation (`Member`), or else this object's for each."""
        members = self._of(indices)
        return [getattr(member if hasattr(member, attr_name) else self, attr_name) for member in members]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of simulations; raise AttributeError for those that are their state."""
        for member in self._of(indices):
            setattr(member, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of each simulation (`Member`)."""
        return [getattr(member, method_name)(*method_args, **method_kwargs) for member in self._of(indices)]

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Return False for each index: nothing wraps the simulations."""
        return [False for _ in self._get_indices(indices)]

    def _of(self, indices: VecEnvIndices) -> list[Member]:
        return [self._members[index] for index in self._get_indices(indices)]
