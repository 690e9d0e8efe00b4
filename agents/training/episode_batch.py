"""The episodes of a training run: a batch that a resumed run rebuilds exactly."""

from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.agents.training.curriculum import Curriculum
from leogym.agents.training.settings import TrainSettings
from leogym.configs.scenario import Scenario
from leogym.envs.stepped_batch import SteppedBatch


class Episodes(SteppedBatch):
    """``num_envs`` episodes that step together.

    Episode ``k`` of a run is drawn from a generator seeded by (seed, k): a counter and the curriculum's stage
    determine its scenario. A resumed run rebuilds a simulation by repeating the actions since its reset. Real
    TCP is not repeatable: a resumed run begins the next episode.

    With ``guard``, flows fall back where that policy's would; simulations only.
    """

    def __init__(
        self, settings: TrainSettings, first_episode: int = 0, *, guard: leosim.Policy | None = None
    ) -> None:
        self._seed = settings.seed
        self._draw = Curriculum(settings)
        super().__init__(
            settings.num_envs,
            self._draw.max_learning_flows,
            backend=settings.backend,
            threads=settings.workers,
            policies={},
            agent=settings.spec,
            reward=settings.reward,
            interval_ms=settings.interval_ms,
            **({} if guard is None else {"guard": guard}),
        )
        self.action_shape = (self.size, self.slots, self.batch.action_dim)
        self.next_episode = first_episode
        self._episodes = [0] * self.size
        self._stages = [0] * self.size

    def scenario(self, episode: int, stage: int | None = None) -> Scenario:
        """Return the scenario of ``episode`` in a curriculum's ``stage`` (default: the current one)."""
        rng = np.random.default_rng([self._seed, 1, episode])
        return self._draw.draw(rng, self._draw.stage if stage is None else stage)

    def start(self) -> None:
        """Give every simulation its first episode."""
        for index in range(self.size):
            self.restart(index)

    def restart(self, index: int) -> None:
        """Give simulation ``index`` the next episode."""
        self._episodes[index] = self.next_episode
        self._stages[index] = self._draw.stage
        self.next_episode += 1
        self._reset(index)

    def step(self, actions: NDArray[np.float32]) -> None:
        """Step every simulation by one interval with ``actions`` (size, slots, action_dim)."""
        super().step(actions)
        self._draw.steps += self.size

    def punctuality(self) -> dict[str, Any]:
        """Return the real-time statistics for ``summary.json``; empty for simulations."""
        if isinstance(self.batch, leosim.Batch):
            return {}
        names = ("decisions", "late_decisions", "fallbacks", "invalid_episodes", "last_invalid")
        return {name: getattr(self.batch, name) for name in names}

    def state(self) -> dict[str, Any]:
        """Return the counters and arrays that `restore` needs."""
        return {
            "next_episode": self.next_episode,
            "episodes": list(self._episodes),
            "stages": list(self._stages),
            "steps": self._draw.steps,
            "actions": self.actions() if self.repeatable else [],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Rebuild the simulations of ``state`` step by step."""
        self.next_episode = state["next_episode"]
        self._draw.steps = state["steps"]
        self._stages = list(state["stages"])
        if not self.repeatable:
            self.start()
            return
        self._episodes = list(state["episodes"])
        for index, actions in enumerate(state["actions"]):
            self._reset(index)
            self.replay(index, actions)

    def _reset(self, index: int) -> None:
        self._begin(index, self.scenario(self._episodes[index], self._stages[index]))
