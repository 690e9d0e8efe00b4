"""DreamerV3 on one flow, trained by RLlib: it learns a world model, and a policy within it.

The policy runner of `core/control` cannot run the recurrent stochastic world model, so a run has checkpoints
but no ``policy/``.
"""

from typing import Literal

from leogym.agents.training.scheme import Scheme
from leogym.agents.training.settings import Engine, Fraction, Simulations, Size, TrainSettings
from leogym.common.strict import Positive


class DreamerV3Settings(TrainSettings):
    """Settings of a DreamerV3 run, which has one learning flow in each simulation.

    Defaults follow Hafner et al. (2023), except the model's size.
    """

    engine: Engine = "rllib"
    num_envs: Simulations = 1

    model_size: Literal["nano", "micro", "mini", "XXS", "XS", "S", "M", "L", "XL"] = "XXS"
    """Sizes from XS on are the paper's; smaller ones are RLlib's, for small problems and tests."""
    training_ratio: Positive = 32.0
    """Replayed steps per environment step; the paper's range is 32 to 1,024."""
    gamma: Fraction = 0.997
    learning_rate: Positive = 3e-5
    """Learning rate of actor and critic."""
    world_model_learning_rate: Positive = 1e-4
    batch_size: Size = 16
    """Sequences per update."""
    sequence: Size = 64
    """Length of a sequence in intervals."""
    horizon: Size = 15
    """Length of imagined rollouts in intervals."""
    memory: Size = 1_000_000
    """Capacity of the replay buffer in intervals."""


SCHEME = Scheme(
    name="dreamerv3",
    summary="DreamerV3 (Hafner et al., 2023): learns a world model and acts in it",
    settings=DreamerV3Settings,
    exports=False,
    trainers={"rllib": "leogym.agents.engines.rllib.online:train"},
)
