import numpy as np

from leogym.agents.training.evolution import Evolution


def test_the_strategy_finds_a_peak_whose_axes_differ_by_a_hundred():
    target, scales = np.array([0.3, -0.2, 0.5]), np.array([1.0, 10.0, 100.0])
    evolution = Evolution.around(np.zeros(3), 0.3)
    for generation in range(100):
        drawn = evolution.candidates(np.random.default_rng(generation), 8)
        evolution.learn(drawn, -((scales * (drawn - target)) ** 2).sum(axis=1))
    assert np.abs(evolution.mean - target).max() < 1e-3
