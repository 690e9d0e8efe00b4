"""Behavioural cloning of the schemes in Sage's pool, by RLlib's learner."""

from leogym.agents.engines.settings import OfflineSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="bc",
    summary="Behavioural cloning of Sage's pool: the baseline of offline learning",
    settings=OfflineSettings,
    trainers={"rllib": "leogym.agents.engines.rllib.offline:train"},
)
