"""Aurora (Jay et al., ICML 2019): PPO moves a sending rate by at most 2.5 % every half RTT.

`leosim` computes the observation (latency gradient, latency ratio and sending ratio of the last 10
intervals), the reward and the action; monitor intervals are half an RTT long. Differences from the release:
actions are within [-1, 1] and slow start finds the first rate (``core/control/src/action/rate_step.rs``), and
the mean action goes through tanh (`agents.engines.actor`).
"""

from leogym.agents.aurora.settings import AuroraSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="aurora",
    summary="Aurora (ICML 2019): PPO on a sending rate",
    settings=AuroraSettings,
    trainers={
        "sb3": "leogym.agents.engines.sb3.ppo:train",
        "rllib": "leogym.agents.engines.rllib.online:train",
    },
    departures="Trained here, not by Aurora's authors: rewards are relative to what each path allows; "
    "minibatches are smaller; there is no entropy bonus; the mean action passes through tanh; "
    "actions stay within ±1 around a starting rate that slow start finds.",
)
