"""Scenarios and suites by name or file, with learning flows as the scheme under test."""

from functools import cache
from pathlib import Path

from leogym.configs import suite
from leogym.configs.scenario import LEARNER, Scenario
from leogym.configs.suite import Suite

SCENARIOS = Path(__file__).parent / "scenarios"


def scenarios() -> dict[str, Path]:
    """Return the scenario files of ``configs/scenarios`` by name."""
    return {path.stem: path for path in sorted(SCENARIOS.glob("*.yaml"))}


def is_known(text: str) -> bool:
    """Return whether ``text`` is the name of a scenario or suite, or stands for a file."""
    return text in suite.shipped() or text in scenarios() or suite.is_file(text)


def load(name: str) -> Suite:
    """Return the suite with this name or file, or the suite of one scenario; raise an `InputError`."""
    files = scenarios()
    if name not in files:
        return suite.load(name)
    file = f"configs/scenarios/{name}.yaml"
    return suite.load(str(files[name])).model_copy(update={"source": file, "file": file})


@cache
def to_learn(name: str) -> tuple[Scenario, ...]:
    """Return the scenarios of a name or file that have learning flows; raise an `InputError`."""
    cases = [case.scenario for case in load(name).cases(LEARNER)]
    return tuple(scenario for scenario in cases if learning_flows(scenario))


def learning_flows(scenario: Scenario) -> int:
    """Return the number of learning flows of ``scenario``."""
    return sum(flow.count for flow in scenario.flows if flow.scheme == LEARNER)
