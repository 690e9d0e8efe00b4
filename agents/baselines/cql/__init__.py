"""Conservative Q-learning from a pool of recorded runs of kernel schemes, by RLlib's learner."""

from leogym.agents.engines.settings import CqlSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="cql",
    summary="CQL (Kumar et al., 2020) on a pool of kernel schemes: offline, with pessimistic critics",
    settings=CqlSettings,
    trainers={"rllib": "leogym.agents.engines.rllib.offline:train"},
)
