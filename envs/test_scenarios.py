import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.configs import names, sampling, suite
from leogym.configs.named_scenarios import learning_flows
from leogym.configs.scenario import Flow, Link, Scenario
from leogym.envs.sampling import sampler
from leogym.envs.scenarios import ScenarioSource, default, resolve

RNG = np.random.default_rng


def scenario_of(*schemes: str, name: str = "made") -> Scenario:
    return Scenario(
        name=name,
        duration_s=1.0,
        links={"link": Link(rate_mbps=10.0, delay_ms=5.0)},
        flows=[Flow(scheme=scheme, route=["link"]) for scheme in schemes],
    )


@pytest.mark.parametrize("name", names.scenarios())
def test_every_scenario_file_has_its_name_and_a_learning_flow(name):
    source = ScenarioSource(name)
    assert source.max_learning_flows >= 1
    assert source.draw(RNG(1)).name == name


def test_samplers_and_scenario_files_share_no_name():
    assert not set(sampling.names()) & set(names.scenarios())


def test_an_environment_takes_every_name_that_an_evaluation_takes():
    assert set(names.known()) >= {*suite.shipped(), *sampling.names()}
    unlearnable = {}
    for name in suite.shipped():
        try:
            assert ScenarioSource(name).max_learning_flows >= 1
        except InputError as error:
            unlearnable[name] = str(error)
    # These suites measure paths with an application of their own.
    assert [*unlearnable] == ["fidelity-workloads", "handovers", "handovers-leoem", "qoe"]
    assert "no flow has scheme $scheme" in unlearnable["handovers"]


def test_a_suite_draws_its_cases_seeds_and_times_with_an_agent_as_the_scheme_under_test():
    source, rng = ScenarioSource("leo-pair"), RNG(1)
    drawn = [source.draw(rng) for _ in range(40)]
    assert {scenario.name for scenario in drawn} == {"sd-ny-isl", "sd-ny-bp", "ny-ldn-isl", "sd-sha-isl"}
    assert len({scenario.seed for scenario in drawn}) == 40
    assert len({scenario.links["path"].offset_s for scenario in drawn}) > 30
    assert source.max_learning_flows == 2
    again = RNG(1)
    assert [ScenarioSource("leo-pair").draw(again) for _ in range(40)] == drawn


def test_a_suite_that_keeps_its_time_does_so_in_an_environment():
    assert ScenarioSource("disruption").draw(RNG(1)).links["path"].offset_s == 3590


def test_a_file_of_a_suite_is_drawn_from(tmp_path):
    file = tmp_path / "mine.yaml"
    text = "name: mine\ntitle: Mine\ngrid: {ms: [1, 2]}\nscenario:\n  duration_s: 1\n"
    text += "  links: {link: {rate_mbps: 10, delay_ms: $ms}}\n  flows: [{scheme: $scheme, route: [link]}]\n"
    file.write_text(text, encoding="utf-8")
    source, rng = ScenarioSource(file), RNG(1)
    assert {source.draw(rng).links["link"].delay_ms for _ in range(20)} == {1, 2}
    file.write_text(text.replace("$scheme", "cubic"), encoding="utf-8")
    with pytest.raises(InputError, match=r"mine.yaml: scenario: no flow has scheme \$scheme"):
        ScenarioSource(file)


def test_a_single_flows_environment_draws_one_learning_flow_from_a_sampler_that_leaves_it_open():
    for scenario in ("astraea", "mixture", sampler("leo", flows=[2, 3])):
        source, rng = ScenarioSource(scenario, single=True), RNG(1)
        assert source.max_learning_flows == 1
        drawn = [source.draw(rng) for _ in range(8)]
        assert {learning_flows(scenario) for scenario in drawn} == {1}
        assert max(len(scenario.flows) for scenario in drawn) > 1
    assert ScenarioSource(sampler("leo", flows=2, learning_flows=2), single=True).max_learning_flows == 2
    pair = scenario_of("agent", "agent")
    assert ScenarioSource(pair, single=True).max_learning_flows == 2
    with pytest.raises(InputError, match="scenario: has up to 2 flows of scheme agent, must be at most 1"):
        ScenarioSource(pair, 1)


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
        ("qqq", "'qqq': neither a file nor a known name"),
        ("leo-singel", "neither a file nor a known name .*nearest: leo-single"),
        ("nowhere.yaml", "nowhere.yaml: cannot be read"),
        ({"duration_s": 1.0}, "scenario: links, flows: Field required"),
        ({"sampler": "mars"}, "unknown sampler 'mars'"),
        ({"sampler": "leo", "rate": 3}, "rate: unknown key"),
        (7, "cannot be a int"),
    ],
)
def test_what_is_no_scenario_is_named_in_one_line(argument, rule):
    with pytest.raises(InputError, match=rule) as caught:
        resolve(argument)
    assert "\n" not in str(caught.value)
