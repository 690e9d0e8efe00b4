"""Learning flows in networks: PettingZoo's and Gymnasium's faces over `NetworkScenarios`."""

import copy
import pickle

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.test import parallel_api_test, parallel_seed_test

from leogym import envs
from leogym.common.errors import InputError
from leogym.envs.parallel import NETWORK_ID
from leogym.envs.simulation import Simulations

SMALL = {
    "constellation": "telesat-1015",
    "duration_s": 2.0,
    "stations": {"names": ["ny", "ldn", "sao", "los"]},
    "lasers": {"rate_mbps": 10.0},
    "ground": {"uplink": {"rate_mbps": 2.0}, "downlink": {"rate_mbps": 10.0}},
    "traffic": [
        {"pattern": "permutation", "schemes": {"agent": 1.0, "cubic": 1.0}},
        {
            "pattern": "permutation",
            "schemes": {"cubic": 1.0},
            "arrivals": {"rate_per_s": 20.0, "mean_bytes": 5000},
        },
    ],
}
SCENARIO = {"network": SMALL, "duration_s": 1.0}


def small(**options):
    return envs.parallel_env(scenario=SCENARIO, reward="fair-share", **options)


def trajectory(env, steps=20):
    for _ in range(steps):
        if not env.agents:
            return
        yield env.step({name: np.full(1, 0.5, np.float32) for name in env.agents})


@pytest.mark.filterwarnings("error")
def test_a_network_passes_pettingzoos_tests_of_api_and_seeds():
    parallel_api_test(small(), num_cycles=60)
    parallel_seed_test(small, num_cycles=40)


def test_the_registered_network_has_eight_learning_flows_among_sixteen():
    env = pettingzoo.make("parallel", NETWORK_ID)
    env.reset(seed=1)
    assert env.possible_agents == [f"flow_{index}" for index in range(8)]
    assert env.scenario.name == "atlantic"
    infos = list(trajectory(env, 100))[-1][-1]
    assert all(info["capacity_mbps"] == 5.0 for info in infos.values())
    assert all(20 < info["base_rtt_ms"] < 400 for info in infos.values())
    assert all(info["rtt_ms"] >= info["base_rtt_ms"] for info in infos.values() if info["rtt_ms"])


def test_episodes_differ_in_traffic_start_and_length_as_their_seeds_say():
    env = small()
    episodes = []
    for seed in (1, 2):
        env.reset(seed=seed)
        episodes.append(env.scenario)
    first, second = episodes
    assert first.duration_s == 1.0
    assert first.first != second.first
    assert first.core != second.core
    env.reset(seed=1)
    assert env.scenario.core == first.core
    assert len(list(trajectory(env, 100))) == 32


def test_each_flow_is_judged_by_its_own_path():
    env = small()
    env.reset(seed=1)
    rewards = [rewards for _, rewards, *_ in trajectory(env)]
    assert any(len(set(step.values())) > 1 for step in rewards)


@pytest.mark.parametrize("way", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_continues_as_the_original(way):
    env = small()
    env.reset(seed=3)
    list(trajectory(env, 5))
    duplicate = way(env)
    for step, again in zip(trajectory(env), trajectory(duplicate), strict=True):
        assert data_equivalence(step, again, exact=True)
    assert data_equivalence(env.reset(), duplicate.reset(), exact=True)


def test_a_batch_of_networks_is_restored_from_seeds_and_actions():
    simulations = Simulations(2, scenario=SCENARIO)
    rng = np.random.default_rng(1)
    for index in range(2):
        simulations.reset(index, rng)
    for _ in range(5):
        simulations.step(np.full((2, simulations.slots, 1), 0.3, np.float32))
    again = Simulations(2, scenario=SCENARIO)
    again.restore(simulations.state())
    assert np.array_equal(again.batch.observations, simulations.batch.observations)


def test_one_learning_flow_of_a_network_is_an_environment_of_gymnasium():
    traffic = [{"pattern": "permutation", "schemes": {"agent": 1.0, "cubic": 3.0}}]
    env = gymnasium.make("leo/Flow-v0", scenario={"network": SMALL | {"traffic": traffic}})
    env.reset(seed=1)
    observation, _, terminated, truncated, info = env.step(np.zeros(1, np.float32))
    assert observation.shape == (50,)
    assert not terminated
    assert not truncated
    assert info["capacity_mbps"] == 2.0


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ({"network": "kuiper-630"}, "kuiper-630: traffic: no flow has scheme agent"),
        ({"network": "atlantik"}, "network: 'atlantik': neither a file nor a known network .*atlantic"),
        ({"network": SMALL, "duration_s": 3.0}, r"scenario: .*duration_s: must be at most the network's, 2"),
        ({"network": SMALL, "colour": "red"}, "scenario: colour"),
        (
            {"network": SMALL | {"traffic": [{**SMALL["traffic"][1], "schemes": {"agent": 1.0}}]}},
            "arrivals: the scheme agent cannot have arrivals",
        ),
    ],
)
def test_an_invalid_network_is_one_line(scenario, message):
    with pytest.raises(InputError, match=message) as error:
        envs.parallel_env(scenario=scenario)
    assert "\n" not in str(error.value)


def test_networks_have_no_frames_and_no_real_tcp():
    with pytest.raises(InputError, match="networks have no frames"):
        small(render_mode="rgb_array").reset(seed=1)
