import leosim
import numpy as np
import pytest
import torch

from leogym.agents.engines.sb3 import loop, ppo
from tests.support.training_runs import latest, settings_of, trained

TINY = {
    "scenarios": {"sampler": "astraea", "flows": 1, "rate_mbps": [5.0, 10.0], "duration_s": 1.0},
    "num_envs": 2,
    "rollout_steps": 16,
    "minibatch_size": 16,
    "epochs": 2,
    "hidden": [8],
    "memory_cells": 6,
    "reward": "power",
    "progress_steps": 32,
    "checkpoint_steps": 64,
}


@pytest.mark.parametrize("activation", ["leaky_relu", "tanh"])
def test_the_exported_policy_remembers_as_the_trained_one_does(tmp_path, activation):
    settings = settings_of("recurrent_ppo", **TINY, activation=activation, steps=64)
    run = trained(settings, tmp_path / "run")
    model, _ = loop.load(ppo.RECURRENT, latest(run), settings)
    with torch.no_grad():  # make memory matter more than after a few updates
        for weight in model.policy.lstm_actor.parameters():
            weight.mul_(3)
        for weight in model.policy.action_net.parameters():
            weight.mul_(30)
    loop.export_policy(ppo.RECURRENT, model, settings, run)
    policy = leosim.Policy.load(str(run.policy))
    assert policy.memory_dim == 12
    rng = np.random.default_rng(1)
    memories = np.zeros((5, 12), np.float32)
    states, starts = None, np.ones(5, dtype=bool)
    differences = []
    for _ in range(6):
        observations = rng.uniform(0, 2, (5, 50)).astype(np.float32)
        expected, states = model.predict(observations, states, starts, deterministic=True)
        starts = np.zeros(5, dtype=bool)
        np.testing.assert_allclose(policy.act(observations, memories), expected, atol=1e-5)
        differences.append(np.abs(policy.act(observations) - expected).max())
    assert differences[0] < 1e-5
    assert min(differences[1:]) > 1e-3, "memory matters"
