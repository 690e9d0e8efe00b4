"""Sage (Yen et al., SIGCOMM 2023): one policy learned offline from what thirteen kernel schemes did.

The schemes run in the simulator (`pool`), watched through the eyes of an agent in their place: `leosim`
computes the 69 signals and the rewards, an action is the base-2 logarithm of the window's ratio over an
interval. Critic regularised regression (`crr`) then imitates those of their actions that a learned critic
finds better than its own. No simulation is steered until the policy is evaluated.

What differs from the release, beside what `leo_control::features::sage` lists: BBR3 stands for BBR2; the
reward of a transition is the one that follows its action, where the released learner takes the one
before; the recurrent states of target networks see the same transitions as those of the learned ones.
"""

from agents.sage.settings import SageSettings
from agents.training.scheme import Scheme

SCHEME = Scheme(
    name="sage",
    summary="Sage (SIGCOMM 2023): offline critic regularised regression on a pool of kernel schemes",
    settings=SageSettings,
    trainers={"native": "agents.sage.train_on_pool:train"},
    departures="Not Sage's algorithm: a clone of the best runs of Sage's pool, without a critic, with a "
    "memory of 64 numbers instead of 1,024, and of flows that are alone; shares of a link are "
    "nothing that it has learned.",
)
