"""``leo/Routing-v0``: an agent chooses among the disjoint paths of each flow of a network."""

from collections.abc import Mapping
from typing import Any

import gymnasium
import leosim
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, MultiDiscrete
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.envs import networks
from leogym.envs.seeding import Rank, rank_of_caller, seed_of_rank

FEATURES = 5
"""Numbers about each path of a flow."""

Observation = NDArray[np.float32]
Action = NDArray[np.int64]


class RoutingEnv(gymnasium.Env[Observation, NDArray[np.integer[Any]]]):
    """Routing in a network of satellites: every period, each flow takes one of its link-disjoint paths.

    ## Description
    TCP flows run between stations of a network, which may name any schemes. Every ``period_s`` of simulated
    time, the agent chooses a path for each flow. Packets on their way stay on their path. The paths change
    with the satellites: number 0 is the shortest by delay, number 1 the shortest over other links, and so on.

    ## Observation Space
    ``Box(0, 1, (flows * paths * 5,), float32)``, for each flow and each of its paths:

    | Num | Feature |
    |---|---|
    | 0 | 1 if the flow takes this path now, else 0 |
    | 1 | propagation of path 0 over that of this path; 0 without a route |
    | 2 | the largest share of its capacity that a link of the path carried in the last period |
    | 3 | this flow's equal share of the path's bottleneck, if all others stay, over an up-link's capacity |
    | 4 | goodput of the flow in the last period over an up-link's capacity |

    ## Action Space
    ``MultiDiscrete([paths] * flows)``: the number of each flow's path; 0 is the shortest.

    ## Rewards
    The mean of the flows' goodput in the period over the capacity of an up-link, within [0, 1].

    ## Starting State
    The flows have run for one period on their shortest paths. Every reset draws the traffic, the time at
    which the run starts, and the simulation's seed from the environment's generator.

    ## Episode End
    Truncation when the episode's duration is over.

    ## Information
    ``info`` has ``time_s``, ``goodput_mbps`` (flows,) and ``rtt_ms`` (flows,; NaN without a sample). That of
    `reset` has the ``scenario``'s name and its ``seed``, too.

    ## Arguments
    - ``network``: a name, a file or the fields of a network with ``routing.paths`` above 1, and without
      arrivals.
    - ``duration_s``: length of an episode; by default as long as a run of the network.
    - ``period_s``: length of a step.

    ## Version History
    - v0: first version.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 (declared so by gymnasium.Env)

    rank: Rank = ()
    """Rank of the process that samples; see `envs.seeding`."""

    def __init__(
        self,
        network: str | Mapping[str, Any] = "crossing",
        *,
        duration_s: float | None = None,
        period_s: float = 1.0,
    ) -> None:
        self._scenarios = networks.parse({"network": network, "duration_s": duration_s})
        description = self._scenarios.description
        ground, routing = description.network.ground, description.network.routing
        if any("arrivals" in flow for flow in description.flows):
            raise InputError(f"{description.network.name}: traffic: arrivals: their flows are not the same")
        if routing.paths < 2:
            raise InputError(f"{description.network.name}: routing.paths: must be at least 2 to choose")
        if not (np.isfinite(period_s) and period_s >= routing.interval_ms / 1e3):
            raise InputError(f"period_s: {period_s}: must be at least the routing's interval")
        self.period_s = period_s
        self.rank = rank_of_caller()
        self._flows, self._paths = len(description.flows), routing.paths
        self._uplink_mbps = ground.uplink.rate_mbps
        self.observation_space = Box(0.0, 1.0, (self._flows * self._paths * FEATURES,), np.float32)
        self.action_space = MultiDiscrete([self._paths] * self._flows)
        self._episode: networks.NetworkEpisode | None = None
        self._simulation: leosim.Constellation | None = None
        self._chosen: list[Action] = []
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start the next episode; the same ``seed`` gives the same episode. There are no ``options``."""
        for key in options or ():
            raise InputError(f"reset: options: {key}: unknown key (there are none)")
        super().reset(seed=seed_of_rank(seed, self.rank))
        episode = self._scenarios(self.np_random)
        self._begin(episode)
        observation, info = self._advance(np.zeros(self._flows, np.int64))
        return observation, {**info, "scenario": episode.name, "seed": episode.seed}

    def _begin(self, episode: networks.NetworkEpisode) -> None:
        self._episode, self._chosen, self._over = episode, [], False
        self._simulation = leosim.Constellation(episode.core, series_ms=self.period_s * 1e3)
        self._simulation.follow_all(episode.moments, episode.first)

    def step(self, action: NDArray[np.integer[Any]]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Route each flow over the path ``action`` (flows,) and run one period."""
        if self._over or self._episode is None:
            raise ResetNeeded("the episode is over: call reset")
        observation, info = self._advance(self._parse(action))
        self._over = info["time_s"] + self.period_s > self._episode.duration_s + 1e-9
        reward = float(np.mean(info["goodput_mbps"]) / self._uplink_mbps)
        return observation, reward, False, self._over, info

    def _parse(self, action: Any) -> Action:
        """Return the paths of ``action``, copied because pickles repeat it; raise `InputError` if wrong."""
        paths = np.asarray(action)
        known = paths.dtype.kind in "iu" and ((paths >= 0) & (paths < self._paths)).all()
        if paths.shape != (self._flows,) or not known:
            rule = f"must be {self._flows} integers from 0 to {self._paths - 1}"
            raise InputError(f"action: {action}: {rule}")
        return paths.astype(np.int64)

    def _advance(self, paths: Action) -> tuple[Observation, dict[str, Any]]:
        simulation = self._simulation
        assert simulation is not None
        simulation.choose_paths(paths)
        self._chosen.append(paths)
        series, *_ = simulation.advance(len(self._chosen) * self.period_s)
        state = simulation.measure_paths()
        goodput_mbps, rtt_ms = np.zeros(self._flows), np.full(self._flows, np.nan)
        goodput_mbps[series["flow"]] = series["goodput_mbps"]
        rtt_ms[series["flow"]] = series["rtt_ms"]
        rtts, hops, load, share = np.moveaxis(state.reshape(self._flows, self._paths, -1), 2, 0)
        taken = paths[:, None] == np.arange(self._paths)
        features = np.stack(
            [
                taken,
                np.where(hops > 0, rtts[:, :1] / np.maximum(rtts, 1e-9), 0.0),
                load,
                share / self._uplink_mbps,
                np.broadcast_to(goodput_mbps[:, None] / self._uplink_mbps, taken.shape),
            ],
            axis=-1,
        )
        info = {"time_s": simulation.time_s, "goodput_mbps": goodput_mbps, "rtt_ms": rtt_ms}
        return np.clip(features, 0.0, 1.0).astype(np.float32).ravel(), info

    def __getstate__(self) -> dict[str, Any]:
        """Return all attributes but the simulation, which the actions since the reset rebuild."""
        return self.__dict__ | {"_simulation": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over ``state``, and run the episode again to where it was."""
        self.__dict__.update(state)
        if self._episode is not None:
            over, chosen = self._over, self._chosen
            self._begin(self._episode)
            for paths in chosen:
                self._advance(paths)
            self._over = over
