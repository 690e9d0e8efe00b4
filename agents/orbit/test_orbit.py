from pathlib import Path

import leosim
import numpy as np
import pytest
import torch

from leogym.agents.orbit import train as training
from leogym.agents.orbit.settings import RANGES
from leogym.agents.orbit.truth import Schedule, truth
from leogym.common.errors import InputError
from leogym.configs import suite
from leogym.configs.scenario import parse
from leogym.envs import sampling
from leogym.results.metrics import PAYLOAD_SHARE
from tests.support.orbit_settings import tiny
from tests.support.training_runs import latest, trained

TRAINED = Path(__file__).resolve().parents[1] / "trained"


def test_training_draws_no_path_of_the_suites_that_judge():
    suites = map(suite.load, ("leo-single", "leo-single-others", "leo-pair"))
    judged = {
        trace for judging in suites for case in judging.cases("cubic") for trace in case.scenario.traces
    }
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


def test_a_run_in_two_parts_ends_as_one_and_its_policy_decides_as_its_network(tmp_path):
    for parts in ((2_400,), (800, 2_400)):
        folder = tmp_path / f"{len(parts)}"
        for number, steps in enumerate(parts):
            run = trained(tiny(steps=steps), folder, resume=number > 0)
    assert (tmp_path / "1/policy/policy.onnx").read_bytes() == (
        tmp_path / "2/policy/policy.onnx"
    ).read_bytes()
    policy = leosim.Policy.load(str(folder / "policy"))
    assert (policy.spec, policy.interval_ms, policy.memory_dim) == ("orbit", 10.0, 8)
    loaded = training.Training(tiny(steps=2_400))
    loaded.load(latest(run))
    observations = np.random.default_rng(1).uniform(0, 2, (5, 1, 24)).astype(np.float32)
    with torch.no_grad():
        outputs, _ = loaded.acting(torch.from_numpy(observations))
    memory = np.zeros((1, 8), np.float32)
    for observation, output in zip(observations, outputs, strict=True):
        action = policy.act(observation, memory)
        assert np.allclose(action[:, :-3], 0)
        assert np.allclose(action[:, -3:], np.tanh(output.numpy()), atol=1e-5)


def test_the_truth_is_the_fair_share_of_the_payload_and_whether_another_scheme_runs():
    data = {
        "name": "three",
        "duration_s": 30,
        "links": {"l": {"rate_mbps": 100, "delay_ms": 10, "queue": {"kind": "droptail", "bdp": 1}}},
        "flows": [
            {"scheme": "agent", "route": ["l"]},
            {"scheme": "cubic", "start_s": 10, "stop_s": 20, "count": 2, "route": ["l"]},
        ],
    }
    schedules = [Schedule(parse(data, "three"))] * 3
    capacity, ones = np.full((3, 1), 100.0), np.ones((3, 1))
    fair = 12.5e6 * PAYLOAD_SHARE / 3
    decisions = truth(
        schedules, np.array([9.0, 10.0, 20.0]), capacity, 2 * fair * ones, 0.5 * 3 * fair * ones
    )
    assert decisions.competes[:, 0].tolist() == [False, True, False]
    assert np.allclose(4 ** decisions.target[:, 0], [1.5, 0.5, 1.5], rtol=1e-5)
    # Nine tenths of the capacity, where an action of 0 takes half of the rate that the first packets show.
    assert np.allclose(4**decisions.start * 0.5 * 0.5, 0.9, rtol=1e-5)
    without_burst = truth(schedules, np.array([9.0, 10.0, 20.0]), capacity, ones, 0 * ones)
    assert np.isnan(without_burst.start).all()


def test_learning_falls_below_the_loss_of_its_first_round():
    run = training.Training(tiny(steps=1, num_envs=4, passes=12, width=16))
    losses = [run.advance()["competition_loss"] for _ in range(6)]
    assert losses[-1] < 0.5 * losses[0]


def test_training_on_real_tcp_is_refused():
    with pytest.raises(InputError, match="backend: orbit learns from what only the simulator knows"):
        training.Training(tiny(steps=1, backend="kernel"))
