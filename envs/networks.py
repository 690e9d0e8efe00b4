"""Episodes of networks: the argument ``scenario={"network": …}`` of environments."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import leosim
import numpy as np
from pydantic import ValidationError

from leogym.common.errors import InputError, one_line
from leogym.configs import network as schema
from leogym.configs.network import Episodes, Network
from leogym.configs.scenario import LEARNER
from leogym.traces.network import traffic
from leogym.traces.network.description import Description, describe


@dataclass(frozen=True)
class NetworkEpisode:
    """An episode: flows over a network from one of its moments on.

    It has the attributes of a `configs.scenario.Scenario` that environments read.
    """

    episodes: Episodes
    seed: int
    first: int
    """Number of the first moment."""
    core: str = field(repr=False)
    """JSON for `leosim.Batch.reset`."""
    moments: leosim.Moments = field(repr=False)

    @property
    def name(self) -> str:
        """The network's name."""
        return self.episodes.network.name

    @property
    def duration_s(self) -> float:
        """Length of the episode."""
        return self.episodes.length_s

    def to_json(self) -> str:
        """Return JSON that `revive` reads."""
        return json.dumps({"episodes": self.episodes.model_dump(mode="json"), "seed": self.seed})


class NetworkScenarios:
    """A callable ``(rng) -> NetworkEpisode``.

    Each episode draws a seed. From the seed follow the flows of the traffic patterns, the start among the
    network's routing intervals, and the random draws of the simulation.

    Attributes:
        description: the network.
        max_learning_flows: the number of flows of scheme ``agent``.

    Raises:
        InputError: the network is invalid.
    """

    def __init__(self, episodes: Episodes) -> None:
        self._episodes = episodes
        self.description = _described(episodes.network.model_dump_json())
        self.max_learning_flows = sum(flow["scheme"] == LEARNER for flow in self.description.flows)

    def __call__(self, rng: np.random.Generator) -> NetworkEpisode:
        """Draw an episode."""
        return self.episode(int(rng.integers(2**63)))

    def episode(self, seed: int) -> NetworkEpisode:
        """Return the episode of a seed."""
        description, episodes = self.description, self._episodes
        network = episodes.network
        flows = traffic.flows(network.model_copy(update={"seed": seed}), description.stations)
        length_s, moments = episodes.length_s, description.moments
        starts = len(moments) - int(np.ceil(length_s * 1e3 / network.routing.interval_ms - 1e-9))
        first = int(np.random.default_rng(seed).integers(starts + 1))
        core = description.core(flows, seed=seed, duration_s=length_s)
        return NetworkEpisode(episodes, seed, first, core, moments)


def parse(fields: Mapping[str, Any]) -> NetworkScenarios:
    """Return the episodes of the argument ``{"network": …, "duration_s": …}``.

    ``network`` is a name, a file or fields. Without ``duration_s``, episodes have the length of a run.

    Raises:
        InputError: a field is invalid.
    """
    network = fields.get("network")
    if isinstance(network, str):
        network = schema.load(network)
    elif isinstance(network, Mapping):
        network = schema.parse(dict(network), "scenario: network")
    try:
        return NetworkScenarios(Episodes.model_validate({**fields, "network": network}))
    except ValidationError as error:
        raise InputError(one_line("scenario", error)) from None


def revive(text: str) -> NetworkEpisode | None:
    """Return the episode that `NetworkEpisode.to_json` described; None for the JSON of a scenario."""
    data = json.loads(text)
    if "episodes" not in data:
        return None
    return NetworkScenarios(Episodes.model_validate(data["episodes"])).episode(data["seed"])


@lru_cache(maxsize=4)
def _described(network: str) -> Description:
    """Return a network's description, whose moments take seconds to compute."""
    return describe(Network.model_validate_json(network))
