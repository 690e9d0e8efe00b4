"""Observation spaces of every agent specification: finite, and no observation is outside."""

import gymnasium
import leosim
import numpy as np
import pytest
from gymnasium.wrappers import RescaleObservation, TimeAwareObservation
from hypothesis import given, settings
from hypothesis import strategies as st

from leogym.envs.flow import FlowEnv, FlowVectorEnv
from leogym.envs.parallel import parallel_env
from leogym.envs.rllib import MultiFlowEnv, SingleFlowEnv
from leogym.envs.sb3 import LeoVecEnv
from leogym.envs.test_flow import SHORT
from leogym.envs.test_parallel import MANY

SPECIFICATIONS = leosim.Batch.agents()


def softsign(values: np.ndarray) -> np.ndarray:
    return values / (1 + np.abs(values))


@st.composite
def scenarios(draw: st.DrawFn) -> dict:
    """Draw a link of any speed, delay, buffer and loss, with an outage or not and other flows or not."""
    link: dict = {
        "rate_mbps": draw(st.floats(0.05, 300.0)),
        "delay_ms": draw(st.floats(0.1, 400.0)),
        "loss": draw(st.sampled_from([0.0, 0.0, 0.01, 0.5])),
        "queue": {"packets": draw(st.integers(1, 2_000))},
    }
    flows: list[dict] = [{"scheme": "agent", "route": ["l"]}]
    flows += [
        {"scheme": scheme, "route": ["l"]} for scheme in draw(st.lists(st.sampled_from(["cubic", "bbr"])))
    ][:2]
    return {"duration_s": 4.0, "seed": draw(st.integers(0, 100)), "links": {"l": link}, "flows": flows}


@pytest.mark.parametrize("agent", SPECIFICATIONS)
def test_every_specification_has_finite_bounds(agent):
    for normalize in (False, True):
        batch = leosim.Batch(1, agent=agent, normalize_observations=normalize)
        low, high = batch.observation_bounds
        assert low.shape == high.shape == (batch.observation_dim,)
        assert np.isfinite(low).all()
        assert np.isfinite(high).all()
        assert (low < high).all()
        bounds = leosim.Agents(1, agent=agent, normalize_observations=normalize).observation_bounds
        np.testing.assert_array_equal(bounds, (low, high))
    assert low.min() >= -1
    assert high.max() <= 1


@settings(max_examples=60, deadline=None)
@given(
    scenario=scenarios(),
    agent=st.sampled_from(SPECIFICATIONS),
    interval_ms=st.sampled_from([1.0, 10.0, 30.0, 500.0]),
    seed=st.integers(0, 100),
)
def test_every_observation_lies_within_its_space_and_a_normalised_one_is_its_softsign(
    scenario, agent, interval_ms, seed
):
    plain, normal = (
        FlowEnv(scenario, agent, interval_ms=interval_ms, normalize_observations=normalize)
        for normalize in (False, True)
    )
    rng = np.random.default_rng(seed)
    steps = [env.reset(seed=1)[0] for env in (plain, normal)]
    for _ in range(40):
        assert plain.observation_space.contains(steps[0])
        assert normal.observation_space.contains(steps[1])
        np.testing.assert_allclose(steps[1], softsign(steps[0]), rtol=1e-6)
        action = rng.choice([-1, 1, rng.uniform(-1, 1)], plain.action_space.shape).astype(np.float32)
        steps, ends = [], []
        for env in (plain, normal):
            observation, _, terminated, truncated, _ = env.step(action)
            steps.append(observation)
            ends.append(terminated or truncated)
        if any(ends):
            assert all(ends)
            break


def test_every_face_normalises_by_the_same_argument():
    plain = FlowVectorEnv(1, SHORT)
    expected = softsign(plain.reset(seed=1)[0][0])
    sb3 = LeoVecEnv(1, SHORT, normalize_observations=True)
    sb3.seed(1)
    observations = [
        FlowEnv(SHORT, normalize_observations=True).reset(seed=1)[0],
        FlowVectorEnv(1, SHORT, normalize_observations=True).reset(seed=1)[0][0],
        parallel_env(SHORT, normalize_observations=True).reset(seed=1)[0]["flow_0"],
        SingleFlowEnv({"scenario": SHORT, "normalize_observations": True}).reset(seed=1)[0],
        MultiFlowEnv({"scenario": SHORT, "normalize_observations": True}).reset(seed=1)[0]["flow_0"],
        sb3.reset()[0],
    ]
    for observation in observations:
        np.testing.assert_allclose(observation, expected, rtol=1e-6)
    assert expected.any()


def test_gymnasiums_wrappers_that_need_bounds_take_the_environment():
    env = RescaleObservation(gymnasium.make("leo/Flow-v0", scenario=SHORT), -1.0, 1.0)
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    timed = TimeAwareObservation(gymnasium.make("leo/Flow-v0", scenario=SHORT, max_episode_steps=10))
    observation, _ = timed.reset(seed=1)
    assert observation in timed.observation_space


@pytest.mark.parametrize("constant_agents", [False, True])
def test_flows_that_come_and_go_have_observations_within_their_space(constant_agents):
    env = parallel_env(MANY, constant_agents=constant_agents, normalize_observations=True)
    observations, _ = env.reset(seed=1)
    for _ in range(100):
        assert all(
            env.observation_space(name).contains(observation) for name, observation in observations.items()
        )
        if not env.agents:
            env.reset()
        observations, *_ = env.step({name: env.action_space(name).sample() for name in env.agents})
