"""Sage (Yen et al., SIGCOMM 2023): one policy learned offline from runs of thirteen kernel schemes.

The schemes run in the simulator (`pool`). `leosim` computes the 69 signals and the rewards that an agent
would get in their place; an action is the base-2 logarithm of the window's ratio over an interval. Critic
regularised regression (`crr`) imitates their actions, weighted by a learned critic's advantage.

Differences from the release, besides those in `leo_control::features::sage`: BBR3 replaces BBR2; a
transition's reward follows its action (the released learner uses the reward before it); the recurrent states
of target networks see the same transitions as those of the online networks.
"""

from leogym.agents.sage.settings import SageSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="sage",
    summary="Sage (SIGCOMM 2023): offline critic regularised regression on a pool of kernel schemes",
    settings=SageSettings,
    trainers={"native": "leogym.agents.sage.train_on_pool:train"},
    departures="Not Sage's algorithm: a clone of the best runs of Sage's pool, without a critic, with 64 "
    "recurrent units instead of 1,024, trained only on flows that are alone; it has not learned to share "
    "a link.",
)
