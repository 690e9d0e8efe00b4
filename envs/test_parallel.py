import numpy as np
import pettingzoo
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.test import parallel_api_test, parallel_seed_test

from leogym import envs
from leogym.common.errors import InputError
from leogym.envs.parallel import FLOWS_ID, NETWORK_ID, PAIR_ID, FlowsParallelEnv
from leogym.envs.reports import FIELDS
from leogym.envs.test_flow import static
from leogym.registration import PAIR_STEPS

REGISTERED = [name for name in pettingzoo.parallel_registry if name.startswith("leo/")]

MANY = {
    "sampler": "astraea",
    "flows": 3,
    "rate_mbps": [5.0, 20.0],
    "duration_s": 1.5,
    "leave_probability": 0.5,
    "minimum_life_s": 0.2,
}

COME_AND_GO = static({"stop_s": 0.6}, {"start_s": 0.3}, duration_s=0.9)


def test_the_registry_has_the_environments():
    assert REGISTERED == [FLOWS_ID, PAIR_ID, NETWORK_ID]
    assert REGISTERED == ["leo/Flows-v0", "leo/Pair-v0", "leo/Network-v0"]


def test_pairs_share_a_leo_path_for_half_a_minute():
    env = pettingzoo.make("parallel", PAIR_ID)
    env.reset(seed=1)
    assert env.scenario.name.startswith("leo-")
    assert env.possible_agents == ["flow_0", "flow_1"]
    steps = played(env)
    assert len(steps) == PAIR_STEPS
    assert set(steps[-1][4].values()) == {True}


@pytest.mark.parametrize("scenario", [None, COME_AND_GO, MANY], ids=["default", "come-and-go", "sampled"])
@pytest.mark.parametrize("name", REGISTERED)
@pytest.mark.filterwarnings("error")
def test_every_registered_id_passes_pettingzoos_api_test(name, scenario):
    parallel_api_test(pettingzoo.make("parallel", name, scenario=scenario), num_cycles=100)


@pytest.mark.parametrize("scenario", [None, COME_AND_GO, MANY], ids=["default", "come-and-go", "sampled"])
@pytest.mark.parametrize("name", REGISTERED)
@pytest.mark.filterwarnings("error")
def test_every_registered_id_passes_pettingzoos_seed_test(name, scenario):
    parallel_seed_test(lambda: pettingzoo.make("parallel", name, scenario=scenario), num_cycles=100)


def played(env, seed: int = 1) -> list[tuple]:
    """Play one episode with constant windows; return (agents, *result) of each step."""
    env.reset(seed=seed)
    steps = []
    while env.agents:
        acting = list(env.agents)
        steps.append((acting, *env.step({name: np.zeros(1, np.float32) for name in acting})))
    return steps


def test_flows_join_and_leave_during_an_episode():
    env = envs.parallel_env(COME_AND_GO)
    observations, infos = env.reset(seed=1)
    assert env.possible_agents == ["flow_0", "flow_1"]
    assert env.agents == list(observations) == list(infos) == ["flow_0"]
    steps = played(env)
    agents = [set(step[0]) for step in steps]
    first, both, second = {"flow_0"}, {"flow_0", "flow_1"}, {"flow_1"}
    order = [names for names, before in zip(agents, [None, *agents], strict=False) if names != before]
    assert order == [first, both, second]

    joining = steps[agents.index(both) - 1]
    assert joining[1].keys() == both
    assert joining[2]["flow_1"] == 0.0
    assert joining[3]["flow_1"] is joining[4]["flow_1"] is False
    assert joining[5]["flow_1"]["time_s"] == pytest.approx(0.33, abs=0.031)

    leaving = steps[agents.index(second) - 1]
    assert leaving[3] == {"flow_0": True, "flow_1": False}
    assert leaving[4] == {"flow_0": False, "flow_1": False}

    assert steps[-1][3] == {"flow_1": False}
    assert steps[-1][4] == {"flow_1": True}


def test_a_step_runs_on_to_the_next_flow_while_none_is_running():
    env = envs.parallel_env(static({"stop_s": 0.3}, {"start_s": 0.6}, duration_s=0.9))
    steps = played(env)
    handing_over = next(step for step in steps if step[0] == ["flow_0"] and step[3]["flow_0"])
    assert handing_over[1].keys() == {"flow_0", "flow_1"}
    assert handing_over[5]["flow_0"]["time_s"] == pytest.approx(0.3, abs=0.031)
    assert handing_over[5]["flow_1"]["time_s"] == pytest.approx(0.63, abs=0.031)
    assert steps[-1][4] == {"flow_1": True}


def test_the_episode_is_over_when_the_last_flow_stopped():
    steps = played(
        envs.parallel_env(static({"stop_s": 0.3}, {"start_s": 0.1, "stop_s": 0.6}, duration_s=60.0))
    )
    assert steps[-1][0] == ["flow_1"]
    assert steps[-1][3] == {"flow_1": True}
    assert steps[-1][4] == {"flow_1": False}
    assert len(steps) < 25


def test_no_step_after_the_end():
    env = envs.parallel_env(COME_AND_GO)
    with pytest.raises(ResetNeeded):
        env.step({})
    played(env)
    with pytest.raises(ResetNeeded):
        env.step({})


def test_a_flow_without_an_action_keeps_its_window():
    first, second = envs.parallel_env(COME_AND_GO), envs.parallel_env(COME_AND_GO)
    first.reset(seed=1), second.reset(seed=1)
    for _ in range(5):
        assert data_equivalence(first.step({}), second.step({"flow_0": np.zeros(1, np.float32)}), exact=True)


def test_one_flow_gets_the_numbers_of_flow_v0():
    import gymnasium

    alone, among = gymnasium.make(envs.FLOW_ID), envs.parallel_env()
    observation, info = alone.reset(seed=4)
    observations, infos = among.reset(seed=4)
    assert (info.pop("scenario"), info.pop("seed")) == (among.scenario.name, among.scenario.seed)
    assert data_equivalence((observation, info), (observations["flow_0"], infos["flow_0"]), exact=True)
    rng = np.random.default_rng(1)
    for _ in range(40):
        action = rng.uniform(-1, 1, 1).astype(np.float32)
        step, steps = alone.step(action), among.step({"flow_0": action})
        assert data_equivalence(list(step), [part["flow_0"] for part in steps], exact=True)


def test_the_global_state_has_its_space():
    env = envs.parallel_env(COME_AND_GO)
    env.reset(seed=1)
    assert env.state() in env.state_space
    assert env.state().shape == (12,)


def test_flows_that_never_come_to_life_are_bad_input():
    with pytest.raises(InputError, match="no learning flow runs for a whole monitor interval"):
        envs.parallel_env(static({"start_s": 0.99})).reset(seed=1)


def constant(scenario) -> FlowsParallelEnv:
    return envs.parallel_env(scenario, constant_agents=True)


@pytest.mark.parametrize("scenario", [None, COME_AND_GO, MANY], ids=["default", "come-and-go", "sampled"])
@pytest.mark.filterwarnings("error")
def test_a_constant_set_of_agents_passes_pettingzoos_tests(scenario):
    parallel_api_test(constant(scenario), num_cycles=100)
    parallel_seed_test(lambda: constant(scenario), num_cycles=100)


@pytest.mark.parametrize("scenario", [COME_AND_GO, MANY], ids=["come-and-go", "sampled"])
def test_constant_agents_get_what_their_flows_get_and_zeros_while_they_do_not_run(scenario):
    constant_env, oracle = constant(scenario), envs.parallel_env(scenario)
    rng = np.random.default_rng(1)
    active = set()
    for episode in range(3):
        resets = constant_env.reset(seed=episode), oracle.reset(seed=episode)
        assert_completed(constant_env, *resets)
        while oracle.agents:
            assert constant_env.agents == constant_env.possible_agents
            actions = {name: rng.uniform(-1, 1, 1).astype(np.float32) for name in constant_env.agents}
            actions |= {
                name: np.full(1, np.nan, np.float32) for name in set(constant_env.agents) - {*oracle.agents}
            }
            step, oracle_step = (
                constant_env.step(actions),
                oracle.step({name: actions[name] for name in oracle.agents}),
            )
            assert_completed(constant_env, (step[0], step[4]), (oracle_step[0], oracle_step[4]))
            assert step[1] == {name: oracle_step[1].get(name, 0.0) for name in constant_env.possible_agents}
            active.add(tuple(constant_env.active))
            over = not oracle.agents
            truncated = over and any(oracle_step[3].values())
            assert step[2] == dict.fromkeys(constant_env.possible_agents, over and not truncated)
            assert step[3] == dict.fromkeys(constant_env.possible_agents, truncated)
        assert constant_env.agents == []
        with pytest.raises(ResetNeeded):
            constant_env.step({})
    assert len(active) > 2, "flows come and go"


def assert_completed(env: FlowsParallelEnv, step: tuple, expected_step: tuple) -> None:
    """Check observations and infos of constant agents beside those of running flows."""
    (observations, infos), (expected, expected_infos) = step, expected_step
    assert list(observations) == list(infos) == env.possible_agents
    for place, name in enumerate(env.possible_agents):
        active = name in expected
        assert infos[name].pop("active") is active is bool(env.active[place])
        expected_observation = expected[name] if active else np.zeros_like(observations[name])
        np.testing.assert_array_equal(observations[name], expected_observation)
        assert infos[name] == (expected_infos[name] if active else dict.fromkeys(FIELDS, 0.0))


def test_the_flags_of_constant_agents_are_terminations_if_every_flow_stopped_before_the_end():
    stop = static({"stop_s": 0.3}, {"start_s": 0.1, "stop_s": 0.6}, duration_s=60.0)
    *_, last = played(constant(stop))
    assert set(last[3].values()) == {True}
    assert set(last[4].values()) == {False}


def test_a_scenario_in_the_options_of_reset_counts_for_that_episode_only():
    env, other = envs.parallel_env(static({}, {})), envs.parallel_env(COME_AND_GO)
    step = env.reset(seed=1, options={"scenario": COME_AND_GO})
    assert data_equivalence(step, other.reset(seed=1), exact=True)
    env.reset()
    assert env.agents == ["flow_0", "flow_1"]
    with pytest.raises(InputError, match="reset: options: scenario: has up to 3 flows"):
        env.reset(options={"scenario": static({}, {}, {})})
    with pytest.raises(InputError, match="reset: options: speed: unknown key"):
        env.reset(options={"speed": 1})


def test_discrete_actions_are_evenly_spaced_numbers():
    discrete, continuous = envs.parallel_env(COME_AND_GO, actions=5), envs.parallel_env(COME_AND_GO)
    assert discrete.action_space("flow_1") == Discrete(5)
    assert data_equivalence(discrete.reset(seed=1), continuous.reset(seed=1), exact=True)
    while continuous.agents:
        numbers = {name: np.array([0.5], np.float32) for name in continuous.agents}
        step = discrete.step(dict.fromkeys(discrete.agents, 3))
        assert data_equivalence(step, continuous.step(numbers), exact=True)


def test_info_has_the_paths_capacity_and_each_flows_base_rtt():
    env = envs.parallel_env(static({}, {"extra_delay_ms": 7.0}))
    assert env.scenario is None
    _, infos = env.reset(seed=1)
    assert env.scenario.name == "scenario"
    for step_infos in (infos, env.step({})[4]):
        assert [info["base_rtt_ms"] for info in step_infos.values()] == pytest.approx([20.0, 34.0])
        assert [info["capacity_mbps"] for info in step_infos.values()] == pytest.approx([10.0, 10.0])


@pytest.mark.parametrize("reward", ["fair-share", "astraea"])
def test_a_flow_is_judged_by_its_own_path_whatever_runs_elsewhere(reward):
    links = {
        name: {"rate_mbps": rate, "delay_ms": 20, "queue": {"bdp": 1.0}}
        for name, rate in (("a", 50), ("b", 10))
    }

    def mean_rewards(*flows):
        scenario = {"name": "apart", "duration_s": 4.0, "links": links, "flows": list(flows)}
        env = envs.parallel_env(scenario=scenario, reward=reward)
        env.reset(seed=1)
        rewards = {agent: [] for agent in env.possible_agents}
        while env.agents:
            _, earned, *_ = env.step(dict.fromkeys(env.agents, np.zeros(1, np.float32)))
            for agent, value in earned.items():
                rewards[agent].append(value)
        return [float(np.mean(values)) for values in rewards.values()]

    on_a, on_b, cubic_on_b = (
        {"scheme": scheme, "route": [link]}
        for scheme, link in (("agent", "a"), ("agent", "b"), ("cubic", "b"))
    )
    [alone] = mean_rewards(on_a)
    # Seeds of start times differ with the number of flows.
    assert mean_rewards(on_a, cubic_on_b, cubic_on_b) == pytest.approx([alone], rel=0.02)
    first, second = mean_rewards(on_a, on_b)
    assert first == pytest.approx(alone, rel=0.02)
    assert mean_rewards(on_b, on_a) == pytest.approx([second, first], rel=0.02)
