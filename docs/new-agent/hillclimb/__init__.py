"""Hill climbing: a perceptron whose weights are changed at random, a change kept when it earns more."""

from agents.hillclimb.settings import HillclimbSettings
from agents.training.scheme import Scheme

SCHEME = Scheme(
    name="hillclimb",
    summary="Hill climbing: an example of an agent of one's own",
    settings=HillclimbSettings,
    trainers={"native": "agents.hillclimb.train:train"},
)
