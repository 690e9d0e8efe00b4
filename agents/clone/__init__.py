"""Behavioural cloning of the best runs of kernel schemes, after Sage (Yen et al., SIGCOMM 2023).

The schemes run in the simulator (`pool`). `leosim` computes the 69 signals and the rewards that an agent
would get in their place; an action is the base-2 logarithm of the window's ratio over an interval. Signals,
action, rewards and pool are Sage's, except that BBR3 replaces BBR2. Sage weighs each action by a critic's
advantage (critic regularised regression). A clone imitates all actions of the selected runs alike
(`cloning`); studies/sage says why.
"""

from leogym.agents.clone.settings import CloneSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="clone",
    summary="Behavioural cloning of a pool of kernel schemes' best runs, with Sage's inputs and action",
    settings=CloneSettings,
    trainers={"native": "leogym.agents.clone.train_on_pool:train"},
    departures="A behavioural clone of the best runs of Sage's pool of kernel schemes, with Sage's inputs "
    "and action, not Sage: it has no critic, and it was trained only on flows that are alone, so it has not "
    "learned to share a link.",
)
