import warnings

import gymnasium
import leosim
import numpy as np
import pytest
from gymnasium.error import Error, ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.env_checker import check_env as check_env_of_sb3

from leogym import envs
from leogym.common.errors import InputError
from leogym.envs.reports import FIELDS
from leogym.registration import PRESETS, ROUTING_ID

REGISTERED = [gymnasium.spec(name) for name in (envs.FLOW_ID, *(preset.id for preset in PRESETS))]

SHORT = {
    "sampler": "astraea",
    "flows": [1, 3],
    "learning_flows": 1,
    "rate_mbps": [5.0, 20.0],
    "duration_s": 1.2,
    "leave_probability": 0.5,
    "minimum_life_s": 0.2,
    "loss": 0.01,
}
"""Short episodes with losses and other flows, which end by truncation or termination."""

SINGLE = {"sampler": "astraea", "flows": 1, "rate_mbps": [5.0, 20.0], "duration_s": 1.0}
"""One flow on a link of random rate, delay and buffer."""


def static(*flows: dict, duration_s: float = 1.0, rate_mbps: float = 10.0) -> dict:
    link = {"rate_mbps": rate_mbps, "delay_ms": 10.0, "queue": {"bdp": 1.0}}
    return {
        "duration_s": duration_s,
        "links": {"link": link},
        "flows": [{"scheme": "agent", "route": ["link"], **flow} for flow in flows],
    }


def test_an_environment_of_several_learning_flows_or_a_path_says_what_to_use():
    with pytest.raises(InputError, match=r"^scenario: has up to 3 flows of scheme agent, must be 1"):
        gymnasium.make("leo/SingleFlow-v0", scenario={"sampler": "leo", "flows": 3, "learning_flows": 3})
    with pytest.raises(InputError, match=r"^scenario: 'sd-ny-isl': is a path, .*{sampler: leo, paths: \["):
        gymnasium.make("leo/SingleFlow-v0", scenario="sd-ny-isl")


def test_the_registry_has_the_environments():
    registered = [spec.id for spec in gymnasium.registry.values() if spec.namespace == "leo"]
    assert sorted(registered) == sorted([ROUTING_ID, *(spec.id for spec in REGISTERED)])


@pytest.mark.parametrize("spec", REGISTERED, ids=lambda spec: spec.id)
def test_every_registered_id_passes_gymnasiums_check(spec):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A machine may have no display.
        warnings.filterwarnings("ignore", r".*'human': no display")
        check_env(gymnasium.make(spec.id).unwrapped)


@pytest.mark.parametrize("spec", REGISTERED, ids=lambda spec: spec.id)
def test_every_registered_id_passes_the_check_of_stable_baselines(spec):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env_of_sb3(gymnasium.make(spec.id).unwrapped)


@pytest.mark.parametrize("spec", REGISTERED, ids=lambda spec: spec.id)
def test_the_vector_env_equals_scalar_envs_step_for_step(spec):
    size, seed = 4, 7
    native = gymnasium.make_vec(spec.id, num_envs=size, scenario=SHORT)
    scalar = gymnasium.make_vec(spec.id, num_envs=size, vectorization_mode="sync", scenario=SHORT)
    assert native.single_observation_space == scalar.single_observation_space
    assert native.single_action_space == scalar.single_action_space
    assert same(native.reset(seed=seed), scalar.reset(seed=seed))
    native.action_space.seed(1)
    ends = np.zeros(2, dtype=int)
    for _ in range(150):
        actions = native.action_space.sample()
        native_step, scalar_step = native.step(actions), scalar.step(actions)
        assert same(native_step, scalar_step)
        ends += [native_step[2].sum(), native_step[3].sum()]
    assert (ends > 3).all(), "too few episodes ended to compare how they end"


def same(first: tuple, second: tuple) -> bool:
    return all(data_equivalence(value, other, exact=True) for value, other in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("agent", None),
        ("reward", None),
        ("reward", 1),
        ("interval_ms", "30"),
        ("normalize_observations", "yes"),
        ("policies", ["orbit"]),
        ("num_envs", -1),
        ("num_envs", 2.0),
        ("max_episode_steps", 2.5),
        ("max_episode_steps", "5"),
    ],
)
def test_an_argument_of_a_wrong_type_is_named_in_one_line(argument, value):
    with pytest.raises(InputError, match=rf"^{argument}: .*: "):
        gymnasium.make_vec(envs.FLOW_ID, **{"num_envs": 2, argument: value})


@pytest.mark.parametrize("seed", [np.int64(3), np.array([1, 2]), 1.5])
def test_a_seed_that_is_no_python_integer_says_so(seed):
    with pytest.raises(Error, match="Seed must be a python integer"):
        gymnasium.make_vec(envs.FLOW_ID, num_envs=2).reset(seed=seed)


def test_a_reset_without_a_seed_goes_on_with_the_generator():
    first, second = (gymnasium.make(envs.FLOW_ID, scenario=SHORT) for _ in range(2))
    first.reset(seed=3), second.reset(seed=3)
    again, other = first.reset(), second.reset()
    assert data_equivalence(again, other, exact=True)
    assert not data_equivalence(again, first.reset(seed=3), exact=True)


def test_vectors_that_are_not_seeded_differ():
    env = gymnasium.make_vec(envs.FLOW_ID, num_envs=2, scenario=SINGLE)
    env.reset()
    for _ in range(10):  # in the first steps most flows have no sample
        observations, *_ = env.step(np.zeros((2, 1), np.float32))
    assert not np.array_equal(observations[0], observations[1])


def test_the_number_of_threads_does_not_change_the_results():
    runs = []
    for threads in (1, 2):
        env = gymnasium.make_vec(envs.FLOW_ID, num_envs=5, scenario=SHORT, threads=threads)
        rng = np.random.default_rng(1)
        steps = [env.reset(seed=1)]
        steps += [env.step(rng.uniform(-1, 1, (5, 1)).astype(np.float32)) for _ in range(60)]
        runs.append(steps)
    assert all(same(first, second) for first, second in zip(*runs, strict=True))


def test_the_scenarios_end_truncates():
    env = gymnasium.make(envs.FLOW_ID, scenario=static({}, duration_s=0.9))
    env.reset(seed=1)
    steps = [env.step(np.zeros(1, np.float32)) for _ in range(29)]
    assert [step[2] for step in steps] == [False] * 29
    assert [step[3] for step in steps] == [False] * 28 + [True]
    with pytest.raises(ResetNeeded):
        env.unwrapped.step(np.zeros(1, np.float32))


def test_the_stop_of_the_flow_terminates():
    env = gymnasium.make(envs.FLOW_ID, scenario=static({"stop_s": 0.6}))
    _, info = env.reset(seed=1)
    terminated = truncated = False
    while not (terminated or truncated):
        *_, terminated, truncated, info = env.step(np.zeros(1, np.float32))
    assert (terminated, truncated) == (True, False)
    assert info["time_s"] == pytest.approx(0.6, abs=0.031)


def test_an_ended_sub_environment_is_reset_by_the_next_step():
    env = gymnasium.make_vec(envs.FLOW_ID, num_envs=2, scenario=static({}, duration_s=0.3))
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    env.reset(seed=[1, 2])
    zeros = np.zeros((2, 1), np.float32)
    for _ in range(9):
        observations, _, _, truncated, info = env.step(zeros)
    assert truncated.all()
    assert info["time_s"] == pytest.approx([0.3, 0.3])
    after, rewards, terminated, truncated, info = env.step(zeros)
    assert not truncated.any()
    assert not terminated.any()
    assert rewards.tolist() == [0.0, 0.0]
    assert info["time_s"] == pytest.approx([0.03, 0.03])
    assert not np.array_equal(after, observations)


def test_what_step_returned_is_not_overwritten_by_the_next_step():
    env = gymnasium.make(envs.FLOW_ID, scenario=static({}))
    vector = gymnasium.make_vec(envs.FLOW_ID, num_envs=2, scenario=static({}))
    for each, action in ((env, np.ones(1, np.float32)), (vector, np.ones((2, 1), np.float32))):
        observation, info = each.reset(seed=1)
        saved = observation.copy(), dict(info)
        for _ in range(5):
            each.step(action)
        assert data_equivalence((observation, info), saved, exact=True)


def test_the_window_follows_the_action():
    env = gymnasium.make(envs.FLOW_ID, scenario=static({}, rate_mbps=100.0))
    _, info = env.reset(seed=1)
    grown, shrunk = (lambda cwnd: np.ceil(cwnd * 1.025)), (lambda cwnd: np.floor(cwnd / 1.025))
    for action, expected in ((1.0, grown), (1.0, grown), (0.0, float), (-1.0, shrunk)):
        before = info["cwnd_packets"]
        *_, info = env.step(np.array([action], np.float32))
        assert info["cwnd_packets"] == expected(before)


def test_goodput_and_rtt_in_info_are_those_of_the_link():
    env = gymnasium.make(envs.FLOW_ID, scenario=static({}, duration_s=3.0, rate_mbps=10.0))
    _, info = env.reset(seed=1)
    assert tuple(info) == (*FIELDS, "scenario", "seed")
    truncated, goodputs_mbps = False, []
    while not truncated:
        *_, truncated, info = env.step(np.ones(1, np.float32))
        goodputs_mbps.append(info["goodput_mbps"])
    # 1,448 of 1,500 bytes are payload; by then the window fills the path.
    assert np.mean(goodputs_mbps[-30:]) == pytest.approx(10 * 1448 / 1500, rel=0.03)
    # 20 ms of propagation, plus 1.2 ms for a packet of 1,500 bytes at 10 Mbit/s
    assert info["min_rtt_ms"] == pytest.approx(21.2, abs=0.1)
    assert info["min_rtt_ms"] <= info["rtt_ms"] <= 2 * 21.2 + 2.4


def two_delays(tmp_path) -> dict:
    """Return a scenario of 10 Mbit/s and 20 ms one way, 30 ms after 1 s."""
    columns = "time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event"
    rows = ["0,20,10,10,0,1,0,", "1,30,10,10,0,1,1,soft_handover", "2,20,10,10,0,1,0,"]
    # Delays must not fall faster than time passes.
    rows[2:2] = ["1.98,25,10,10,0,1,1,", "1.99,20,10,10,0,1,1,"]
    metadata = '# {"format": "leogym-path-trace", "version": 1}'
    file = tmp_path / "two-delays.csv"
    file.write_text("\n".join([metadata, columns, *rows, ""]), encoding="utf-8")
    link = {"trace": str(file), "queue": {"bdp": 1.0}}
    flows = [{"scheme": "agent", "route": ["link"]}]
    return {"name": "two-delays", "duration_s": 1.9, "links": {"link": link}, "flows": flows}


def test_info_has_the_scenario_its_seed_and_the_paths_capacity_and_base_rtt(tmp_path):
    scenario = two_delays(tmp_path)
    scenario["flows"][0]["extra_delay_ms"] = 4.0
    env = gymnasium.make(envs.FLOW_ID, scenario=scenario)
    _, info = env.reset(seed=1)
    assert info["scenario"] == "two-delays"
    assert info["seed"] != env.reset()[1]["seed"]
    truncated = False
    while not truncated:
        *_, truncated, info = env.step(np.zeros(1, np.float32))
        assert "scenario" not in info
        assert info["capacity_mbps"] == pytest.approx(10.0)
        if not 0.97 < info["time_s"] < 1.03:
            assert info["base_rtt_ms"] == pytest.approx(2 * ((20 if info["time_s"] < 1 else 30) + 4))


def test_a_path_trace_file_moves_the_rtt(tmp_path):
    env = gymnasium.make(envs.FLOW_ID, scenario=two_delays(tmp_path))
    env.reset(seed=1)
    rtts_ms, truncated = [], False
    while not truncated:
        *_, truncated, info = env.step(np.zeros(1, np.float32))
        if info["rtt_ms"]:  # an interval of half an RTT can have no ACK
            rtts_ms.append((info["time_s"], info["rtt_ms"]))
    before = [rtt_ms for time_s, rtt_ms in rtts_ms if 0.5 < time_s < 1.0]
    after = [rtt_ms for time_s, rtt_ms in rtts_ms if time_s > 1.2]
    assert 40 < min(before) <= max(before) < 60 < min(after) < 80


@pytest.mark.parametrize("reward", leosim.Batch.rewards())
def test_every_reward_is_finite(reward):
    env = gymnasium.make(envs.FLOW_ID, scenario=SHORT, reward=reward)
    env.reset(seed=1)
    rewards = [env.step(env.action_space.sample())[1] for _ in range(5)]
    assert np.isfinite(rewards).all()


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"backend": "moon"}, "backend: 'moon': unknown .there are: simulator"),
        ({"agent": "moon"}, "agent: 'moon': unknown .there are: astraea"),
        ({"reward": "moon"}, "reward: 'moon': unknown .there are: astraea"),
        ({"interval_ms": 0.0}, "interval_ms"),
        ({"interval_ms": float("nan")}, "interval_ms"),
        ({"scenario": static({}, {})}, "up to 2 flows of scheme agent"),
        ({"scenario": "leo-pair"}, "up to 2 flows of scheme agent"),
        ({"scenario": {"sampler": "astraea", "learning_flows": 2}}, "up to 2 flows of scheme agent"),
        ({"policies": {"astraea": "nowhere"}}, "nowhere"),
    ],
)
def test_a_bad_argument_is_named_in_one_line(arguments, rule):
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(InputError, match=rule) as caught:
            make(envs.FLOW_ID, **arguments)
        assert "\n" not in str(caught.value)


def test_an_unknown_scheme_and_a_flow_too_short_to_report_are_bad_input():
    with pytest.raises(InputError, match="moonshot"):
        gymnasium.make(envs.FLOW_ID, scenario=static({}, {"scheme": "moonshot"})).reset(seed=1)
    with pytest.raises(InputError, match="no learning flow runs for a whole monitor interval"):
        gymnasium.make(envs.FLOW_ID, scenario=static({"start_s": 0.99})).reset(seed=1)


def test_an_action_that_is_not_a_number_is_refused():
    env = gymnasium.make(envs.FLOW_ID, disable_env_checker=True)
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"(?i)nan|finite"):
        env.step(np.array([np.nan], np.float32))


@pytest.mark.parametrize("scenario", ["astraea", "leo", "mixture", "leo-single"])
def test_samplers_and_suites_of_several_flows_give_one_learning_flow(scenario):
    env = gymnasium.make_vec(envs.FLOW_ID, num_envs=4, scenario=scenario)
    env.reset(seed=1)
    assert env.step(env.action_space.sample())[0].shape == (4, 50)


def test_a_scenario_in_the_options_of_reset_counts_for_that_episode_only():
    env, other = (gymnasium.make(envs.FLOW_ID, scenario=static({}, rate_mbps=rate)) for rate in (10.0, 50.0))
    step = env.reset(seed=1, options={"scenario": static({}, rate_mbps=50.0)})
    assert data_equivalence(step, other.reset(seed=1), exact=True)
    for _ in range(30):
        action = env.action_space.sample()
        assert data_equivalence(env.step(action), other.step(action), exact=True)
    before = gymnasium.make(envs.FLOW_ID, scenario=static({}, rate_mbps=10.0))
    before.reset(seed=1)
    assert data_equivalence(env.reset(), before.reset(), exact=True)


def test_each_environment_of_a_vector_may_get_a_scenario_of_its_own():
    rates = [10.0, 20.0, 40.0]
    scenarios = [static({}, rate_mbps=rate) for rate in rates]
    vector = gymnasium.make_vec(envs.FLOW_ID, num_envs=3)
    observations, _ = vector.reset(seed=5, options={"scenario": scenarios})
    for index, scenario in enumerate(scenarios):
        alone = gymnasium.make(envs.FLOW_ID, scenario=scenario)
        np.testing.assert_array_equal(observations[index], alone.reset(seed=5 + index)[0])
    for options in ({"scenario": scenarios[0]}, {"scenario": [scenarios[0]] * 3}):
        observations, _ = vector.reset(seed=[5, 5, 5], options=options)
        assert (observations == observations[0]).all()


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"speed": 3}, "reset: options: speed: unknown key .there is: scenario"),
        ({"scenario": "leo-singel"}, "reset: options: scenario: .*nearest: leo-single"),
        ({"scenario": static({}, {})}, "reset: options: scenario: has up to 2 flows .* must be at most 1"),
    ],
)
def test_bad_options_of_reset_are_named_in_one_line(options, rule):
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(InputError, match=rule) as caught:
            make(envs.FLOW_ID).reset(options=options)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="reset: options: scenario: has 1 entries, must be 2"):
        gymnasium.make_vec(envs.FLOW_ID, num_envs=2).reset(options={"scenario": ["leo"]})


def test_a_vector_is_called_as_gymnasiums_own_vectors_are():
    envs = gymnasium.make_vec("leo/Flow-v0", num_envs=2)
    assert envs.call("render") == (None, None)
    assert envs.call("num_envs") == (2, 2)
    envs.close()
