"""Hill climbing: a perceptron whose weights are changed at random, a change kept when it earns more."""

from leogym.agents.hillclimb.settings import HillclimbSettings
from leogym.agents.training.scheme import Scheme

SCHEME = Scheme(
    name="hillclimb",
    summary="Hill climbing: an example of an agent of one's own",
    settings=HillclimbSettings,
    trainers={"native": "leogym.agents.hillclimb.train:train"},
)
