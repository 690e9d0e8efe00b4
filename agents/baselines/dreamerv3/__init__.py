"""DreamerV3 on one flow, trained by RLlib: it learns a world model, and a policy within it.

The policy runner of `core/control` cannot run the recurrent stochastic world model, so a run has checkpoints
but no ``policy/``.
"""

from leogym.agents.baselines.dreamerv3.settings import DreamerV3Settings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="dreamerv3",
    summary="DreamerV3 (Hafner et al., 2023): learns a world model and acts in it",
    settings=DreamerV3Settings,
    exports=False,
    trainers={"rllib": "leogym.agents.engines.rllib.online:train"},
)
