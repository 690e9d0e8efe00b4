"""Resolve an environment's ``scenario`` argument to the scenarios of its episodes.

Any argument becomes a source that draws a `Scenario` per episode; a fixed scenario varies only in its seed.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from leogym.common.errors import InputError
from leogym.configs import file_paths, names, sampling, suite
from leogym.configs.named_scenarios import learning_flows
from leogym.configs.queue import Queue
from leogym.configs.sampling import Ranges
from leogym.configs.scenario import LEARNER, Flow, Link, Scenario, parse
from leogym.configs.suite import Suite, substitute
from leogym.envs import networks
from leogym.envs.networks import NetworkEpisode
from leogym.envs.sampling import Sampler, draw_case
from leogym.traces.path import named_paths


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
        return draw_case(self.cases, self.suite.vary_offset, rng)

    def __repr__(self) -> str:
        return f"SuiteScenarios({self.suite.name!r})"


ScenarioLike = (
    None
    | str
    | Path
    | Scenario
    | Mapping[str, Any]
    | Ranges
    | Callable[[np.random.Generator], Scenario | NetworkEpisode]
)


def default() -> Scenario:
    """Return an environment's default scenario: 100 Mbit/s, 50 ms, 1 BDP, one learning flow."""
    return Scenario(
        name="static-100",
        duration_s=60.0,
        links={"bottleneck": Link(rate_mbps=100.0, delay_ms=25.0, queue=Queue(bdp=1.0))},
        flows=[Flow(scheme=LEARNER, route=["bottleneck"])],
    )


class ScenarioSource:
    """The scenarios of an environment's episodes.

    Args:
        scenario: a `Scenario`; a mapping of one; the path of a YAML file of a scenario or a suite; the name
            of a file in ``configs/scenarios`` or of a suite; a sampler's name or ranges
            (`configs.sampling`); ``{"network": …}``, see `envs.networks.parse`; a callable
            ``(rng) -> Scenario``; or None for `default`.
        max_learning_flows: the most learning flows of any episode; required for a callable without an
            attribute of this name.
        single: whether a sampler that leaves the number of learning flows open draws one; its other flows are
            then background flows.

    Raises:
        InputError: the argument describes no scenario, or one without a learning flow or with too many.
    """

    def __init__(
        self, scenario: ScenarioLike = None, max_learning_flows: int | None = None, *, single: bool = False
    ) -> None:
        resolved = resolve(scenario)
        if single and isinstance(resolved, Sampler):
            resolved = resolved.with_one_learning_flow()
        if isinstance(resolved, Scenario):
            self._fixed: Scenario | None = resolved
            _require_learner(resolved)
            limit: int | None = learning_flows(resolved)
        else:
            self._fixed = None
            self._draw = resolved
            limit = getattr(resolved, "max_learning_flows", None)
        most = limit if max_learning_flows is None else max_learning_flows
        if most is None:
            raise InputError("scenario: max_learning_flows: missing: set it, as the callable does not")
        if limit is not None and limit > most:
            raise InputError(f"scenario: has up to {limit} flows of scheme agent, must be at most {most}")
        self.max_learning_flows: int = most

    def draw(self, rng: np.random.Generator) -> Scenario | NetworkEpisode:
        """Return the scenario of the next episode; a fixed one gets a new seed, so that episodes differ."""
        if self._fixed is not None:
            return self._fixed.model_copy(update={"seed": int(rng.integers(2**63))})
        scenario = self._draw(rng)
        if isinstance(scenario, NetworkEpisode):
            return scenario
        if not isinstance(scenario, Scenario):
            raise InputError(f"scenario: the callable returned {type(scenario).__name__}, not a Scenario")
        _require_learner(scenario)
        if (count := learning_flows(scenario)) > self.max_learning_flows:
            raise InputError(
                f"{scenario.name}: flows: {count} have scheme agent, "
                f"more than max_learning_flows = {self.max_learning_flows}"
            )
        return scenario


def resolve(scenario: ScenarioLike) -> Scenario | Callable[[np.random.Generator], Scenario | NetworkEpisode]:
    """Return ``scenario`` (see `ScenarioSource`) as a `Scenario` or a callable that draws one."""
    if scenario is None:
        return default()
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, Ranges):
        return Sampler(scenario)
    if isinstance(scenario, Mapping):
        if "network" in scenario:
            return _with_learners(networks.parse(scenario))
        if "sampler" in scenario:
            return Sampler(sampling.parse(dict(scenario), "scenario"))
        return parse(dict(scenario), "scenario")
    if isinstance(scenario, Path):
        return _load(scenario)
    if isinstance(scenario, str):
        return _by_name(scenario)
    if callable(scenario):
        return scenario
    raise InputError(f"scenario: cannot be a {type(scenario).__name__}")


def _load(path: Path) -> Scenario | SuiteScenarios:
    """Read a file of a scenario or a suite; ``$scheme`` becomes the learning agent."""
    data = file_paths.read(path)
    if isinstance(data, dict) and "scenario" in data:
        return SuiteScenarios(suite.parse(data, str(path)).model_copy(update={"file": str(path)}))
    try:
        return parse(substitute(data, {"scheme": LEARNER}), str(path))
    except KeyError as error:
        raise InputError(f"{path}: ${error.args[0]}: no such placeholder (there is: $scheme)") from None


def _by_name(name: str) -> Scenario | Sampler | SuiteScenarios:
    """Look ``name`` up among samplers, the project's scenarios, suites, and files, in this order."""
    if name in sampling.names():
        return Sampler(sampling.parse(name, "scenario"))
    files = names.scenarios()
    if name in files:
        return _load(files[name])
    if name in suite.shipped():
        return SuiteScenarios(suite.load(name))
    if Path(name).suffix in (".yaml", ".yml", ".json") or Path(name).exists():
        return _load(Path(name))
    if named_paths.is_named(name):
        raise InputError(f"scenario: {name!r}: {named_paths.as_sampler(name)}")
    raise names.unknown(name, "scenario")


def _with_learners(source: networks.NetworkScenarios) -> networks.NetworkScenarios:
    if not source.max_learning_flows:
        name = source.description.network.name
        raise InputError(f"{name}: traffic: no flow has scheme agent: give it a share")
    return source


def _require_learner(scenario: Scenario) -> None:
    if not learning_flows(scenario):
        raise InputError(f"{scenario.name}: flows: none has scheme agent: add one to learn")
