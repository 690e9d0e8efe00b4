"""Truncated quantile critics on one flow, trained by sb3-contrib."""

from leogym.agents.engines.settings import TqcSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="tqc",
    summary="TQC (Kuznetsov et al., 2020): SAC with distributions of returns",
    settings=TqcSettings,
    trainers={"sb3": "leogym.agents.engines.sb3.off_policy:train"},
)
