import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leogym.envs.sampling
from leogym.common.errors import InputError
from leogym.configs import named_scenarios, sampling
from leogym.configs.named_scenarios import learning_flows
from leogym.configs.scenario import Scenario, parse
from leogym.envs.sampling import draw, paths, sampler

SEEDS = st.integers(0, 2**32)


@pytest.fixture
def period_of_95_minutes(monkeypatch):
    """Let every path have a period of 5,731 s, without building it."""
    monkeypatch.setattr(leogym.envs.sampling, "period_ms", lambda path: 5_731_000)
    return 5_731.0


def drawn(seed: int, name: str = "astraea", **ranges) -> Scenario:
    return sampler(name, **ranges)(np.random.default_rng(seed))


@given(SEEDS)
def test_astraeas_draws_stay_in_the_published_ranges(seed):
    scenario = drawn(seed)
    link = scenario.links["bottleneck"]
    assert link.rate_mbps is not None
    assert link.delay_ms is not None
    assert link.queue.bdp is not None
    assert 40 <= link.rate_mbps <= 160
    assert 0.1 <= link.queue.bdp <= 16
    rtts_ms = [2 * (link.delay_ms + flow.extra_delay_ms) for flow in scenario.flows]
    assert min(rtts_ms) == pytest.approx(2 * link.delay_ms)
    assert 10 <= min(rtts_ms) <= max(rtts_ms) <= 140 + 1e-9
    assert 2 <= len(scenario.flows) == learning_flows(scenario) <= 5
    starts_s = [flow.start_s for flow in scenario.flows]
    assert starts_s[0] == 0
    assert starts_s == sorted(starts_s)
    assert starts_s[-1] <= scenario.duration_s / 2


def test_token_buckets_are_drawn_from_their_list_and_change_nothing_else():
    drawn_bytes = set()
    for seed in range(20):
        scenario, exact = drawn(seed, burst_bytes=[0, 524288]), drawn(seed, burst_bytes=[0, 0])
        link = scenario.links["bottleneck"]
        drawn_bytes.add(link.burst_bytes)
        assert link.model_copy(update={"burst_bytes": 0}) == exact.links["bottleneck"]
        assert scenario.flows == exact.flows
    assert drawn_bytes == {0, 524288}


@given(SEEDS)
def test_what_is_drawn_is_a_scenario_that_survives_json(seed):
    scenario = drawn(seed, leave_probability=0.5)
    assert parse(json.loads(scenario.to_json()), "json") == scenario


@given(SEEDS)
def test_the_same_generator_draws_the_same_scenario(seed):
    assert drawn(seed) == drawn(seed)


@given(SEEDS)
def test_a_flow_that_leaves_lived_for_a_while(seed):
    scenario = drawn(seed, leave_probability=1.0, minimum_life_s=2.0)
    for flow in scenario.flows:
        assert flow.stop_s is not None
        assert flow.start_s + 2 <= flow.stop_s <= scenario.duration_s


@given(SEEDS)
def test_some_flows_learn_and_the_others_run_background_schemes(seed):
    scenario = drawn(seed, flows=[3, 5], learning_flows=1, background=["cubic", "reno"])
    schemes = [flow.scheme for flow in scenario.flows]
    assert schemes.count("agent") == 1
    assert set(schemes) <= {"agent", "cubic", "reno"}


def test_the_learner_is_any_of_the_flows():
    schemes = [drawn(seed, flows=3, learning_flows=1).flows for seed in range(40)]
    assert {[flow.scheme for flow in flows].index("agent") for flows in schemes} == {0, 1, 2}


def test_half_of_the_episodes_have_equal_rtts():
    equal = [not any(flow.extra_delay_ms for flow in drawn(seed).flows) for seed in range(400)]
    assert 150 < sum(equal) < 250


def test_shallow_buffers_are_as_frequent_as_an_octave_anywhere():
    sizes = [drawn(seed).links["bottleneck"].queue.bdp for seed in range(1000)]
    # Log-uniform on 0.1 to 16: ln 10 / ln 160 of the draws are below 1.
    assert np.mean(np.array(sizes) < 1) == pytest.approx(np.log(10) / np.log(160), abs=0.05)


def test_leo_draws_name_a_path_and_a_time_within_its_period(period_of_95_minutes):
    offsets_s, paths = [], set()
    for seed in range(300):
        scenario = drawn(seed, "leo")
        link = scenario.links["bottleneck"]
        assert link.delay_ms is None
        assert link.queue.bdp is not None
        assert 0.5 <= link.queue.bdp <= 4
        assert 1 <= len(scenario.flows) <= 3
        offsets_s.append(link.offset_s)
        paths.add(link.trace)
    assert paths == {"sd-ny-isl", "sd-ny-bp", "ny-ldn-isl"}
    assert 0 <= min(offsets_s) < 0.05 * period_of_95_minutes
    assert 0.95 * period_of_95_minutes < max(offsets_s) < period_of_95_minutes


def test_a_single_number_is_a_range_without_width():
    assert drawn(1, rate_mbps=100.0).links["bottleneck"].rate_mbps == 100.0


@pytest.mark.parametrize(
    ("ranges", "rule"),
    [
        ({"rate_mbps": [160, 40]}, "rate_mbps: .*low <= high"),
        ({"rate_mbps": [float("nan"), 40.0]}, "rate_mbps"),
        ({"queue_bdp": [0.0, 1.0]}, "queue_bdp.*above 0"),
        ({"flows": [0, 2]}, "flows.*from 1 to 1,000, not 0"),
        ({"flows": [1, 2], "learning_flows": 2}, "learning_flows must not exceed"),
        ({"colour": "red"}, "colour: unknown key"),
        ({"background": []}, "background"),
    ],
)
def test_a_bad_range_is_named_in_one_line(ranges, rule):
    with pytest.raises(InputError, match=rule) as caught:
        sampler("astraea", **ranges)
    assert "\n" not in str(caught.value)


def test_every_named_sampler_has_defaults():
    for name in sampling.names():
        assert sampler(name).max_learning_flows >= 1


def test_traces_are_entered_at_random_and_a_preset_stands_for_many(period_of_95_minutes):
    ranges = {
        "paths": ["uniform-steps", "sd-ny-bp"],
        "seeds": 3,
        "queue_packets": [50, 60],
        "loss": [0, 0.01],
    }
    links = [drawn(seed, "traces", **ranges).links["bottleneck"] for seed in range(200)]
    assert {link.trace for link in links} == {
        "uniform-steps@0", "uniform-steps@1", "uniform-steps@2", "sd-ny-bp"
    }  # fmt: skip
    assert len({link.offset_s for link in links}) > 190
    assert all(50 <= link.queue.packets <= 60 and link.rate_mbps is None for link in links)
    assert 0 <= min(link.loss for link in links) < 0.001 < 0.009 < max(link.loss for link in links) <= 0.01
    names = leogym.envs.sampling.paths(sampling.parse({"sampler": "traces", **ranges}, "test"))
    assert set(names) == {link.trace for link in links}


def test_a_mixture_draws_its_parts_by_weight_and_each_as_if_it_were_alone():
    parts = [
        {"weight": 3, "scenarios": {"sampler": "astraea", "rate_mbps": 10, "flows": [2, 4]}},
        {"weight": 1, "scenarios": {"sampler": "aurora", "background": ["bbr"]}},
    ]
    names = [drawn(seed, "mixture", parts=parts).name for seed in range(400)]
    assert 260 < names.count("astraea") < 340
    mixture = sampler("mixture", parts=parts)
    assert mixture.max_learning_flows == 4
    single = sampling.with_learning_flows(mixture.ranges, 1)
    assert single.max_learning_flows == 1
    for seed in range(20):
        assert learning_flows(leogym.envs.sampling.draw(single, np.random.default_rng(seed))) == 1


def test_a_mixture_of_mixtures_is_refused():
    inner = {"sampler": "mixture", "parts": []}
    with pytest.raises(InputError, match="parts"):
        sampler("mixture", parts=[{"scenarios": inner}])


@pytest.mark.parametrize(
    "name", ["leo-agent", "static-100-cubic", "leo-single", "two-path-reroute", "starlink-mix"]
)
def test_scenarios_and_suites_are_drawn_by_name(name):
    ranges = sampling.parse(name, "scenarios")
    assert ranges.names == (name,)
    scenarios = [draw(ranges, np.random.default_rng([1, number])) for number in range(4)]
    assert len({scenario.seed for scenario in scenarios}) == 4
    for scenario in scenarios:
        assert 1 <= named_scenarios.learning_flows(scenario) <= ranges.max_learning_flows
        assert scenario.traces <= set(paths(ranges))
    alone = [
        draw(sampling.with_learning_flows(ranges, 1), np.random.default_rng([1, number]))
        for number in range(4)
    ]
    for scenario, other in zip(scenarios, alone, strict=True):
        assert named_scenarios.learning_flows(other) == 1
        assert sum(flow.count for flow in other.flows) == sum(flow.count for flow in scenario.flows)


def test_a_reroute_moves_the_same_flows_when_few_of_them_learn():
    ranges = sampling.parse({"sampler": "named", "names": ["two-path-reroute"], "learning_flows": 1}, "x")
    scenario = draw(ranges, np.random.default_rng(1))
    assert [event.reroute.flows for event in scenario.events] == [[2, 3], [2, 3]]


def test_a_name_without_a_flow_that_could_learn_is_refused(tmp_path):
    path = tmp_path / "none.yaml"
    path.write_text(
        "duration_s: 1\nlinks: {l: {rate_mbps: 1, delay_ms: 1}}\nflows: [{scheme: reno, route: [l]}]\n"
    )
    with pytest.raises(InputError, match="has no flow that could learn"):
        sampling.parse(str(path), "scenarios")
