"""Copies and pickles of every face: the same trajectory afterwards, and no effect of one on the other."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import leosim
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence

from leogym.common.errors import InputError
from leogym.envs.flow import FlowEnv, FlowVectorEnv
from leogym.envs.parallel import FlowsParallelEnv, parallel_env
from leogym.envs.real_tcp import RealTcpBatch
from leogym.envs.rllib import MultiFlowEnv, SingleFlowEnv
from leogym.envs.sb3 import LeoVecEnv
from leogym.envs.test_flow import SHORT
from leogym.envs.test_parallel import MANY

ACTIONS = np.linspace(-1, 1, 7, dtype=np.float32)
EPISODE_STEPS = 41
"""More than the steps of an episode of `SHORT`."""


def _single(env: FlowEnv, at: int) -> Any:
    *step, terminated, truncated, info = env.step(ACTIONS[at % 7 : at % 7 + 1])
    return [*step, terminated, truncated, info, env.reset() if terminated or truncated else None]


def _vector(env: FlowVectorEnv, at: int) -> Any:
    return env.step(np.resize(np.roll(ACTIONS, at), env.action_space.shape))


def _sb3(env: LeoVecEnv, at: int) -> Any:
    return env.step(np.roll(ACTIONS, at)[: env.num_envs, None])


def _flows(env: FlowsParallelEnv, at: int) -> Any:
    acting = zip(env.agents, np.roll(ACTIONS, at)[:, None], strict=False)
    step = env.step(dict(acting))
    return [*step, env.state(), None if env.agents else env.reset()]


def _rllib(env: MultiFlowEnv, at: int) -> Any:
    step = env.step(dict(zip(env.agents, np.roll(ACTIONS, at)[:, None], strict=False)))
    return [*step, None if env.agents else env.reset()]


TRACE = """# {"format": "leogym-path-trace", "version": 1, "made": "by hand"}
time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event
0,20.000001,10,10.000001,0.0025,1,7,
0.000000001,20,0,10,0.0000001,1,1,soft_handover(1.25..4.5)
1.5,30,5,10,0,0,1,hard_handover
1.6,30,5,10,0,1,1,
3,30,5,10,0,1,1,
"""

POLICY = Path(__file__).resolve().parents[1] / "core/control/tests/fixtures/aurora"

Face = tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any, int], Any]]

FACES: dict[str, Face] = {
    "single": (lambda: FlowEnv(SHORT), lambda env: env.reset(seed=1), _single),
    "vector": (lambda: FlowVectorEnv(3, SHORT), lambda env: env.reset(seed=1), _vector),
    "vector-2-threads": (lambda: FlowVectorEnv(3, SHORT, threads=2), lambda env: env.reset(seed=1), _vector),
    "same-step": (
        lambda: FlowVectorEnv(3, SHORT, autoreset_mode="SameStep"),
        lambda env: env.reset(seed=1),
        _vector,
    ),
    "flows": (lambda: FlowsParallelEnv(MANY), lambda env: env.reset(seed=1), _flows),
    "constant-flows": (
        lambda: parallel_env(MANY, constant_agents=True),
        lambda env: env.reset(seed=1),
        _flows,
    ),
    "sb3": (lambda: LeoVecEnv(3, SHORT), lambda env: (env.seed(1), env.reset()), _sb3),
    "rllib": (lambda: MultiFlowEnv({"scenario": MANY}), lambda env: env.reset(seed=1), _rllib),
    "rllib-single": (lambda: SingleFlowEnv({"scenario": SHORT}), lambda env: env.reset(seed=1), _single),
}

WAYS: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}


def _trajectory(env: Any, face: Face, steps: range) -> list[Any]:
    return [face[2](env, at) for at in steps]


def _go_on_alike(env: Any, copies: list[Any], step: Callable[[Any, int], Any], steps: range) -> None:
    for at in steps:
        expected = step(env, at)
        for duplicate in copies:
            assert data_equivalence(step(duplicate, at), expected, exact=True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FACES)
def test_a_copy_goes_on_like_the_original_and_neither_moves_the_other(name, way):
    face = FACES[name]
    make, reset, _ = face
    env = make()
    copies = [(None, WAYS[way](env))]  # before the first reset
    expected = [copy.deepcopy(reset(env))]
    for at in range(2 * EPISODE_STEPS):
        if at % 7 == 0:
            copies.append((at, WAYS[way](env)))
        expected.append(copy.deepcopy(face[2](env, at)))
    ahead = copy.deepcopy(_trajectory(env, face, range(2 * EPISODE_STEPS, 3 * EPISODE_STEPS)))
    expected += ahead
    for at, duplicate in copies:
        if at is None:
            assert data_equivalence(reset(duplicate), expected[0], exact=True)
        start = at or 0
        trajectory = _trajectory(duplicate, face, range(start, start + EPISODE_STEPS))
        assert data_equivalence(trajectory, expected[1 + start :][:EPISODE_STEPS], exact=True), at


@pytest.mark.parametrize("agent", leosim.Batch.agents())
def test_a_copy_of_every_agent_specification_goes_on_like_the_original(agent):
    env = FlowVectorEnv(2, SHORT, agent=agent, normalize_observations=True)
    env.reset(seed=1)
    for at in range(20):
        _vector(env, at)
    copies = [way(env) for way in WAYS.values()]
    _go_on_alike(env, copies, _vector, range(20, 40))


def test_path_traces_and_policies_come_along(tmp_path):
    trace = tmp_path / "path.csv"
    trace.write_text(TRACE, encoding="utf-8")
    scenario = {
        "duration_s": 2.0,
        "links": {"l": {"trace": str(trace), "queue": {"bdp": 1.0}}},
        "flows": [{"scheme": scheme, "route": ["l"]} for scheme in ("agent", "aurora")],
    }
    env = FlowEnv(scenario, policies={"aurora": POLICY})
    env.reset(seed=1)
    for at in range(10):
        _single(env, at)
    copies = [way(env) for way in WAYS.values()]
    _go_on_alike(env, copies, _single, range(10, 80))


def test_a_copy_has_the_run_log_of_the_original():
    env = LeoVecEnv(2, SHORT)
    env.seed(1)
    env.reset()
    for at in range(20):
        _sb3(env, at)
    logs = [source.run_log(1) for source in (env, *(way(env) for way in WAYS.values()))]
    assert logs[0].flows[0]["sent_packets"] > 0
    assert all(data_equivalence(log.flows, logs[0].flows, exact=True) for log in logs[1:])


def test_a_scenario_that_cannot_be_pickled_says_so_as_python_does_and_can_be_copied():
    seed = {"duration_s": 1.0}

    def scenario(rng: np.random.Generator) -> Any:
        raise AssertionError(seed)

    env = FlowEnv(scenario, max_learning_flows=1)
    copy.deepcopy(env)
    with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
        pickle.dumps(env)


def test_a_pickle_of_a_simulator_that_gives_other_results_is_refused():
    env = FlowEnv(SHORT)
    env.reset(seed=1)
    env._batch.observations[0, 0, -1] += 1.0
    with pytest.raises(leosim.InputError, match="runs them differently from the version that wrote it"):
        pickle.loads(pickle.dumps(env))


@pytest.mark.parametrize("way", WAYS)
def test_environments_on_a_real_kernel_cannot_be_copied(way):
    batch = RealTcpBatch.__new__(RealTcpBatch)
    batch._backend = "kernel"
    with pytest.raises(InputError, match=r"^backend: kernel: a running kernel cannot be copied or pickled$"):
        WAYS[way](batch)


def test_a_path_trace_survives_a_pickle():
    trace = leosim.PathTrace.parse(TRACE)
    again = pickle.loads(pickle.dumps(trace))
    assert (again.metadata, again.period_ns, again.event) == (trace.metadata, trace.period_ns, trace.event)
    for column in ("time_ns", "delay_ns", "uplink_bps", "downlink_bps", "loss", "connected", "path_id"):
        np.testing.assert_array_equal(getattr(again, column), getattr(trace, column))
    assert copy.deepcopy(trace) is trace


def test_a_pickled_policy_is_whole_whatever_becomes_of_its_folder(tmp_path):
    fixtures = Path(__file__).resolve().parents[1] / "core/control/tests/fixtures"
    for name in ("policy.json", "policy.onnx"):
        (tmp_path / name).write_bytes((fixtures / "perceptron" / name).read_bytes())
    policy = leosim.Policy.load(str(tmp_path))
    pickled = pickle.dumps(policy)
    for name in ("policy.json", "policy.onnx"):
        (tmp_path / name).unlink()
    again = pickle.loads(pickle.dumps(pickle.loads(pickled)))
    observations = np.random.default_rng(1).normal(size=(3, 50)).astype(np.float32)
    np.testing.assert_array_equal(again.act(observations), policy.act(observations))
    assert (again.spec, again.interval_ms) == (policy.spec, policy.interval_ms)


def test_a_replay_is_refused_before_a_reset_and_with_actions_of_another_shape():
    batch = leosim.Batch(2, slots=2)
    assert batch.actions(0).shape == (0, 2, 1)
    with pytest.raises(leosim.InputError, match="arguments: index: call reset on this simulation first"):
        batch.replay(0, batch.actions(0))
    env = parallel_env(MANY)
    env.reset(seed=1)
    for wrong in (np.zeros((5, 2, 1), np.float32), np.full((1, 3, 1), np.nan, np.float32)):
        with pytest.raises(leosim.InputError, match=r"of shape \(steps, 3, 1\), without NaN"):
            env._batch.replay(0, wrong)


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_of_an_episode_that_is_over_starts_the_same_next_one(way):
    for env, action in ((FlowEnv(SHORT), ACTIONS[:1]), (parallel_env(MANY), {})):
        env.reset(seed=1)
        over = False
        while not over:
            over = _over(env.step(action))
        duplicate = WAYS[way](env)
        with pytest.raises(ResetNeeded):
            duplicate.step(action)
        assert data_equivalence(duplicate.reset(), env.reset(), exact=True)


def _over(step: Any) -> bool:
    if isinstance(step[2], dict):
        return all(step[2][name] or step[3][name] for name in step[2])
    return step[2] or step[3]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "spec", [spec for spec in gymnasium.registry.values() if spec.namespace == "leo"], ids=str
)
def test_a_registered_environment_can_be_copied_with_its_wrappers(spec, way):
    env = gymnasium.make(spec.id)
    env.reset(seed=1)
    env.step(env.action_space.sample())
    duplicate = WAYS[way](env)
    action = env.action_space.sample()
    assert data_equivalence(duplicate.step(action), env.step(action), exact=True)
    assert data_equivalence(duplicate.reset(), env.reset(), exact=True)
