"""Learning flows on the host's real TCP, with the interface of a `leosim.Batch` of size 1."""

import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.configs.scenario import Scenario
from leogym.envs.real_episode import Episode
from leogym.kernel_bridge.bridge.client import REPORT_FIELDS, Closed, Message, Opened, Report
from leogym.kernel_bridge.runner.backends import BACKENDS
from leogym.kernel_bridge.runner.run import Run, check
from leogym.kernel_bridge.runner.served_flows import AGENT
from leogym.results.measurement import Measurement
from leogym.traces.path import cache

REPORT_WAIT_INTERVALS = 3  # intervals that a step waits for the report of a silent flow
_TIME = REPORT_FIELDS.index("time_ns")


class RealTcpBatch:
    """One scenario at a time on the host's real TCP, one step per monitor interval.

    Properties and methods are those of `leosim.Batch`. A step sends actions to the flows and waits until each
    has reported again: one monitor interval of real time. The flows do not wait for decisions. A decision is
    late if the next interval has ended before it. After four intervals without a decision, the kernel's Cubic
    controls the flow until the next decision. If intervals follow the RTT, as with Aurora, each flow has a
    separate interval, and a step takes the longest. Arguments are those of `envs.simulation.Simulations`;
    ``size`` must be 1.

    Attributes:
        decisions: number of decisions in all episodes.
        late_decisions: intervals in all episodes that ended before the decision on the previous interval.
        late_in_episode: the same for this episode.
        fallbacks: how often Cubic took over, in completed episodes.
        invalid: why the completed episode is invalid, or None.
        invalid_episodes: number of invalid episodes.
        last_invalid: the reason of the last invalid episode.
    """

    def __init__(
        self,
        size: int,
        *,
        backend: str,
        slots: int = 1,
        agent: str = "astraea",
        reward: str = "astraea",
        interval_ms: float = 30.0,
        policies: Mapping[str, Path] | None = None,
        normalize_observations: bool = False,
    ) -> None:
        if size != 1:
            raise InputError(f"backend: {backend}: runs one scenario at a time in real time, not {size}")
        self._links = BACKENDS[backend]()
        if (lack := self._links.missing()) is not None:
            raise InputError(lack)
        self._agents = leosim.Agents(
            slots, agent=agent, reward=reward, normalize_observations=normalize_observations
        )
        self._backend = backend
        self._agent, self._interval_ms = agent, interval_ms
        self._intervals_ms = np.full(slots, interval_ms)
        self._policies = dict(policies or {})
        self.report_fields = list(REPORT_FIELDS)
        self.observations = np.zeros((1, slots, self.observation_dim), np.float32)
        self.rewards_view = np.zeros((1, slots), np.float32)
        self.global_states = np.zeros((1, self.global_dim), np.float32)
        self.active = np.zeros((1, slots), np.bool_)
        self.finished = np.zeros(1, np.bool_)
        self.reports = np.zeros((1, slots, len(REPORT_FIELDS)))
        self.paths = np.zeros((1, slots, 2))
        self.time_s = np.zeros(1)
        self.decisions = self.late_decisions = self.late_in_episode = self.fallbacks = 0
        self.invalid: str | None = None
        self.invalid_episodes = 0
        self.last_invalid: str | None = None
        self._log: Measurement | None = None
        self._episode: Episode | None = None
        self._stack = ExitStack()
        self._finalizer = weakref.finalize(self, self._stack.close)

    @property
    def observation_dim(self) -> int:
        """Width of an observation."""
        return self._agents.observation_dim

    @property
    def observation_bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Smallest and largest observation."""
        return self._agents.observation_bounds

    def __getstate__(self) -> object:
        """Refuse copies and pickles."""
        raise InputError(f"backend: {self._backend}: a running kernel cannot be copied or pickled")

    @property
    def action_dim(self) -> int:
        """Width of an action."""
        return self._agents.action_dim

    @property
    def global_dim(self) -> int:
        """Width of the global state."""
        return self._agents.global_dim

    def reset(self, index: int, scenario: str, *_: object) -> None:
        """End the current scenario, begin ``scenario`` and wait for the first report of a learning flow."""
        self.close()
        self._log = self.invalid = None
        self.late_in_episode = 0
        for array in (
            self.observations,
            self.global_states,
            self.active,
            self.finished,
            self.reports,
            self.paths,
        ):
            array.fill(0)
        described = Scenario.model_validate_json(scenario)
        traces = {name: cache.read_bytes(cache.file(name)) for name in described.traces}
        with _as_input_errors():
            planned = check(described, traces, self._links, self._policies, agents=True)
            learners = [number for number, flow in enumerate(planned.flows) if flow.scheme == AGENT]
            if not 0 < len(learners) <= self.active.shape[1]:
                raise InputError(
                    f"{planned.name}: flows: {len(learners)} have scheme agent, must be 1 to "
                    f"{self.active.shape[1]}"
                )
            run = Run(planned, self._links, self._policies, self._interval_ms, agent=self._agent)
            self._stack.enter_context(run)
            client = run.served.agents()
            on_grid = not self._agents.sets_intervals
            begun_ns = run.begin()
            self._episode = Episode(run, client, learners, begun_ns, self._interval_ms, on_grid=on_grid)
            self._advance(self._episode)

    def step(self, actions: NDArray[np.float32]) -> None:
        """Apply actions (1, slots, action_dim) and wait for the next reports."""
        self.rewards_view.fill(0)
        episode = self._episode
        if episode is None or self.finished[0]:
            return
        with _as_input_errors():
            self._catch_up(episode)
            deciding = np.flatnonzero(self.active[0]).tolist()
            for slot in deciding:
                window, pacing = self._agents.act(slot, actions[0, slot])
                episode.client.command(episode.open[slot], window, pacing)
                self.decisions += 1
            # Reports that are here already precede these decisions.
            self._catch_up(episode)
            episode.decided.update(deciding)
            self._advance(episode)

    def run_log(self, index: int) -> Measurement:
        """Return the log of the scenario; raise `InputError` if it is not complete."""
        if self._log is None:
            raise InputError("run_log: real TCP has a log only after the run")
        return self._log

    def close(self) -> None:
        """End the current scenario."""
        self._episode = None
        self._stack.close()

    def _catch_up(self, episode: Episode) -> None:
        while (message := episode.client.message(0)) is not None:
            self._process(episode, message)

    def _advance(self, episode: Episode) -> None:
        """Wait until every running flow has reported; without one, until one starts or the episode ends."""
        acted = np.flatnonzero(self.active[0]).tolist()
        waiting, reported = set(acted), []
        longest_ms = self._intervals_ms[acted].max(initial=self._interval_ms)
        until_s = time.monotonic() + REPORT_WAIT_INTERVALS * longest_ms / 1e3
        while True:
            if waiting or self.active[0].any():
                left_s = until_s - time.monotonic() if waiting else 0.0
                if left_s <= 0:
                    break
            elif episode.is_over():
                break
            else:
                left_s = 0.1
            message = episode.client.message(min(left_s, 0.1))
            if message is not None and (slot := self._process(episode, message)) is not None:
                waiting.discard(slot)
                if isinstance(message, Report) and slot not in reported:
                    reported.append(slot)
        self.time_s[0] = episode.now_ns() / 1e9
        if reported:
            paths = {slot: episode.path(slot) for slot in {*acted, *reported}}
            _, self.global_states[0] = self._agents.judge(reported, *paths[reported[0]].world)
            for slot, path in paths.items():
                if slot in acted:
                    at_bottleneck = [other for other in reported if episode.crosses(other, path.bottleneck)]
                    rewards, _ = self._agents.judge(at_bottleneck, *path.world)
                    self.rewards_view[0, slot] = rewards[slot]
                base_rtt_ns = path.base_rtt_ns + 2 * episode.flow(slot).extra_delay_ns
                self.paths[0, slot] = path.capacity_bytes_per_s * 8 / 1e6, base_rtt_ns / 1e6
        if not self.active.any() and episode.is_over():
            self.finished[0] = True
            self._finish(episode)

    def _process(self, episode: Episode, message: Message) -> int | None:
        """Process a message; return the slot of the flow that reported or closed."""
        match message:
            case Opened(flow):
                slot = episode.connected(flow)
                self._agents.start(slot, episode.flow(slot).extra_delay_ns)
                self._intervals_ms[slot] = self._interval_ms
                return None
            case Report(flow=flow) if (slot := episode.slot_of(flow)) is not None:
                undecided = episode.undecided(slot, message)
                self.late_decisions += undecided
                self.late_in_episode += undecided
                values = np.array(message.values)
                values[_TIME] += episode.began_ns[slot]
                self._agents.observe(slot, values)
                if (next_ns := self._agents.next_interval_ns(slot)) is not None:
                    self._intervals_ms[slot] = next_ns / 1e6
                self.reports[0, slot] = values
                self.observations[0, slot] = self._agents.observation(slot)
                self.active[0, slot] = True
                return slot
            case Closed(flow) if (slot := episode.slot_of(flow)) is not None:
                del episode.open[slot]
                episode.closed.add(slot)
                self.active[0, slot] = False
                if episode.flow(slot).stop_ns == episode.plan.duration_ns and episode.is_near_end():
                    self.reports[0, slot, _TIME] = episode.plan.duration_ns
                return slot
            case _:
                return None

    def _finish(self, episode: Episode) -> None:
        self._log = episode.run.finish()
        self.fallbacks += episode.run.served.status(AGENT)["fallbacks"]
        self.invalid = self._log.invalid
        if self.invalid is not None:
            self.invalid_episodes += 1
            self.last_invalid = self.invalid
        self.close()


@contextmanager
def _as_input_errors() -> Iterator[None]:
    """Convert a `RuntimeError` to an `InputError`."""
    try:
        yield
    except RuntimeError as error:
        raise InputError(str(error)) from None
