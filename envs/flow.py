"""``leo/Flow-v0``: one learning flow among other flows, and its native vector environment."""

from collections.abc import Sequence
from typing import Any, Unpack, cast

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.envs.actions import action_space, fit_shape, levels
from leogym.envs.frames import FPS, MODES, with_frame_rate
from leogym.envs.options import parse_limit, parse_mask, parse_mode, scenario_option, scenario_options
from leogym.envs.reports import FIELDS, ReportReader
from leogym.envs.scenarios import ScenarioLike
from leogym.envs.seeding import Rank, rank_of, rank_of_caller, seed_of_rank
from leogym.envs.simulation import Options, single_flow
from leogym.envs.views import Viewing

_PRESENCE = tuple(f"_{name}" for name in FIELDS)
"""Keys of Gymnasium's masks in a vector environment's ``info``."""

Observation = NDArray[np.float32]


def observation_space(bounds: tuple[Observation, Observation]) -> Box:
    """Return the space of observations between the two ``bounds``, each (observation_dim,)."""
    return Box(*bounds, dtype=np.float32)


class FlowEnv(Viewing, gymnasium.Env[Observation, NDArray[np.float32]]):
    """One learning flow over simulated links, among other flows.

    ## Description
    The flow is a backlogged TCP sender. Every monitor interval (30 ms of simulated time by default) the agent
    sees the flow's measurements and sets its congestion window. Links have a static rate and delay or follow
    the trace of a low-earth-orbit path with its handovers and outages; other flows run the schemes that the
    scenario names. The simulator models every packet, ACK, loss and retransmission.

    ## Observation Space
    With ``agent="astraea"``: ``Box(0, high, (50,), float32)``: the ten features below for each of the last
    five intervals, oldest first; intervals before the first are zeros. Larger values are clipped.

    | Num | Feature | High |
    |---|---|---|
    | 0 | mean delivery rate / its maximum so far (0.5 without a sample) | 1 |
    | 1 | mean RTT / minimum RTT (2 without a sample) | 2 |
    | 2 | smoothed RTT / minimum RTT | 2 |
    | 3 | congestion window in bits / minimum RTT, over ten times the maximum delivery rate in bytes/s | 2 |
    | 4 | maximum delivery rate / 10 MB/s | 10,000 |
    | 5 | minimum RTT / 0.5 s | 10,000 |
    | 6 | bytes lost per second / maximum delivery rate | 10,000 |
    | 7 | packets in flight / congestion window | 10,000 |
    | 8 | pacing rate / maximum delivery rate | 2 |
    | 9 | retransmissions in flight / congestion window | 10,000 |

    With ``normalize_observations=True``: ``Box(-1, 1, (50,), float32)``, each feature x as x / (1 + |x|).

    ## Action Space
    With ``agent="astraea"``: ``Box(-1, 1, (1,), float32)``: the congestion window grows to
    ``ceil(cwnd · (1 + 0.025 a))`` for a ≥ 0 and shrinks to ``floor(cwnd / (1 − 0.025 a))`` for a < 0.
    The sender paces at window over smoothed RTT. ``agents/README.md`` lists the other specifications, such as
    ``"orca"`` and ``"aurora"``; ``"OBSERVATION+ACTION"`` composes one.

    ## Rewards
    ``reward="astraea"``: the Astraea paper's weighted sum of throughput, queueing delay, loss, fairness and
    stability over all learning flows, within [-0.1, 0.1]. ``leosim.Batch.rewards()`` lists the others;
    ``reward="throughput:1,delay:-0.5"`` sums weighted terms.

    ## Starting State
    The first report of the learning flow, one interval after its start. Every reset draws the simulation's
    seed from the environment's generator, and the scenario too unless it is fixed.

    ## Episode End
    Truncation when the scenario's duration is over; termination when the learning flow stops earlier.

    ## Information
    ``info`` of `reset` and `step` has the interval's ``time_s``, ``goodput_mbps``, ``send_mbps``,
    ``loss_mbps``, ``rtt_ms``, ``min_rtt_ms``, ``cwnd_packets`` and ``pacing_mbps``, 0 without a sample. It
    also has the bottleneck's ``capacity_mbps`` and the ``base_rtt_ms`` at the interval's end, which no sender
    can measure. ``info`` of `reset` also has the ``scenario``'s name and its ``seed``.

    ## Arguments
    - ``scenario``: a `configs.scenario.Scenario`, a mapping of one, a YAML file, a name from
      ``configs/scenarios`` or ``configs/suites``, a sampler (``"astraea"``, ``"leo"`` or ranges of
      `configs.sampling`), or a callable ``(rng) -> Scenario``. A sampler of several flows gives one that
      learns, unless it sets ``learning_flows``; a suite gives any of its scenarios. Default: 100 Mbit/s,
      50 ms base RTT, a buffer of 1 BDP, 60 s, one flow. ``reset(options={"scenario": …})`` takes the same,
      for one episode.
    - ``actions``: number of discrete actions, evenly spaced from -1 to 1: the action space is then
      ``Discrete``, or ``MultiDiscrete`` for an action of several numbers. Default: continuous.
    - ``agent``: the agent specification. ``reward``: the reward's name. ``interval_ms``: the monitor
      interval in ms.
    - ``backend``: ``"simulator"``; ``"mahimahi"`` or ``"kernel"`` for real TCP, where `step` waits one
      monitor interval of real time. ``info`` then has two more entries. ``late_decisions`` counts the
      intervals so far that ended before the action on the previous interval. ``invalid`` says at the
      episode's end why its result is invalid; otherwise it is an empty string.
    - ``normalize_observations``: whether observations are scaled to [-1, 1]. Policies that run without Python
      need unscaled ones.
    - ``policies``: policy folders by scheme, for other flows that trained policies control.
    - ``render_mode``: ``"rgb_array"``: `render` returns a frame; ``"human"``: a window shows it.

    ## Vectorized environment
    ``gymnasium.make_vec("leo/Flow-v0", num_envs=16)`` steps all simulations in one native call and gives
    the same results for the same seeds; ``threads=0`` uses all cores.

    ## Copies
    ``copy.deepcopy`` and ``pickle`` keep the running episode and the generator: the copy gives the trajectory
    that the original gives. A pickle holds the episode's scenario and actions; reading it runs them again.
    Environments on real TCP cannot be copied.

    ## Version History
    - v0: first version.
    """

    metadata = {"render_modes": list(MODES), "render_fps": FPS}  # noqa: RUF012 (declared so by gymnasium.Env)

    rank: Rank = ()
    """Rank of the process that samples; see `envs.seeding`."""

    _VIEWS = ("_observation", "_rewards", "_active", "_finished", "_report", "_path")

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
        if hasattr(scenario, "worker_index"):  # RLlib passes its EnvContext, a dict of all arguments
            self.__init__(**cast(Any, scenario))
            self.rank = rank_of(scenario)
            return
        self.render_mode = render_mode
        self.rank = rank_of_caller()
        self._simulations = single_flow(1, scenario=scenario, agent=agent, backend=backend, **options)
        batch = self._batch = self._simulations.batch
        self.observation_space = observation_space(batch.observation_bounds)
        self._levels = levels(actions)
        self.action_space = action_space(batch.action_dim, actions)
        self._reader = ReportReader(batch.report_fields)
        self._action_shape = (batch.action_dim,)
        self._actions = np.zeros((1, 1, batch.action_dim), np.float32)
        self._over = True
        self._frames = self._simulations.frames(render_mode, MODES)
        self.metadata = with_frame_rate(self.metadata, self._frames)
        self._set_views()

    def _set_views(self) -> None:
        batch = self._batch
        self._observation = batch.observations[0, 0]
        self._rewards = batch.rewards_view
        self._active, self._finished = batch.active, batch.finished
        self._report, self._path = batch.reports[0, 0], batch.paths[0, 0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start the next episode; the same ``seed`` gives the same episode.

        ``options={"scenario": …}`` replaces the environment's scenario in this episode only.
        """
        scenario = scenario_option(options)
        super().reset(seed=seed_of_rank(seed, self.rank))
        self._simulations.reset(0, self.np_random, scenario)
        self._over = False
        return self._observation.copy(), {**self._read_info(), **self._simulations.episode(0)}

    def step(self, action: NDArray[np.float32]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Apply ``action`` (action_dim,), or a discrete one, and run one monitor interval."""
        if self._over:
            raise ResetNeeded("the episode is over: call reset")
        numbers = action if self._levels is None else self._levels(action)
        self._actions[0, 0] = fit_shape(numbers, self._action_shape)
        self._simulations.step(self._actions)
        if self._frames is not None:
            self._frames.record()
        self._over = bool(self._finished[0] or not self._active[0, 0])
        truncated = self._over and bool(self._simulations.at_end()[0, 0])
        terminated = self._over and not truncated
        return (
            self._observation.copy(),
            float(self._rewards[0, 0]),
            terminated,
            truncated,
            self._read_info(),
        )

    def render(self) -> NDArray[np.uint8] | None:
        """Return a frame (480, 800, 3) of the episode's last 20 s for ``rgb_array``, else None.

        With ``human``, `reset` and `step` show the frame in a window.
        """
        return None if self._frames is None else self._frames.render()

    def close(self) -> None:
        """End a run on real TCP, and close the window."""
        if self._frames is not None:
            self._frames.close()
        self._simulations.close()

    def _read_info(self) -> dict[str, Any]:
        info: dict[str, Any] = self._reader.read(self._report, self._path.tolist())
        info.update(self._simulations.punctuality())
        return info


class FlowVectorEnv(Viewing, VectorEnv[Observation, NDArray[np.float32], NDArray[Any]]):
    """Many `FlowEnv` that native code steps together; ``gymnasium.make_vec`` returns it.

    Takes the arguments of `FlowEnv`, and ``threads`` (0: one per core). Observations, rewards, flags and
    ``info`` are those of ``gymnasium.vector.SyncVectorEnv`` over `FlowEnv`.

    ``autoreset_mode`` says when a sub-environment whose episode ended is reset. ``"NextStep"``: by the next
    `step`, which ignores its action. ``"SameStep"``: in the same `step`, with the last observation and
    information in ``info["final_obs"]`` and ``info["final_info"]``. ``"Disabled"``: only by `reset`.
    ``max_episode_steps`` truncates longer episodes, as ``gymnasium.wrappers.TimeLimit`` (None, -1: no limit).
    """

    metadata = {  # noqa: RUF012
        "render_modes": [MODES[1]],
        "render_fps": FPS,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    rank: Rank = ()
    """Rank of the process that samples; see `envs.seeding`."""

    _VIEWS = ("_observations", "_rewards", "_active", "_finished", "_reports", "_paths")

    def __init__(
        self,
        num_envs: int = 1,
        scenario: ScenarioLike = None,
        agent: str = "astraea",
        backend: str = "simulator",
        *,
        actions: int | None = None,
        threads: int = 1,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        self.num_envs = num_envs
        self.rank = rank_of_caller()
        self._autoreset = parse_mode(autoreset_mode)
        self._limit = parse_limit(max_episode_steps)
        self.metadata = {**self.metadata, "autoreset_mode": self._autoreset}
        self.render_mode = render_mode
        self._simulations = single_flow(
            num_envs, scenario=scenario, agent=agent, backend=backend, threads=threads, **options
        )
        batch = self._batch = self._simulations.batch
        self.single_observation_space = observation_space(batch.observation_bounds)
        self._levels = levels(actions)
        self.single_action_space = action_space(batch.action_dim, actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._reader = ReportReader(batch.report_fields)
        self._action_shape = (num_envs, batch.action_dim)
        self._rngs: list[np.random.Generator | None] = [None] * num_envs
        self._ended: NDArray[np.intp] = np.arange(0)
        self._elapsed = np.zeros(num_envs, dtype=np.int64)
        self._present = np.ones(num_envs, dtype=bool)
        self._frames = self._simulations.frames(render_mode, MODES[1:])
        self.metadata = with_frame_rate(self.metadata, self._frames)
        self._set_views()

    def _set_views(self) -> None:
        batch = self._batch
        self._observations = batch.observations[:, 0]
        self._rewards = batch.rewards_view[:, 0]
        self._active, self._finished = batch.active[:, 0], batch.finished
        self._reports, self._paths = batch.reports[:, 0], batch.paths[:, 0]

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Start new episodes; sub-environment i gets the seed ``seed + i`` or ``seed[i]``.

        ``options["reset_mask"]`` (num_envs,) resets only the sub-environments where it is true; ``info`` has
        entries only for these. ``options["scenario"]`` replaces the environment's scenario in these episodes
        only; a list has one scenario per sub-environment. Raises `InputError` for wrong options or a wrong
        number of seeds.
        """
        mask = parse_mask(options, self.num_envs)
        scenarios = scenario_options(options, self.num_envs, ignored="reset_mask")
        if seed is None:
            seeds: Sequence[int | None] = [None] * self.num_envs
        elif isinstance(seed, Sequence | np.ndarray):
            seeds = seed
        else:
            seeds = [seed_of_rank(seed + index, self.rank) for index in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise InputError(f"seed: {len(seeds)} seeds: must be {self.num_envs}, one per environment")
        reset = self._present if mask is None else mask
        if waiting := [index for index in np.flatnonzero(~reset).tolist() if self._rngs[index] is None]:
            raise ResetNeeded(f"options: reset_mask: environments {waiting} were never reset")
        for index in np.flatnonzero(reset).tolist():
            if (env_seed := seeds[index]) is not None or self._rngs[index] is None:
                self._rngs[index] = np_random(env_seed)[0]
            self._reset_one(index, scenarios[index])
        self._ended = self._ended[~reset[self._ended]]
        return self._observations.copy(), self._info(np.flatnonzero(reset), mask)

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Apply ``actions`` (num_envs, action_dim) and run one monitor interval of each simulation."""
        if self._rngs[0] is None:
            raise ResetNeeded("call reset before step")
        if self._autoreset is AutoresetMode.DISABLED and self._ended.size:
            raise ResetNeeded(f"episodes {self._ended.tolist()} are over: reset them by options reset_mask")
        if self._levels is not None:
            actions = self._levels(actions)
        numbers = np.ascontiguousarray(fit_shape(actions, self._action_shape), np.float32)
        self._simulations.step(numbers[:, None])
        if self._frames is not None:
            self._frames.record()
        rewards = self._rewards.astype(np.float64)
        if self._limit is not None:
            self._elapsed += 1
        # Simulations whose episode ended in the last step kept running in this step; reset them now.
        begun = self._ended
        for index in begun.tolist():
            self._reset_one(index)
            rewards[index] = 0.0
        over = self._finished | ~self._active
        # Almost never: `over` is then all false.
        truncated = over & self._simulations.at_end()[:, 0] if over.any() else over.copy()
        terminated = over & ~truncated
        if self._limit is not None:
            truncated |= self._elapsed >= self._limit
            over |= truncated
        (self._ended,) = over.nonzero()
        if self._autoreset is AutoresetMode.SAME_STEP and self._ended.size:
            info = self._reset_ended()
        else:
            info = self._info(begun)
        return self._observations.copy(), rewards, terminated, truncated, info

    def _reset_ended(self) -> dict[str, Any]:
        """Reset the environments that ended; return ``info`` with their last observation and information."""
        final: dict[str, Any] = {}
        for index in self._ended.tolist():
            report = self._reader.read(self._reports[index], self._paths[index].tolist())
            last = report | self._simulations.punctuality()
            observation = self._observations[index].copy()
            final = self._add_info(final, {"final_obs": observation, "final_info": last}, index)
            self._reset_one(index)
        begun, self._ended = self._ended, np.arange(0)
        return {**self._info(begun), **final}

    def _reset_one(self, index: int, scenario: ScenarioLike = None) -> None:
        rng = self._rngs[index]
        assert rng is not None
        self._elapsed[index] = 0
        self._simulations.reset(index, rng, scenario)

    def _info(self, begun: NDArray[np.intp], mask: NDArray[np.bool_] | None = None) -> dict[str, Any]:
        """Return the report's fields as arrays (num_envs,), with Gymnasium's ``_`` masks.

        Fields are 0 outside ``mask``, which is everywhere if it is None. Scenario and seed are there for the
        episodes of ``begun``.
        """
        columns = self._reader.read_columns(self._reports, self._paths)
        present = self._present
        if mask is not None:
            columns[:, ~mask] = 0.0
            present = mask.copy()
        info: dict[str, Any] = dict(zip(FIELDS, columns, strict=True))
        info.update(dict.fromkeys(_PRESENCE, present))
        for name, value in self._simulations.punctuality().items():
            info[name], info[f"_{name}"] = np.array([value]), present
        for index in begun.tolist():
            info = self._add_info(info, self._simulations.episode(index), index)
        return info

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Return a frame of each simulation for ``rgb_array``, else None; see `FlowEnv.render`."""
        return None if self._frames is None else self._frames.all()

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute, or a method's result, for each environment, as ``SyncVectorEnv.call`` does.

        skrl renders frames this way. All environments share any value that is not a tuple.
        """
        value = getattr(self, name)
        value = value(*args, **kwargs) if callable(value) else value
        return value if isinstance(value, tuple) else (value,) * self.num_envs

    def close_extras(self, **_: Any) -> None:
        """End a run on real TCP."""
        if hasattr(self, "_simulations"):  # Gymnasium also closes after a failed __init__
            self._simulations.close()
