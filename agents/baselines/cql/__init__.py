"""Conservative Q-learning from Sage's pool, by RLlib's learner."""

from agents.engines.offline_settings import CqlSettings
from agents.training.scheme import Scheme

SCHEME = Scheme(
    name="cql",
    summary="CQL (Kumar et al., 2020) on Sage's pool: offline, with pessimistic critics",
    settings=CqlSettings,
    trainers={"rllib": "agents.engines.rllib.offline:train_cql"},
)
