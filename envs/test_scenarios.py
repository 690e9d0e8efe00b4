import numpy as np
import pytest

from leogym.configs import sampling
from leogym.configs.errors import InputError
from leogym.configs.scenario import Flow, Link, Scenario
from leogym.envs.scenarios import ScenarioSource, default, learning_flows, named, resolve

RNG = np.random.default_rng


def scenario_of(*schemes: str, name: str = "made") -> Scenario:
    return Scenario(
        name=name,
        duration_s=1.0,
        links={"link": Link(rate_mbps=10.0, delay_ms=5.0)},
        flows=[Flow(scheme=scheme, route=["link"]) for scheme in schemes],
    )


@pytest.mark.parametrize("name", named())
def test_every_scenario_file_has_its_name_and_a_learning_flow(name: str):
    source = ScenarioSource(name)
    assert source.max_learning_flows >= 1
    assert source.draw(RNG(1)).name == name


def test_samplers_and_scenario_files_share_no_name():
    assert not set(sampling.names()) & set(named())


def test_without_an_argument_the_scenario_is_that_of_static_100():
    source = ScenarioSource("static-100")
    assert source.draw(RNG(3)) == ScenarioSource(None).draw(RNG(3))


def test_a_mapping_a_path_a_scenario_and_a_callable_give_the_same_scenario(tmp_path):
    fixed = default()
    file = tmp_path / "mine.yaml"
    file.write_text(fixed.to_json(), encoding="utf-8")  # JSON is YAML
    expected = ScenarioSource(fixed).draw(RNG(5))
    assert ScenarioSource(fixed.model_dump()).draw(RNG(5)) == expected
    assert ScenarioSource(file).draw(RNG(5)) == expected
    assert ScenarioSource(str(file)).draw(RNG(5)) == expected
    assert ScenarioSource(lambda rng: fixed, max_learning_flows=1).draw(RNG(5)) == fixed


def test_a_fixed_scenario_keeps_everything_but_its_seed():
    source, rng = ScenarioSource(default()), RNG(1)
    first, second = source.draw(rng), source.draw(rng)
    assert first.seed != second.seed
    assert first.model_copy(update={"seed": 1}) == second.model_copy(update={"seed": 1}) == default()


def test_flows_with_a_count_are_counted():
    flows = [Flow(scheme="agent", route=["link"], count=3), Flow(scheme="cubic", route=["link"])]
    scenario = scenario_of("agent").model_copy(update={"flows": flows})
    assert learning_flows(scenario) == 3
    assert ScenarioSource(scenario).max_learning_flows == 3


def test_a_scenario_without_a_learning_flow_is_bad_input():
    with pytest.raises(InputError, match=r"^made: flows: none has scheme agent"):
        ScenarioSource(scenario_of("cubic"))
    with pytest.raises(InputError, match=r"^made: flows: none has scheme agent"):
        ScenarioSource(lambda rng: scenario_of("reno"), max_learning_flows=1).draw(RNG(1))


def test_a_callable_must_return_a_scenario_with_no_more_flows_than_it_said():
    with pytest.raises(InputError, match="callable returned int"):
        ScenarioSource(lambda rng: 3, max_learning_flows=1).draw(RNG(1))  # type: ignore[arg-type,return-value]
    with pytest.raises(InputError, match="more than max_learning_flows = 1"):
        ScenarioSource(lambda rng: scenario_of("agent", "agent"), max_learning_flows=1).draw(RNG(1))
    with pytest.raises(InputError, match="max_learning_flows: missing"):
        ScenarioSource(lambda rng: scenario_of("agent"))


@pytest.mark.parametrize(
    ("argument", "rule"),
    [
        ("nowhere", "neither a file nor a known name .there are: astraea, .*leo, .*static-100"),
        ("nowhere.yaml", "nowhere.yaml: cannot be read"),
        ({"duration_s": 1.0}, "scenario: links: Field required"),
        ({"sampler": "mars"}, "unknown sampler 'mars'"),
        ({"sampler": "leo", "rate": 3}, "rate: unknown key"),
        (7, "cannot be a int"),
    ],
)
def test_what_is_no_scenario_is_named_in_one_line(argument, rule: str):
    with pytest.raises(InputError, match=rule) as caught:
        resolve(argument)
    assert "\n" not in str(caught.value)
