"""Behavioural cloning of the kernel schemes in a pool of recorded runs, by RLlib's learner."""

from leogym.agents.engines.settings import OfflineSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="bc",
    summary="Behavioural cloning of a pool of kernel schemes: the baseline of offline learning",
    settings=OfflineSettings,
    trainers={"rllib": "leogym.agents.engines.rllib.offline:train"},
)
