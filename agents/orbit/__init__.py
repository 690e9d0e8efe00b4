"""Orbit, ours: a network that detects competitors and names rates, over a controller for satellite paths.

The controller and its estimate of the path are in ``core/control/src/orbit``. The network learns from what
only the simulator knows. ``README.md`` here has the idea.
"""

from leogym.agents.orbit.settings import OrbitSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="orbit",
    summary="Orbit (ours): a network learns from the simulator's truth what a controller needs to know",
    settings=OrbitSettings,
    trainers={"native": "leogym.agents.orbit.train:train"},
    departures="Ours, not published elsewhere: an LSTM detects competitors and estimates the fair share and "
    "the first rate. A hand-made controller uses them, with a base RTT that forgets old minima. It learned "
    "from the simulator's truth, on other city pairs, phases and links than the suites'.",
)
