"""Learning flows of a scenario: those that an environment steers."""

from collections.abc import Iterator

from leogym.configs.named_scenarios import learning_flows as learning_flows
from leogym.configs.scenario import LEARNER as LEARNER
from leogym.configs.scenario import Flow, Scenario


def learners(scenario: Scenario) -> Iterator[Flow]:
    """Yield the learning flows of ``scenario`` in the order of their slots, each of a ``count`` by itself."""
    for flow in scenario.flows:
        if flow.scheme == LEARNER:
            yield from (flow for _ in range(flow.count))
