"""Learning flows of a scenario: those that an environment steers."""

from collections.abc import Iterator

from leogym.configs.scenario import Flow, Scenario

LEARNER = "agent"  # the scheme name of learning flows


def learners(scenario: Scenario) -> Iterator[Flow]:
    """Yield the learning flows of ``scenario`` in the order of their slots, each of a ``count`` by itself."""
    for flow in scenario.flows:
        if flow.scheme == LEARNER:
            yield from (flow for _ in range(flow.count))


def learning_flows(scenario: Scenario) -> int:
    """Return the number of learning flows of ``scenario``."""
    return sum(flow.count for flow in scenario.flows if flow.scheme == LEARNER)
