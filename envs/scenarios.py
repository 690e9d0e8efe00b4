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
from leogym.configs.suite import substitute
from leogym.envs.sampling import Sampler
from leogym.envs.suites import SuiteScenarios

ScenarioLike = (
    None | str | Path | Scenario | Mapping[str, Any] | Ranges | Callable[[np.random.Generator], Scenario]
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
            (`configs.sampling`); a callable ``(rng) -> Scenario``; or None for `default`.
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

    def draw(self, rng: np.random.Generator) -> Scenario:
        """Return the scenario of the next episode; a fixed one gets a new seed, so that episodes differ."""
        if self._fixed is not None:
            return self._fixed.model_copy(update={"seed": int(rng.integers(2**63))})
        scenario = self._draw(rng)
        if not isinstance(scenario, Scenario):
            raise InputError(f"scenario: the callable returned {type(scenario).__name__}, not a Scenario")
        _require_learner(scenario)
        if (count := learning_flows(scenario)) > self.max_learning_flows:
            raise InputError(
                f"{scenario.name}: flows: {count} have scheme agent, "
                f"more than max_learning_flows = {self.max_learning_flows}"
            )
        return scenario


def resolve(scenario: ScenarioLike) -> Scenario | Callable[[np.random.Generator], Scenario]:
    """Return ``scenario`` (see `ScenarioSource`) as a `Scenario` or a callable that draws one."""
    if scenario is None:
        return default()
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, Ranges):
        return Sampler(scenario)
    if isinstance(scenario, Mapping):
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
    raise names.unknown(name, "scenario")


def _require_learner(scenario: Scenario) -> None:
    if not learning_flows(scenario):
        raise InputError(f"{scenario.name}: flows: none has scheme agent: add one to learn")
