"""Orbit, ours: an evolution strategy tunes a structured controller for satellite paths.

The controller and its estimate of the path are in ``core/control/src/orbit``. The policy scales the
controller's parts, so that training changes numbers that have a meaning. ``README.md`` here has the idea and
the results.
"""

from leogym.agents.orbit.settings import OrbitSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="orbit",
    summary="Orbit (ours): an evolution strategy tunes a controller for satellite paths",
    settings=OrbitSettings,
    trainers={"native": "leogym.agents.orbit.train:train"},
    departures="Ours, not published elsewhere: a hand-made controller on an aged base RTT, whose parts a "
    "policy scales; an evolution strategy chose the scales on other city pairs, phases and links than the "
    "suites'.",
)
