import json
from pathlib import Path

import leosim
import numpy as np
import pytest

from leogym.agents.astraea.actor_critic import Actor, TwinCritics
from leogym.agents.astraea.exploration import Exploration
from leogym.agents.astraea.td3 import Td3
from leogym.agents.orca.settings import OrcaSettings
from leogym.agents.training.settings import build, read_config

# The released params.json with our names; the interval is the released server's report period.
PUBLISHED = {
    "batch_size": 512,
    "hidden": [256, 256],
    "exploration_noise": 0.2,
    "actor_learning_rate": 1e-4,
    "critic_learning_rate": 1e-3,
    "tau": 0.001,
    "gamma": 0.995,
    "memory": 2_553_600,
    "interval_ms": 20.0,
}

CONFIGS = Path(__file__).resolve().parents[2] / "configs"

SCENARIO = {
    "duration_s": 10.0,
    "links": {"b": {"rate_mbps": 20.0, "delay_ms": 20.0, "queue": {"bdp": 1.0}}},
    "flows": [{"scheme": "agent", "route": ["b"]}],
}


def goodput(action: float) -> tuple[float, float]:
    batch = leosim.Batch(1, agent="orca", reward="orca", interval_ms=20.0)
    batch.reset(0, json.dumps(SCENARIO), {})
    while not batch.finished[0]:
        batch.step(np.full((1, 1, 1), action, np.float32))
    flow = batch.run_log(0).flows[0]
    return flow["normalized_goodput"], flow["delay_inflation"]


def test_the_defaults_are_the_released_parameters():
    settings = OrcaSettings(agent="orca")
    assert {name: getattr(settings, name) for name in PUBLISHED} == PUBLISHED


def test_an_action_of_0_leaves_cubic_alone():
    cubic = {**SCENARIO, "flows": [{"scheme": "cubic", "route": ["b"]}]}
    (log,) = leosim.run([json.dumps(cubic)], {})
    ours, delay = goodput(0.0)
    assert ours == pytest.approx(log.flows[0]["normalized_goodput"], abs=0.03)
    assert delay == pytest.approx(log.flows[0]["delay_inflation"], abs=0.2)


def test_cubic_beneath_recovers_from_an_agent_that_shrinks_the_window():
    assert goodput(-1.0)[0] < 0.3 < 0.9 < goodput(0.0)[0]
    assert goodput(-0.05)[1] < goodput(0.0)[1]


def test_the_networks_have_the_released_shape():
    settings = OrcaSettings(agent="orca")
    actor = Actor(70, 1, settings.batch_norm_momentum, settings.hidden)
    trained = sum(p.numel() for p in actor.parameters() if p.requires_grad)
    # Two dense layers with biases, a shift per batch norm, and the output.
    assert trained == (70 * 256 + 256 + 256) + (256 * 256 + 256 + 256) + 256 + 1
    critics = TwinCritics(70, 0, 1, settings.hidden)
    assert sum(p.numel() for p in critics.parameters()) == 2 * (70 * 256 + 256 + 257 * 256 + 256 + 256 + 1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_minutes_preset_begins_as_cubic_alone_with_every_seed(seed):
    preset = read_config(CONFIGS / "agents" / "orca-minutes.yaml")
    settings = build(OrcaSettings, "orca-minutes.yaml", preset)
    learner = Td3(settings, 70, 0, 1, seed)
    observations = np.random.default_rng(seed).uniform(0, 1, (500, 70)).astype(np.float32)
    assert np.abs(learner.act(observations)).max() < 0.05
    assert np.abs(Td3(OrcaSettings(agent="orca"), 70, 0, 1, seed).act(observations)).max() > 0.2
    # Before the actor's first update, the critics have data of a whole episode and ``actor_starts`` updates.
    intervals = settings.scenarios.duration_s * 1e3 / settings.interval_ms
    assert settings.learning_starts >= settings.num_envs * intervals
    assert settings.actor_starts > 0


def test_exploration_is_noise_of_the_released_deviation_on_every_action():
    exploration = Exploration(OrcaSettings(agent="orca"), (50, 40, 1), seed=1)
    actions = np.full((50, 40, 1), 0.1, np.float32)
    noise = exploration.apply(actions) - actions
    assert noise.std() == pytest.approx(0.2, rel=0.1)
    assert noise.mean() == pytest.approx(0.0, abs=0.02)
    assert np.abs(exploration.apply(np.ones_like(actions))).max() <= 1
