"""Conservative Q-learning from Sage's pool, by RLlib's learner."""

from leogym.agents.engines.settings import CqlSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="cql",
    summary="CQL (Kumar et al., 2020) on Sage's pool: offline, with pessimistic critics",
    settings=CqlSettings,
    trainers={"rllib": "leogym.agents.engines.rllib.offline:train"},
)
