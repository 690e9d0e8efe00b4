"""A batch of episodes that step together, in simulations or on real TCP; actions can rebuild simulations."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.configs.scenario import Scenario
from leogym.envs.networks import NetworkEpisode

REAL_TCP = ("mahimahi", "kernel")  # backends that run in real time, on the host's TCP
BACKENDS = ("simulator", *REAL_TCP)  # backends that environments can step


class SteppedBatch:
    """Episodes that step together, one monitor interval at a time.

    Args:
        size: number of episodes at a time; real TCP runs one.
        slots: the most learning flows of an episode.
        backend: one of `BACKENDS`.
        threads: threads that step simulations; 0: one per core. Results do not depend on it.
        policies: policy folders by scheme, for flows that trained policies control.
        **common: ``agent``, ``reward``, ``interval_ms`` and ``normalize_observations``, see `leosim.Batch`.

    Attributes:
        batch: a `leosim.Batch` or `RealTcpBatch`; stepping and beginning overwrite its arrays.
        arguments: ``common``.
    """

    def __init__(
        self,
        size: int,
        slots: int,
        *,
        backend: str,
        threads: int,
        policies: Mapping[str, str | Path],
        **common: Any,
    ) -> None:
        self.size, self.slots = size, slots
        self.arguments = common
        self._policies = {name: leosim.Policy.load(str(folder)) for name, folder in policies.items()}
        if backend in REAL_TCP:
            from leogym.envs.real_tcp import RealTcpBatch  # here, because simulations do not need it

            folders = {name: Path(folder) for name, folder in policies.items()}
            self.batch = RealTcpBatch(size, backend=backend, slots=slots, policies=folders, **common)
        else:
            self.batch = leosim.Batch(size, slots=slots, threads=threads, **common)
        self._traces: dict[str, leosim.PathTrace] = {}

    def step(self, actions: NDArray[np.float32]) -> None:
        """Step every episode by one interval with ``actions`` (size, slots, action_dim)."""
        self.batch.step(actions)

    @property
    def repeatable(self) -> bool:
        """Whether the same actions reproduce an episode."""
        return isinstance(self.batch, leosim.Batch)

    def actions(self) -> list[NDArray[np.float32]]:
        """Return the actions (steps, slots, action_dim) of each simulation since its reset."""
        assert isinstance(self.batch, leosim.Batch)
        return [self.batch.actions(index) for index in range(self.size)]

    def replay(self, index: int, actions: NDArray[np.float32]) -> None:
        """Step simulation ``index``, which has just been reset, with ``actions`` that `actions` returned."""
        assert isinstance(self.batch, leosim.Batch)
        self.batch.replay(index, actions)

    def close(self) -> None:
        """End a run on real TCP; do nothing for simulations."""
        if not isinstance(self.batch, leosim.Batch):
            self.batch.close()

    def _begin(self, index: int, scenario: Scenario | NetworkEpisode) -> None:
        """Begin an episode at ``index``: run ``scenario`` to a learning flow's first report.

        Raises:
            InputError: real TCP does not run the scenario.
        """
        if isinstance(scenario, NetworkEpisode):
            if not isinstance(self.batch, leosim.Batch):
                raise InputError(f"{scenario.name}: backend: only the simulator runs networks")
            self.batch.reset(
                index, scenario.core, {}, self._policies, moments=scenario.moments, first=scenario.first
            )
            return
        if unread := scenario.traces - self._traces.keys():
            from leogym import traces  # here, because it builds orbits, which static links do not need

            self._traces.update(traces.load_all(unread))
        used = {name: self._traces[name] for name in scenario.traces}
        self.batch.reset(index, scenario.to_json(), used, self._policies)
