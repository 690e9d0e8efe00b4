import itertools
import json

import leosim
import numpy as np
import pytest

from leogym.agents.aurora.relative import relative
from leogym.agents.aurora.settings import AuroraSettings
from leogym.agents.engines.sb3.loop import make_environment
from leogym.envs.sampling import Sampler

# The released training script: batches of 2,048, layers of 32 and 16, γ = 0.99.
PUBLISHED = {"minibatch_size": 2048, "hidden": [32, 16], "gamma": 0.99, "activation": "tanh"}


def steered(actions, delay_ms: float = 50.0, duration_s: float = 20.0) -> tuple[list[dict], dict]:
    """Return the reports of a flow with the actions ``actions(step)``, and its row of the run log."""
    scenario = {
        "duration_s": duration_s,
        "links": {"b": {"rate_mbps": 3.6, "delay_ms": delay_ms, "queue": {"packets": 100}}},
        "flows": [{"scheme": "agent", "route": ["b"]}],
    }
    batch = leosim.Batch(1, agent="aurora", reward="aurora", interval_ms=50.0)
    batch.reset(0, json.dumps(scenario), {})
    reports = []
    while not batch.finished[0]:
        batch.step(np.full((1, 1, 1), actions(len(reports)), np.float32))
        reports.append(dict(zip(batch.report_fields, batch.reports[0, 0].tolist(), strict=True)))
    return reports, batch.run_log(0).flows[0]


def test_the_defaults_are_those_of_the_released_script():
    settings = AuroraSettings(agent="aurora")
    assert {name: getattr(settings, name) for name in PUBLISHED} == PUBLISHED
    assert settings.rollout_steps * settings.num_envs == 8192


def test_a_monitor_interval_is_half_the_mean_rtt_of_the_one_before():
    reports, _ = steered(lambda step: 0.0)
    sampled = [report for report in reports if report["avg_rtt_us"]]
    assert len(sampled) > 100
    for before, after in itertools.pairwise(sampled[:-1]):  # the end cuts off the last
        assert after["interval_ns"] == pytest.approx(500 * before["avg_rtt_us"], abs=1000)


def test_a_rate_that_is_found_is_kept_by_actions_of_0_and_fills_the_link():
    reports, flow = steered(lambda step: 0.0)
    rates = [report["pacing_rate_bytes_per_s"] for report in reports]
    assert len(set(rates[-50:])) == 1
    assert flow["normalized_goodput"] > 0.8


def test_actions_of_1_fill_the_queue_and_actions_of_minus_1_starve_the_flow():
    _, up = steered(lambda step: 1.0)
    reports, _ = steered(lambda step: -1.0)
    assert up["loss_rate"] > 0.05
    assert up["delay_inflation"] > 3
    assert reports[-1]["pacing_rate_bytes_per_s"] == 60_000  # 40 packets a second
    assert reports[-1]["avg_rtt_us"] < 1.1 * reports[-1]["min_rtt_us"]


def test_the_ranges_are_those_of_the_released_simulator():
    draw = Sampler(AuroraSettings(agent="aurora").scenarios)
    rng = np.random.default_rng(1)
    scenarios = [draw(rng) for _ in range(300)]
    links = [scenario.links["bottleneck"] for scenario in scenarios]
    for values, low, high in (
        ([link.rate_mbps for link in links], 1.2, 6.0),  # 100 to 500 packets of 1,500 bytes
        ([link.delay_ms for link in links], 50.0, 500.0),
        ([link.loss for link in links], 0.0, 0.05),
    ):
        assert low <= min(values) < low + 0.05 * (high - low)
        assert high >= max(values) > high - 0.05 * (high - low)
    packets = [link.queue.packets for link in links]
    assert min(packets) == 2  # 1 + ⌊e^0⌋
    assert 2000 < max(packets) <= 2981
    for scenario, link in zip(scenarios, links, strict=True):
        assert scenario.duration_s == pytest.approx(400 * 0.5 * 2 * link.delay_ms / 1e3)


def test_relative_rewards_are_an_increasing_affine_function_of_the_reward_on_each_path():
    # 3.6 Mbit/s are 300 packets/s, worth 3; 100 ms one way cost 0.2.
    full = relative(np.array([3.0 - 0.2, 1.5 - 0.2], np.float32), np.array([[3.6, 200.0]] * 2))
    np.testing.assert_allclose(full, [1.0, 0.5], atol=1e-6)


def test_rewards_that_are_learned_from_are_relative_and_those_of_the_log_as_given():
    settings = AuroraSettings(agent="aurora", num_envs=3, relative_rewards=True, reward_scale=0.5)
    environment = make_environment(settings, 0)
    environment.seed(1)
    environment.reset()
    for _ in range(30):
        _, learned, _, _ = environment.step(np.zeros((3, 1), np.float32))
        (rewards,) = environment.get_attr("unwrapped_rewards", [0])
        # The sampler's links are steady, and their RTT is twice their delay.
        links = [scenario.links["bottleneck"] for scenario in environment.get_attr("scenario")]
        paths = np.array([(link.rate_mbps, 2 * link.delay_ms) for link in links])
        np.testing.assert_allclose(learned, 0.5 * relative(rewards, paths), rtol=1e-5)
    assert np.ptp(rewards) > 0.1
