"""Learning flows that start and stop during an episode, as a PettingZoo ``ParallelEnv``."""

from collections.abc import Mapping
from typing import Any, Unpack, cast

import numpy as np
import pettingzoo
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Space
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from leogym.common.errors import InputError
from leogym.configs.scenario import Scenario
from leogym.envs.actions import action_space, fit_shape, levels
from leogym.envs.flow import observation_space
from leogym.envs.frames import FPS, MODES, with_frame_rate
from leogym.envs.networks import NetworkEpisode
from leogym.envs.options import scenario_option
from leogym.envs.reports import ReportReader
from leogym.envs.scenarios import ScenarioLike
from leogym.envs.simulation import Options, Simulations
from leogym.envs.views import Viewing
from leogym.registration import NETWORK, PAIR

FLOWS_ID = "leo/Flows-v0"
PAIR_ID = "leo/Pair-v0"
NETWORK_ID = "leo/Network-v0"

Observations = dict[str, NDArray[np.float32]]
Infos = dict[str, dict[str, Any]]


class FlowsParallelEnv(Viewing, ParallelEnv[str, NDArray[np.float32], NDArray[np.float32]]):
    """Learning flows over simulated links; each flow is an agent.

    ## Description
    As `envs.flow.FlowEnv`, for every flow of scheme ``agent`` in the scenario. All flows act together, once
    per monitor interval. Agents are called ``flow_0``, ``flow_1``, … in the scenario's order.

    ## Observation Space
    That of `envs.flow.FlowEnv` for each agent. `state` is the global state for a centralised critic: with
    ``agent="astraea"`` 12 numbers (sum, minimum and maximum of throughput; mean RTT; minimum, maximum and
    mean window; mean loss; number of flows; one-way delay, buffer and rate of the bottleneck).

    ## Action Space
    That of `envs.flow.FlowEnv` for each agent. An agent without an action keeps its window.

    ## Information
    As `envs.flow.FlowEnv` for each agent, but only numbers, because clients make arrays of them. `scenario`
    has the episode's name and seed. Capacity and base RTT are those of each flow's path.

    ## Rewards
    With ``reward="astraea"``, all agents get the same reward.

    ## Starting State
    The first report of the first learning flow.

    ## Episode End
    An agent is terminated when its flow stops and truncated when the scenario's duration is over. A flow
    that starts during the episode joins `agents` with its first report: `step` returns its observation,
    reward 0 and neither flag. If no learning flow runs but one starts later, `step` runs the simulation until
    then. When no learning flow is left, the episode is over and `agents` is empty.

    ## Copies
    As `envs.flow.FlowEnv`.

    ## Arguments
    Those of `envs.flow.FlowEnv`, and ``max_learning_flows`` for a callable scenario without that attribute.
    `parallel_env` also takes ``constant_agents``, for clients that assume the same agents in every step.

    ## Version History
    - v0: first version.
    """

    metadata = {  # noqa: RUF012
        "name": "leo/Flows-v0",
        "render_modes": list(MODES),
        "render_fps": FPS,
        "is_parallelizable": True,
    }

    _VIEWS = (
        *("_rewards", "_active", "_finished", "_paths"),
        *("_actions", "_observation", "_report", "_action"),
    )

    def __init__(
        self,
        scenario: ScenarioLike = None,
        agent: str = "astraea",
        backend: str = "simulator",
        *,
        actions: int | None = None,
        render_mode: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        self.render_mode = render_mode
        self._levels = levels(actions)
        self._simulations = Simulations(1, scenario=scenario, agent=agent, backend=backend, **options)
        batch = self._batch = self._simulations.batch
        self.possible_agents = [f"flow_{slot}" for slot in range(self._simulations.slots)]
        self._slot = {name: slot for slot, name in enumerate(self.possible_agents)}
        self.agents: list[str] = []
        # Always the same object per agent, so that seeding a space lasts.
        self.observation_spaces = {name: observation_space(batch.observation_bounds) for name in self._slot}
        self.action_spaces = {name: action_space(batch.action_dim, actions) for name in self._slot}
        self.state_space = Box(-np.inf, np.inf, (batch.global_dim,), np.float32)
        self._action_shape = (batch.action_dim,)
        self._reader = ReportReader(batch.report_fields)
        self._ran = b""  # `_active` of the last step, as bytes
        self._rng: np.random.Generator | None = None
        self._frames = self._simulations.frames(render_mode, MODES)
        self.metadata = with_frame_rate(self.metadata, self._frames)
        self._set_views()

    def _set_views(self) -> None:
        batch = self._batch
        self._rewards = batch.rewards_view[0]
        self._active, self._finished = batch.active[0], batch.finished
        self._paths = batch.paths[0]
        self._actions = np.zeros((1, self._simulations.slots, batch.action_dim), np.float32)
        # Views of each agent's rows of the batch's arrays, which never move.
        self._observation = dict(zip(self._slot, batch.observations[0], strict=True))
        self._report = dict(zip(self._slot, batch.reports[0], strict=True))
        self._action = dict(zip(self._slot, self._actions[0], strict=True))

    def observation_space(self, agent: str) -> Box:
        """Return the observation space of ``agent``, always the same object."""
        return cast(Box, self.observation_spaces[agent])

    def action_space(self, agent: str) -> Space[Any]:
        """Return the action space of ``agent``, always the same object."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Start the next episode; the same ``seed`` gives the same episode.

        ``options={"scenario": …}`` replaces the environment's scenario in this episode only.
        """
        scenario = scenario_option(options, ignored="options")  # a key that PettingZoo's API test passes
        if seed is not None or self._rng is None:
            self._rng = np_random(seed)[0]
        self._simulations.reset(0, self._rng, scenario)
        self.agents = self._update_running()
        return self._copy_observations(self.agents), self._read_infos(self.agents)

    def step(
        self, actions: Mapping[str, NDArray[np.float32]]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Apply one action (action_dim,) per agent and run one monitor interval."""
        if not self.agents:
            raise ResetNeeded("the episode is over: call reset")
        acting = self.agents
        if len(actions) < len(self._action):
            self._actions.fill(0.0)
        for name, action in actions.items():
            if name not in self._action:
                agents = ", ".join(self.possible_agents)
                raise InputError(f"actions: {name!r}: no such agent (there are: {agents})")
            numbers = action if self._levels is None else self._levels(action)
            self._action[name][:] = fit_shape(numbers, self._action_shape)
        self._simulations.step(self._actions)
        if self._frames is not None:
            self._frames.record()

        # In almost every step the set of flows does not change: skip the work then.
        reported = acting
        if self._finished[0] or self._active.tobytes() != self._ran:
            self.agents = [] if self._finished[0] else self._update_running()
            reported = acting + [name for name in self.agents if name not in acting]
        truncations, terminations = dict.fromkeys(reported, False), dict.fromkeys(reported, False)
        if len(self.agents) < len(reported):
            at_end = self._simulations.at_end()[0]
            for name in reported:
                if name not in self.agents:
                    ended = truncations if at_end[self._slot[name]] else terminations
                    ended[name] = True
        # Flows that joined in this step did not act: the batch gives them reward 0.
        by_slot = self._rewards.tolist()
        rewards = {name: by_slot[self._slot[name]] for name in reported}
        return (
            self._copy_observations(reported),
            rewards,
            terminations,
            truncations,
            self._read_infos(reported),
        )

    def state(self) -> NDArray[np.float32]:
        """Return the global state (global_dim,)."""
        return self._batch.global_states[0].copy()

    @property
    def scenario(self) -> Scenario | NetworkEpisode | None:
        """The scenario of the episode; None before the first reset."""
        return self._simulations.scenario(0)

    def _update_running(self) -> list[str]:
        self._ran = self._active.tobytes()
        active = self._active.tolist()
        return [name for name, runs in zip(self.possible_agents, active, strict=True) if runs]

    def _copy_observations(self, agents: list[str]) -> Observations:
        return {name: self._observation[name].copy() for name in agents}

    def _read_infos(self, agents: list[str]) -> Infos:
        # One conversion for all agents, because a conversion costs as much as a report's rates.
        paths = self._paths.tolist()
        read, reports, slots = self._reader.read, self._report, self._slot
        infos: Infos = {name: read(reports[name], paths[slots[name]]) for name in agents}
        if late := self._simulations.punctuality():
            for info in infos.values():
                info.update(late)
        return infos

    def render(self) -> NDArray[np.uint8] | None:
        """Return a frame of all flows, or None; see `envs.flow.FlowEnv.render`."""
        return None if self._frames is None else self._frames.render()

    def close(self) -> None:
        """End a run on real TCP, and close the window."""
        if self._frames is not None:
            self._frames.close()
        self._simulations.close()


class ConstantFlowsParallelEnv(FlowsParallelEnv):
    """`FlowsParallelEnv` with all agents from `reset` to the end, whether their flows run or not.

    SuperSuit's and TorchRL's vector environments need it. `agents` are `possible_agents` until the episode is
    over. All end together: truncated if the scenario's end stopped a flow, else terminated.

    An agent is active in a step if `FlowsParallelEnv` would report it; ``info[agent]["active"]`` says so, and
    `active` for all agents. An inactive agent gets zeros as observation, reward and ``info``; its actions are
    ignored. A transition is a flow's if the agent is active before and after it.

    Attributes:
        active: whether each of `possible_agents` is active, (agents,).
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.active = np.zeros(len(self.possible_agents), np.bool_)
        self._flows: list[str] = []

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Start the next episode, as `FlowsParallelEnv.reset`."""
        observations, infos = super().reset(seed, options)
        self._flows, self.agents = self.agents, [*self.possible_agents]
        return self._complete(observations, infos)

    def step(
        self, actions: Mapping[str, NDArray[np.float32]]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Apply the actions of the agents whose flows run, and run one monitor interval."""
        self.agents, present = self._flows, self.agents
        ignored = self._slot.keys() - self._flows  # an unknown name is not ignored but refused
        acting = {name: action for name, action in actions.items() if name not in ignored}
        observations, rewards, _, truncations, infos = super().step(acting)
        self._flows, over = self.agents, not self.agents
        truncated = over and any(truncations.values())
        self.agents = [] if over else present
        observations, infos = self._complete(observations, infos)
        return (
            observations,
            {name: rewards.get(name, 0.0) for name in present},
            dict.fromkeys(present, over and not truncated),
            dict.fromkeys(present, truncated),
            infos,
        )

    def _complete(self, observations: Observations, infos: Infos) -> tuple[Observations, Infos]:
        self.active = np.array([name in observations for name in self.possible_agents])
        # Clients that gather infos in arrays need all entries in every step: 0, or the empty text.
        nothing = {key: type(value)() for key, value in next(iter(infos.values())).items()}
        return (
            {
                name: observations[name] if name in observations else np.zeros_like(self._observation[name])
                for name in self.possible_agents
            },
            {
                name: {**infos.get(name, nothing), "active": bool(active)}
                for name, active in zip(self.possible_agents, self.active, strict=True)
            },
        )


def parallel_env(
    scenario: ScenarioLike = None, agent: str = "astraea", *, constant_agents: bool = False, **arguments: Any
) -> FlowsParallelEnv:
    """Make a `FlowsParallelEnv`, with ``constant_agents`` a `ConstantFlowsParallelEnv`.

    The name follows PettingZoo's modules.
    """
    face = ConstantFlowsParallelEnv if constant_agents else FlowsParallelEnv
    return face(scenario, agent, **arguments)


# Workers of RLlib may import this module twice, and the registry warns about a second entry.
if FLOWS_ID not in pettingzoo.parallel_registry:
    ENTRY_POINT = "leogym.envs.parallel:parallel_env"
    pettingzoo.register("parallel", FLOWS_ID, ENTRY_POINT)
    pettingzoo.register("parallel", PAIR_ID, ENTRY_POINT, kwargs={"scenario": PAIR})
    pettingzoo.register("parallel", NETWORK_ID, ENTRY_POINT, kwargs=NETWORK)
