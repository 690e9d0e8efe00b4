"""The batch of simulations behind every environment: it draws scenarios and exposes NumPy views."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypedDict

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError
from leogym.configs.scenario import Scenario
from leogym.envs import networks
from leogym.envs.frames import Frames
from leogym.envs.networks import NetworkEpisode
from leogym.envs.scenarios import ScenarioLike, ScenarioSource
from leogym.envs.stepped_batch import BACKENDS, SteppedBatch
from leogym.envs.views import Viewing


class Options(TypedDict, total=False):
    """Arguments that every environment passes on to `Simulations`."""

    reward: str
    interval_ms: float
    policies: Mapping[str, str | Path] | None
    max_learning_flows: int | None
    normalize_observations: bool


class Simulations(Viewing, SteppedBatch):
    """Independent simulations that step together, one monitor interval at a time.

    Args:
        size: number of simulations.
        scenario: see `envs.scenarios.ScenarioSource`.
        agent: agent specification, one of ``leosim.Batch.agents()`` or ``OBSERVATION+ACTION``.
        backend: one of `BACKENDS`; real TCP runs one scenario at a time.
        reward: one of ``leosim.Batch.rewards()``, or weighted terms such as ``throughput:1,delay:-0.5``.
        interval_ms: the monitor interval in ms, from one action to the next.
        policies: policy folders by scheme, for flows that trained policies control.
        max_learning_flows: the most learning flows of any episode; only a plain callable needs it.
        single: whether episodes have one learning flow; see `envs.scenarios.ScenarioSource`.
        normalize_observations: whether each number x of an observation is x / (1 + |x|), within [-1, 1].
        threads: threads that step the simulations; 0: one per core. Results do not depend on it.

    Raises:
        InputError: an argument is unknown or out of range.
    """

    _VIEWS = ("_time_ns",)

    def __init__(
        self,
        size: int,
        *,
        scenario: ScenarioLike = None,
        agent: str = "astraea",
        backend: str = "simulator",
        reward: str = "astraea",
        interval_ms: float = 30.0,
        policies: Mapping[str, str | Path] | None = None,
        max_learning_flows: int | None = None,
        single: bool = False,
        normalize_observations: bool = False,
        threads: int = 1,
    ) -> None:
        _require("backend", backend, BACKENDS)
        if not isinstance(size, Integral) or size < 1:
            raise InputError(f"num_envs: {size!r}: must be an integer of at least 1")
        # `leosim` checks composed agents and weighted terms.
        if not isinstance(agent, str) or "+" not in agent:
            _require("agent", agent, leosim.Batch.agents())
        if not isinstance(reward, str) or not {":", ","} & set(reward):
            _require("reward", reward, leosim.Batch.rewards())
        if not (isinstance(interval_ms, Real) and np.isfinite(interval_ms) and interval_ms > 0):
            raise InputError(f"interval_ms: {interval_ms!r}: must be a positive number")
        if not isinstance(normalize_observations, bool | np.bool_):
            raise InputError(f"normalize_observations: {normalize_observations!r}: must be True or False")
        if not isinstance(policies, Mapping | None):
            raise InputError(f"policies: {policies!r}: must be a mapping of schemes to folders")
        self._single = single
        self._source = ScenarioSource(scenario, max_learning_flows, single=single)
        self._ends_s = np.zeros(size)
        self._scenarios: list[Scenario | NetworkEpisode | None] = [None] * size
        super().__init__(
            size,
            self._source.max_learning_flows,
            backend=backend,
            threads=threads,
            policies=policies or {},
            agent=agent,
            reward=reward,
            interval_ms=interval_ms,
            normalize_observations=normalize_observations,
        )
        self._interval_ms = interval_ms
        self._frames: Frames | None = None
        self._set_views()

    def _set_views(self) -> None:
        self._time_ns = self.batch.reports[:, :, self.batch.report_fields.index("time_ns")]

    def reset(self, index: int, rng: np.random.Generator, scenario: ScenarioLike = None) -> None:
        """Start simulation ``index`` with a scenario from ``rng``; run to a learning flow's first report.

        ``scenario`` replaces the environment's scenario in this episode.

        Raises:
            InputError: a scenario is invalid, or ``scenario`` has more learning flows than the environment's.
        """
        source = self._source
        if scenario is not None:
            try:
                source = ScenarioSource(scenario, self.slots, single=self._single)
            except InputError as error:
                raise InputError(f"reset: options: {error}") from None
        self._begin(index, source.draw(rng))

    def scenario(self, index: int) -> Scenario | NetworkEpisode | None:
        """Return the scenario of simulation ``index``; None before its first reset."""
        return self._scenarios[index]

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`: scenarios and actions."""
        scenarios = [scenario.to_json() for scenario in self._scenarios if scenario is not None]
        return {"scenarios": scenarios, "actions": self.actions()}

    def restore(self, state: dict[str, Any]) -> None:
        """Rebuild the simulations of ``state`` step by step."""
        for index, (text, actions) in enumerate(zip(state["scenarios"], state["actions"], strict=True)):
            self._begin(index, networks.revive(text) or Scenario.model_validate_json(text))
            self.replay(index, actions)

    def _begin(self, index: int, scenario: Scenario | NetworkEpisode) -> None:
        if isinstance(scenario, NetworkEpisode) and self._frames is not None:
            raise InputError(
                f"{scenario.name}: render_mode: networks have no frames; "
                f"{leogym_command('network', 'plot')} draws a run"
            )
        super()._begin(index, scenario)
        if not self.batch.active[index].any():
            raise InputError(f"{scenario.name}: flows: no learning flow runs for a whole monitor interval")
        self._ends_s[index] = scenario.duration_s
        self._scenarios[index] = scenario
        if self._frames is not None and isinstance(scenario, Scenario):
            self._frames.begin(index, scenario, self._traces)

    def frames(self, mode: str | None, modes: Sequence[str]) -> Frames | None:
        """Return the `Frames` that draw the episodes from now on; None for the mode None."""
        if mode is not None:
            self._frames = Frames(mode, modes, self.batch, self._interval_ms)
        return self._frames

    def episode(self, index: int) -> dict[str, Any]:
        """Return the entries of a reset's ``info``: the scenario's name and seed."""
        scenario = self._scenarios[index]
        assert scenario is not None
        return {"scenario": scenario.name, "seed": scenario.seed}

    def punctuality(self) -> dict[str, Any]:
        """Return the entries of ``info`` about real time; empty for simulations.

        ``late_decisions``: the number of intervals of this episode that ended before the action on the
        previous one. ``invalid``: why a completed episode is invalid (the machine could not keep up); empty
        if it is valid.
        """
        if isinstance(self.batch, leosim.Batch):
            return {}
        return {"late_decisions": self.batch.late_in_episode, "invalid": self.batch.invalid or ""}

    def at_end(self) -> NDArray[np.bool_]:
        """Return (size, slots): whether the scenario's end truncated a flow, or it terminated earlier."""
        # The core rounds the end to whole nanoseconds.
        return self._time_ns >= self._ends_s[:, None] * 1e9 - 1.0


def _require(option: str, name: Any, names: list[str] | tuple[str, ...]) -> None:
    if name not in names:
        raise InputError(f"{option}: {name!r}: unknown (there are: {', '.join(names)})")


def single_flow(size: int, **arguments: Any) -> Simulations:
    """Return `Simulations` with one learning flow each.

    Raises:
        InputError: an argument is invalid, or a scenario has several learning flows.
    """
    simulations = Simulations(size, single=True, **arguments)
    if simulations.slots != 1:
        raise InputError(
            f"scenario: has up to {simulations.slots} flows of scheme agent, must be 1 in this environment: "
            "use envs.parallel_env, or learning_flows: 1 in a sampler"
        )
    return simulations
