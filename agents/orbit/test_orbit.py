import json
import math
from pathlib import Path

import leosim
import numpy as np
import pytest

from leogym.agents.orbit import train as training
from leogym.agents.orbit.settings import RANGES, OrbitSettings
from leogym.agents.training.evolution import Evolution
from leogym.configs import suite
from leogym.configs.sampling import AstraeaSampling
from leogym.configs.scenario import parse
from leogym.envs import sampling
from tests.support.training_runs import latest, trained

TRAINED = Path(__file__).resolve().parents[1] / "trained"


def test_the_strategy_finds_a_peak_whose_axes_differ_by_a_hundred():
    target, scales = np.array([0.3, -0.2, 0.5]), np.array([1.0, 10.0, 100.0])
    evolution = Evolution.around(np.zeros(3), 0.3)
    for generation in range(100):
        drawn = evolution.candidates(np.random.default_rng(generation), 8)
        evolution.learn(drawn, -((scales * (drawn - target)) ** 2).sum(axis=1))
    assert np.abs(evolution.mean - target).max() < 1e-3


def test_an_episodes_value_is_its_power_and_how_evenly_its_learners_share():
    def flow(share, scheme="agent"):
        return {"scheme": scheme, "normalized_goodput": share, "delay_inflation": 1.25}

    assert training.value([flow(0.5)]) == pytest.approx(math.log(0.4))
    assert training.value([flow(0.5), flow(0.5)]) == pytest.approx(math.log(0.8))
    uneven = training.value([flow(0.8), flow(0.2), flow(9.0, "cubic")])
    assert uneven == pytest.approx(math.log(0.8) + 0.5 * math.log(1 / (2 * 0.68)))
    assert training.value([]) == pytest.approx(math.log(training.WORST))


def test_training_draws_no_path_of_the_suites_that_judge():
    judged = {trace for name in ("leo-single", "leo-pair") for case in suite.load(name).cases("cubic")
              for trace in case.scenario.traces}  # fmt: skip
    drawn = set(sampling.paths(RANGES))
    assert drawn
    assert not drawn & judged


def fallbacks(rate_mbps, rtt_ms, loss=0.0):
    """Return how often a flow of the shipped policy falls back in 20 s on that link."""
    link = {
        "rate_mbps": rate_mbps,
        "delay_ms": rtt_ms / 2,
        "loss": loss,
        "queue": {"kind": "droptail", "bdp": 1},
    }
    data = {
        "name": "one",
        "duration_s": 20,
        "links": {"l": link},
        "flows": [{"scheme": "orbit", "route": ["l"]}],
    }
    policy = leosim.Policy.load(str(TRAINED / "orbit/policy"))
    [log] = leosim.run([parse(data, "one").to_json()], {}, {"orbit": policy}, interval_ms=policy.interval_ms)
    return log.flows[0]["fallbacks"]


@pytest.mark.parametrize("known", [(2, 50), (500, 10), (10, 5), (50, 600), (50, 40, 0.03)])
def test_the_shipped_policy_steers_within_its_ranges(known):
    assert fallbacks(*known) == 0


@pytest.mark.parametrize("strange", [(50, 2), (900, 30), (50, 1_200), (50, 40, 0.4)])
def test_the_shipped_policy_falls_back_beyond_its_ranges(strange):
    assert fallbacks(*strange) > 0


def _settings(steps):
    link = AstraeaSampling(flows=(1, 1), rate_mbps=(10, 20), base_rtt_ms=(20, 40), duration_s=0.5)
    return OrbitSettings(
        agent="orbit", scenarios=link, num_envs=2, population=4, steps=steps, checkpoint_steps=1, track="none"
    )


def test_a_run_in_two_parts_ends_as_one_and_its_policy_loads(tmp_path):
    states = []
    for parts in ((800,), (400, 800)):
        folder = tmp_path / f"{len(parts)}"
        for number, steps in enumerate(parts):
            run = trained(_settings(steps), folder, resume=number > 0)
        state = json.loads((latest(run) / "state.json").read_text())
        states.append({key: item for key, item in state.items() if key != "wall_s"})
    assert states[0] == states[1]
    policy = leosim.Policy.load(str(folder / "policy"))
    assert (policy.spec, policy.interval_ms) == ("orbit", 10.0)
    action = policy.act(np.zeros((1, 12), np.float32))
    assert np.allclose(action, training.bounded(np.array(states[0]["evolution"]["mean"])), atol=1e-6)
