"""Asynchronous PPO with parameters shared by all flows, trained by RLlib."""

from leogym.agents.baselines.ppo import PpoSettings
from leogym.agents.training.scheme import Scheme
from leogym.agents.training.settings import Count, Engine, Size


class AppoSettings(PpoSettings):
    """Settings of an APPO run. ``minibatch_size`` has no effect: an update uses its whole batch."""

    engine: Engine = "rllib"
    rollout_steps: Size = 64
    """Monitor intervals of each simulation per fragment, over which V-trace corrects."""
    epochs: Count = 1


SCHEME = Scheme(
    name="appo",
    summary="APPO (RLlib's asynchronous PPO, after IMPALA, 2018): samples while it learns",
    settings=AppoSettings,
    trainers={"rllib": "leogym.agents.engines.rllib.online:train"},
)
