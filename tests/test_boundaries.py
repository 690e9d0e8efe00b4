"""Every boundary of every field of every schema is accepted and can be written again, or is one line.

The test walks the models: a new field is covered without a line here.
"""

import importlib
import math
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from leogym.agents.search import grammar
from leogym.agents.training import registry
from leogym.common import yaml_text
from leogym.common.errors import InputError, one_line
from leogym.common.strict import Strict
from leogym.configs import arithmetic, names, sampling, scenario, suite, sweep, topologies
from leogym.evaluation.leobench import version
from leogym.evaluation.runs import plan
from leogym.traces.capacity import terminal
from leogym.traces.orbit import constellation

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("agents", "common", "configs", "evaluation", "traces")
PUBLIC = ("leogym.agents", "leogym.configs", "leogym.evaluation.leobench", "leogym.traces")
"""Where schemas of users' files are."""
LONG = 5000
HUGE = 10**30
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**64, HUGE, -HUGE, 10**400),
    *(0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300, -1e300, math.nan, math.inf, -math.inf),
    *("", " ", "a", "a" * LONG, "a/b", "../a", "a\nb", "a\0b", "\uffff", "$", "$scheme", "010", "nan"),
    *("ä" * 300, [], [None], [0], [0, 0], [1, 0], [1, 2, 3], [math.nan] * 2, [10**400] * 2),
    *([""], ["a"], ["a"] * 300, [[]], {}, {"": 1}, {"a": None}, {"a": 1}, {"a": [1]}, {"a": {"b": 1}}),
    {"a" * LONG: {}},
)
IN_TUPLES = terminal.__name__
"""Module whose reader makes tuples of lists."""
UNWRITTEN = ("nan", "inf", "0" * 400)
"""Parts of values that a file cannot have, or that differ from themselves."""


def schemas() -> list[type[Strict]]:
    for room in ROOMS:
        package = importlib.import_module(f"leogym.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            source = Path(module.module_finder.path, *module.name.split(".")[-1:])  # type: ignore[union-attr]
            file = source / "__init__.py" if module.ispkg else source.with_suffix(".py")
            if not file.name.startswith("test_") and "Strict" in file.read_text("utf-8"):
                importlib.import_module(module.name)
    for scheme in registry.schemes().values():
        assert issubclass(scheme.settings, Strict)

    def below(model: type[Strict]) -> Iterator[type[Strict]]:
        for child in model.__subclasses__():
            yield child
            yield from below(child)

    models = {model for model in below(Strict) if model.__module__.startswith(PUBLIC)}
    return sorted(models, key=lambda model: (model.__module__, model.__qualname__))


SCHEMAS = schemas()


def examples() -> dict[type[BaseModel], BaseModel]:
    """An instance of each model, found in what LeoGym ships."""
    examples: dict[type[BaseModel], BaseModel] = {}

    def visit(node: Any) -> None:
        if isinstance(node, BaseModel):
            if type(node) in examples:
                return
            examples[type(node)] = node
            for name in type(node).model_fields:
                visit(getattr(node, name))
        elif isinstance(node, dict):
            visit(list(node.values()))
        elif isinstance(node, list | tuple):
            for child in node:
                visit(child)

    for name in suite.shipped():
        shipped = suite.load(name)
        visit([shipped, next(shipped.cases("cubic")).scenario])
    visit([scenario.load(path) for path in names.scenarios().values()])
    visit([sampling.parse(name, name) for name in sampling.names()])
    visit([sweep.read(path) for path in (ROOT / "configs" / "sweeps").glob("*.yaml")])
    visit([version.load(name).description for name in version.names()])
    visit([terminal.load(name) for name in terminal.names()])
    visit([constellation.load(name) for name in constellation.names()])
    visit([grammar.read(path) for path in (ROOT / "agents" / "search" / "programs").glob("*.yaml")])
    for scheme in registry.schemes().values():
        visit(scheme.settings.model_validate({"agent": scheme.name}))
    return examples


@pytest.fixture(scope="module")
def example() -> dict[type[BaseModel], BaseModel]:
    return examples()


def outcome(model: type[Strict], data: dict[str, Any], name: str) -> str | None:
    """Say what is wrong about a model's answer to the value of the field ``name``; None if nothing is."""
    value = data[name]
    try:
        valid = model.model_validate(data)
    except ValidationError as error:
        line = one_line("x.yaml", error)
        return None if line.isprintable() and len(line) < 2000 else f"not one line: {line[:200]}"
    except InputError as error:
        return None if len(str(error).splitlines()) == 1 else f"not one line: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    if any(part in repr(value) for part in UNWRITTEN) or (model, name) == (suite.Suite, "file"):
        return None
    if value == HUGE and type(getattr(valid, name)) is int:
        return "has no upper bound"
    text = yaml_text.dump({name: valid.model_dump(mode="json", include={name})[name]})
    read = yaml_text.parse(text, "x.yaml")
    try:
        again = model.model_validate(
            {**data, **(terminal._tuples(read) if IN_TUPLES in str(model) else read)}
        )
    except Exception as error:
        return f"is written, but not read again: {type(error).__name__}: {error}"[:300]
    return None if again == valid else "is read as another value than was written"


@pytest.mark.parametrize("model", SCHEMAS, ids=lambda model: f"{model.__module__[7:]}.{model.__qualname__}")
def test_every_boundary_of_every_field_is_accepted_or_one_line(model, example):
    content = example[model].model_dump() if model in example else {}
    wrong = []
    for name in model.model_fields.keys() & model.__annotations__.keys():  # others are those of its base
        for value in VALUES:
            if (message := outcome(model, {**content, name: value}, name)) is not None:
                wrong.append(f"{name}: {value!r:.40}: {message}")
    assert not wrong, "\n".join(wrong)


def test_grids_flows_and_trials_are_refused_by_their_number():
    flow = {"scheme": "cubic", "route": ["l"]}
    data = {"duration_s": 1, "links": {"l": {"rate_mbps": 1, "delay_ms": 1}}, "flows": [flow]}
    cells = {name: list(range(1000)) for name in "abc"}
    with pytest.raises(InputError, match="grid: has 1,000,000,000 combinations with spread, at most 100,000"):
        suite.parse({"name": "a", "title": "a", "scenario": data, "grid": cells}, "x")
    with pytest.raises(InputError, match="flows: stand for 120,000 flows, at most 100,000 may be"):
        scenario.parse({**data, "flows": [{**flow, "count": 60_000}] * 2}, "x")
    search = {name: {"grid": list(range(1000))} for name in "abc"}
    with pytest.raises(ValidationError, match="trials: 2,000,000,000 with all grids, at most 10,000 may be"):
        sweep.Sweep.model_validate({"name": "a", "agent": "ppo", "search": search, "trials": 2})
    grid = {"name": "a", "title": "a", "scenario": data, "grid": {"a": cells["a"]}, "repeats": 10_000}
    of_plan = {
        "backend": "simulator",
        "backend_schemes": ["cubic"],
        "base_seed": 1,
        "repeats": None,
        "version": "",
    }
    with pytest.raises(InputError, match=r"a: 1,000 scenarios × 2 .* 20,000,000 runs, at most 1,000,000 may"):
        plan.expand(suite.parse(grid, "x"), None, {}, **of_plan)


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: topologies.parking_lot(10**9), "bottlenecks: 1000000000: at most 1,000 may be"),
        (lambda: topologies.parking_lot(1, rtts=0), "duration_s: must be a number above 0"),
        (lambda: topologies.two_paths(flows_each=10**9), "flows_each: 1000000000: at most 100,000 may be"),
        (lambda: topologies.two_paths(flows_each=0), "flows: List should have at least 1 item"),
        (lambda: topologies.dumbbell([]), "flows: List should have at least 1 item"),
        (lambda: topologies.dumbbell([math.nan]), "extra_delay_ms: must be a number from 0 to 10,000,000"),
        (lambda: topologies.dumbbell([1], rate_mbps=0), "rate_mbps: must be a number above 1e-6"),
    ],
)
def test_a_topology_that_cannot_be_is_one_line(make, rule):
    with pytest.raises(InputError, match=rule):
        make()


@pytest.mark.parametrize("expression", ["1" + "+1" * 5000, "-" * 5000 + "1", "(" * 5000 + "1", "9" * 5000])
def test_a_long_expression_is_one_line(expression):
    for read in (arithmetic.names, lambda text: arithmetic.evaluate(text, {})):
        with pytest.raises(ValueError, match=r"…: is longer than 500 characters$"):
            read(expression)
    program = {"agent": "astraea", "interval_ms": 30.0, "numbers": {"a": NUMBER}}
    with pytest.raises(ValidationError, match="program: "):
        grammar.Program.model_validate({**program, "program": f"action = {expression}"})


NUMBER = {"start": 1.0, "deviation": 1.0, "low": 0.0, "high": 2.0}
