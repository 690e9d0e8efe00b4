"""Draw an environment's episodes from the scenarios of an evaluation suite."""

import numpy as np

from leogym.common.errors import InputError
from leogym.configs.named_scenarios import learning_flows
from leogym.configs.scenario import LEARNER, Scenario
from leogym.configs.suite import Suite
from leogym.envs.sampling import period_ms


class SuiteScenarios:
    """A callable ``(rng) -> Scenario`` over the cases of a suite, with an agent as the scheme under test.

    Every case is equally likely. As in the suite's repeats, the seed is drawn, and so is the time in the path
    traces unless the suite keeps it.

    Args:
        suite: the suite; its first repeat as written and its order of repeats do not count here.

    Raises:
        InputError: no flow of the suite has the scheme under test.
    """

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        cases = [case.scenario for case in suite.cases(LEARNER)]
        self.cases = [scenario for scenario in cases if learning_flows(scenario)]
        if not self.cases:
            raise InputError(f"{suite.file}: scenario: no flow has scheme $scheme: nothing to learn in it")
        self.max_learning_flows = max(map(learning_flows, self.cases))

    def __call__(self, rng: np.random.Generator) -> Scenario:
        """Draw a case, a start time in its path traces, and the simulation's seed."""
        scenario = self.cases[int(rng.integers(len(self.cases)))]
        links = scenario.links
        if self.suite.vary_offset and scenario.traces:
            offset_s = int(rng.integers(max(period_ms(path) for path in scenario.traces))) / 1e3
            links = {
                name: link if link.trace is None else link.model_copy(update={"offset_s": offset_s})
                for name, link in links.items()
            }
        return scenario.model_copy(update={"seed": int(rng.integers(2**63)), "links": links})

    def __repr__(self) -> str:
        return f"SuiteScenarios({self.suite.name!r})"
