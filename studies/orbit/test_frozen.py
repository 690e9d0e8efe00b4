"""Policies that do not decide, to compare with."""

import json

import leosim
import numpy as np

from leogym.agents.training import policy_folder, registry
from studies.orbit.__main__ import best_constants, frozen
from tests.support.orbit_settings import tiny

SHIPPED = registry.shipped()["orbit"] / "policy"


def test_a_frozen_network_acts_on_the_means_whatever_it_observes(tmp_path):
    means = np.linspace(0.1, 1.0, 24)
    description = json.loads((SHIPPED / "policy.json").read_text())
    policy_folder.write(tmp_path, frozen((SHIPPED / "policy.onnx").read_bytes(), means), description)
    network, ice = leosim.Policy.load(str(SHIPPED)), leosim.Policy.load(str(tmp_path))
    observations = np.random.default_rng(3).uniform(0, 4, (5, 1, 24)).astype(np.float32)
    memories = np.zeros((2, 1, network.memory_dim), np.float32)
    for observation in observations:
        expected = network.act(means[None].astype(np.float32), memories[0])
        assert np.allclose(ice.act(observation, memories[1]), expected, atol=1e-5)


def test_the_search_for_constants_repeats_and_stays_within_the_actions_bounds():
    first, second = (best_constants(tiny(num_envs=2), 1) for _ in range(2))
    assert np.array_equal(first, second)
    assert np.abs(first).max() <= 1
    assert first.shape == (11,)
