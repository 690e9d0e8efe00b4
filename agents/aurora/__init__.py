"""Aurora (Jay et al., ICML 2019): PPO moves a sending rate by at most 2.5 % every half RTT.

`leosim` computes the observation (latency gradient, latency ratio and sending ratio of the last 10
intervals), the reward and the action, and makes monitor intervals half an RTT long. What differs from the
release: actions are within [-1, 1], see ``core/control/src/action/rate_step.rs``, which also finds the
starting rate; and the mean action goes through tanh (`agents.engines.actor`).
"""

from agents.aurora.settings import AuroraSettings
from agents.training.scheme import Scheme

SCHEME = Scheme(
    name="aurora",
    summary="Aurora (ICML 2019): PPO on a sending rate",
    settings=AuroraSettings,
    trainers={"sb3": "agents.engines.sb3.ppo:train", "rllib": "agents.engines.rllib.online:train"},
    departures="Trained here, not by Aurora's authors: rewards relative to what each path allows, smaller "
    "minibatches, no entropy bonus, a mean action through tanh, and actions within ±1 from a starting "
    "rate that slow start finds.",
)
