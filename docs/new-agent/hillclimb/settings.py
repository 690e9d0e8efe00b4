"""Settings of hill climbing, in addition to those of every run."""

from leogym.agents.training.settings import Count, TrainSettings
from leogym.common.strict import Positive


class HillclimbSettings(TrainSettings):
    """Settings of hill climbing."""

    hidden: Count = 8
    """Width of the one hidden layer."""
    deviation: Positive = 0.1
    """Of a change of a weight."""
