"""DreamerV3 on one flow, trained by RLlib: a world model is learned, and the policy within it.

Its policy is a recurrent stochastic world model, which the policy runner of `core/control` does not run: a
run leaves checkpoints, and no ``policy/``.
"""

from agents.baselines.dreamerv3.settings import DreamerV3Settings
from agents.training.scheme import Scheme

SCHEME = Scheme(
    name="dreamerv3",
    summary="DreamerV3 (Hafner et al., 2023): learns a world model and acts in it",
    settings=DreamerV3Settings,
    trainers={"rllib": "agents.engines.rllib.online:train"},
)
