import pytest

from leogym.agents.astraea.settings import AstraeaSettings
from leogym.agents.orca.settings import OrcaSettings
from leogym.agents.training import registry
from leogym.agents.training.settings import TrainSettings, assign, build, parse_assignment, read_config
from leogym.common.errors import InputError


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("actor_learning_rat", "actor_learning_rate"), ("reward_", "reward"), ("num_env", "num_envs")],
)
def test_an_unknown_key_is_named_with_its_file_and_the_nearest_right_one(wrong, right):
    with pytest.raises(InputError, match=rf"^x\.yaml: {wrong}: unknown key \(nearest: {right}[,)]"):
        build(AstraeaSettings, "x.yaml", {"agent": "astraea", wrong: 1})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("steps", "many"),
        ("steps", 0),
        ("minutes", float("nan")),
        ("gamma", 1.5),
        ("batch_size", 1.5),
        ("track", "mlflow"),
        ("seed", -1),
        ("scenarios", "mars"),
        ("scenarios", {"sampler": "leo", "duration_s": -1.0}),
    ],
)
def test_a_value_out_of_range_is_named_with_its_key(key, value):
    with pytest.raises(InputError, match=rf"^x: {key}") as caught:
        build(AstraeaSettings, "x", {"agent": "astraea", key: value})
    assert "\n" not in str(caught.value)


def test_a_path_in_the_place_of_a_sampler_says_which_sampler_draws_it():
    with pytest.raises(InputError, match=r"^x: scenarios: .*'sd-ny-bp': is a path, not a scenario: use "):
        build(TrainSettings, "x", {"agent": "ppo", "scenarios": "sd-ny-bp"})


def test_steps_and_minutes_exclude_each_other():
    with pytest.raises(InputError, match="steps or minutes"):
        build(TrainSettings, "x", {"agent": "ppo", "steps": 1, "minutes": 1.0})


def test_settings_survive_the_way_through_yaml(tmp_path):
    settings = build(AstraeaSettings, "x", {"agent": "astraea", "scenarios": "leo", "tau": 1e-5})
    path = tmp_path / "config.yaml"
    path.write_text(settings.to_yaml())
    assert build(AstraeaSettings, str(path), read_config(path)) == settings


def test_exponents_without_a_point_are_numbers(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("tau: 5e-3\nscenarios: {rate_mbps: [4e1, 80]}\n")
    assert read_config(path) == {"tau": 5e-3, "scenarios": {"rate_mbps": [40.0, 80]}}
    assert parse_assignment("tau=5e-3") == ("tau", 5e-3)


def test_another_sampler_keeps_the_ranges_that_it_has_too():
    data = {"scenarios": {"sampler": "leo", "duration_s": 30, "paths": ["sd-ny-bp"]}}
    assign(data, "scenarios.sampler", "astraea")
    assert data == {"scenarios": {"sampler": "astraea", "duration_s": 30}}


def test_an_assignment_reaches_into_the_ranges_of_a_sampler_named_by_a_word():
    data = {"agent": "astraea", "scenarios": "leo"}
    assign(data, *parse_assignment("scenarios.duration_s=7"))
    assert build(AstraeaSettings, "x", data).scenarios.duration_s == 7
    assert data["scenarios"]["sampler"] == "leo"


@pytest.mark.parametrize("text", ["tau", "=1", "tau=[1", "seed.x.y=1"])
def test_an_assignment_that_makes_no_sense_is_refused(text):
    with pytest.raises(InputError, match=r"^--set: "):
        assign({"seed": 1}, *parse_assignment(text))


@pytest.mark.parametrize("text", ["[1, 2]", "just words", "a: [1"])
def test_a_file_without_a_mapping_is_refused(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"config\.yaml"):
        read_config(path)


def test_an_observation_and_an_action_make_a_specification():
    def spec(**keys):
        return build(TrainSettings, "x", {"agent": "ppo", **keys}).spec

    assert spec() == "astraea"
    assert spec(observation="orca", action="cwnd_ratio") == "orca+cwnd_ratio"
    assert spec(action="cwnd_ratio") == "astraea+cwnd_ratio"
    assert spec(spec="aurora+cwnd_step", observation="orca") == "orca+cwnd_step"
    assert spec(spec="aurora", observation="orca") == "orca+aurora"


def test_a_reward_may_be_a_mapping_of_terms_to_weights():
    terms = {"throughput": 1, "delay": -0.5}
    for agent in ("astraea", "aurora", "clone", "orbit", "orca", "ppo"):
        settings = build(registry.get(agent).settings, "x", {"agent": agent, "reward": terms})
        assert settings.reward == "throughput:1,delay:-0.5"


def test_ranges_without_a_sampler_change_the_agents_own():
    settings = build(OrcaSettings, "x", {"agent": "orca", "scenarios": {"rate_mbps": 12.0}})
    default = OrcaSettings(agent="orca").scenarios
    assert settings.scenarios == default.model_copy(update={"rate_mbps": (12.0, 12.0)})
    assert (
        build(TrainSettings, "x", {"agent": "a", "scenarios": {"loss": 0.5}}).scenarios.sampler == "astraea"
    )


def test_a_retired_setting_is_read_only_at_the_value_that_did_nothing():
    assert build(TrainSettings, "run", {"agent": "ppo", "held_out_links": 0}).agent == "ppo"
    with pytest.raises(InputError, match="held_out_links"):
        build(TrainSettings, "run", {"agent": "ppo", "held_out_links": 8})
