"""An exported policy gives the same actions in ONNX Runtime and in the native runner."""

import json

import leosim
import numpy as np
import onnxruntime
import pytest

from leogym.agents.training.run_folder import RunFolder
from tests.support import training_runs
from tests.support.training_runs import rows, settings_of

TINY = {
    "orca": {
        "scenarios": {"duration_s": 1.0, "rate_mbps": 10, "base_rtt_ms": [20, 40]},
        "num_envs": 2,
        "learning_starts": 20,
        "batch_size": 16,
        "memory": 500,
        "hidden": [16, 16],
        "updates_per_training": 1,
        "progress_steps": 50,
        "steps": 100,
    },
    "aurora": {
        "scenarios": {"duration_rtts": 10.0, "delay_ms": [20, 40]},
        "num_envs": 2,
        "rollout_steps": 32,
        "minibatch_size": 32,
        "progress_steps": 32,
        "steps": 128,
    },
}

SCENARIO = {
    "duration_s": 4.0,
    "seed": 3,
    "links": {"b": {"rate_mbps": 8.0, "delay_ms": 15.0, "loss": 0.002, "queue": {"bdp": 2.0}}},
    "flows": [{"scheme": "agent", "route": ["b"]}],
}


@pytest.fixture(scope="module", params=sorted(TINY))
def trained(request, tmp_path_factory) -> tuple[str, RunFolder, float]:
    """Train for seconds; return agent, run and interval (ms)."""
    agent = request.param
    settings = settings_of(agent, **TINY[agent])
    run = training_runs.trained(settings, tmp_path_factory.mktemp(agent) / "run")
    return agent, run, settings.interval_ms


def test_a_run_of_seconds_leaves_rows_a_checkpoint_and_a_policy_for_its_own_specification(trained):
    name, run, interval_ms = trained
    assert int(rows(run)[-1]["steps"]) >= 100
    assert all(np.isfinite(float(row["reward"])) for row in rows(run))
    assert (run.checkpoints / "latest").is_file()
    policy = leosim.Policy.load(str(run.policy))
    assert (policy.spec, policy.interval_ms) == (name, interval_ms)


def test_onnx_runtime_and_the_native_runner_agree_on_every_action(trained):
    _, run, _ = trained
    policy = leosim.Policy.load(str(run.policy))
    dim = json.loads((run.policy / "policy.json").read_text())["observation_dim"]
    observations = np.random.default_rng(1).uniform(0, 2, (50, dim)).astype(np.float32)
    session = onnxruntime.InferenceSession(run.policy / "policy.onnx")
    (expected,) = session.run(["action"], {"observation": observations})
    np.testing.assert_allclose(policy.act(observations), np.asarray(expected), atol=1e-5)


def test_a_policy_that_acts_on_a_batch_from_python_does_what_the_simulator_does_with_it_alone(trained):
    name, run, interval_ms = trained
    policy = leosim.Policy.load(str(run.policy))
    batch = leosim.Batch(1, agent=name, reward=name, interval_ms=interval_ms)
    batch.reset(0, json.dumps(SCENARIO), {})
    steps = 0
    while not batch.finished[0]:
        batch.step(policy.act(batch.observations[:, 0])[:, None])
        steps += 1
    assert steps > 50
    outside = batch.run_log(0).flows[0]
    flows = [{"scheme": name, "route": ["b"]}]
    (log,) = leosim.run(
        [json.dumps({**SCENARIO, "flows": flows})], {}, {name: policy}, interval_ms=interval_ms
    )
    inside = log.flows[0]
    assert inside["delivered_packets"] > 500
    assert {**inside, "scheme": ""} == {**outside, "scheme": ""}
