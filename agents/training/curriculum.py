"""The curriculum: stages of scenario ranges, followed by the ranges of the settings."""

import numpy as np

from leogym.agents.training.settings import TrainSettings
from leogym.configs.sampling import Ranges, with_learning_flows
from leogym.configs.scenario import Scenario
from leogym.envs.sampling import draw


class Curriculum:
    """A callable ``(rng) -> Scenario`` whose ranges depend on `steps`.

    Args:
        settings: the stages, and the ranges after them.
        learning_flows: overrides the ranges' number of learning flows; None keeps it.

    Attributes:
        steps: environment steps so far; the caller must update it.
        max_learning_flows: the most learning flows in any scenario of any stage.
    """

    def __init__(self, settings: TrainSettings, learning_flows: int | None = None) -> None:
        self._ends = [stage.until_steps for stage in settings.curriculum]
        stages: list[Ranges] = [*(stage.scenarios for stage in settings.curriculum), settings.scenarios]
        if learning_flows is not None:
            stages = [with_learning_flows(ranges, learning_flows) for ranges in stages]
        self._stages = stages
        self.steps = 0
        self.max_learning_flows = max(ranges.max_learning_flows for ranges in stages)

    @property
    def stage(self) -> int:
        """The stage of an episode that begins now."""
        return sum(end <= self.steps for end in self._ends)

    def __call__(self, rng: np.random.Generator) -> Scenario:
        """Draw a scenario of the current stage."""
        return self.draw(rng, self.stage)

    def draw(self, rng: np.random.Generator, stage: int) -> Scenario:
        """Draw a scenario of ``stage``."""
        return draw(self._stages[stage], rng)
