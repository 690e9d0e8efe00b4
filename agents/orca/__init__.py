"""Orca (Abbasloo et al., SIGCOMM 2020): CUBIC reacts to every ACK, and TD3 corrects its window every 20 ms.

`leosim` runs CUBIC and computes the state (7 numbers for each of the last 10 intervals), the reward (power
with a margin) and the action (CUBIC's window times 4^a). `agents.astraea.train` trains TD3, with critics that
see only the flow's own observation.

Differences from the release: simulations replace up to 256 real senders; the loss is Huber's, which is
quadratic for errors below 1.
"""

from leogym.agents.orca.settings import OrcaSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="orca",
    summary="Orca (SIGCOMM 2020): TD3 over CUBIC",
    settings=OrcaSettings,
    trainers={"native": "leogym.agents.astraea.train:train"},
    departures="Trained here, not Orca's own weights: in simulations instead of on real senders, with "
    "networks of 64 units instead of 256, returns of 4 intervals with a horizon of 1 s instead of 4, and "
    "actors that start as plain CUBIC and wait for their critics.",
)
