import json
from pathlib import Path

import leosim
import numpy as np
import pytest

from leogym.agents.__main__ import run as command
from leogym.agents.training import bars, policy_folder
from leogym.agents.training.bars import CHOOSING_LINK, JUDGING_LINK, counted, lasting, links_held, measure
from leogym.agents.training.held_out import Chooser, rank
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings, build
from leogym.common.errors import InputError
from leogym.configs import sampling
from leogym.envs.sampling import draw
from tests.support.training_runs import rows

PERCEPTRON = Path(__file__).resolve().parents[2] / "core/control/tests/fixtures/perceptron"
"""An untrained policy of Astraea."""
RANGES = {"sampler": "astraea", "flows": [1, 3], "rate_mbps": 10, "base_rtt_ms": [20, 30], "queue_bdp": 1}
ALONE = {"utilization": 0.95, "goodput_ratio": None, "jain": None, "delay_inflation": 1.1}
TOGETHER = {"utilization": 0.95, "goodput_ratio": 0.92, "jain": 0.99, "delay_inflation": 1.1}


def settings(**changes):
    data = {"agent": "astraea", "scenarios": RANGES, "held_out_episodes": 1, **changes}
    return build(TrainSettings, "test", data)


def test_a_link_is_held_where_every_bar_is_and_bars_of_several_flows_say_nothing_of_one():
    assert counted([ALONE, TOGETHER])["links_held"] == 2
    for name, value in (("utilization", 0.89), ("goodput_ratio", 0.89), ("jain", 0.94)):
        found = counted([TOGETHER, {**TOGETHER, name: value}])
        assert found["links_held"] == found[f"held_{name}"] == 1
        assert found["held_delay_inflation"] == found["held_alone"] == 2
    queueing = counted([{**ALONE, "delay_inflation": 1.31}])
    assert (queueing["links_held"], queueing["held_delay_inflation"], queueing["held_alone"]) == (0, 0, 1)
    assert counted([{**ALONE, "utilization": 0.89}])["held_alone"] == 0


def test_flows_of_drawn_links_join_early_and_stay_and_have_one_rtt():
    ranges = sampling.parse(
        {
            "sampler": "mixture",
            "parts": [{"scenarios": {**RANGES, "leave_probability": 1, "unequal_rtt_probability": 1}}],
        },
        "test",
    )
    for episode in range(20):
        scenario = draw(lasting(ranges), np.random.default_rng(episode))
        assert scenario.duration_s == bars.DURATION_S
        assert all(flow.stop_s is None and flow.extra_delay_ms == 0 for flow in scenario.flows)
        assert max(flow.start_s for flow in scenario.flows) < bars.DURATION_S - bars.LAST_S


def test_a_window_that_is_left_alone_is_measured_as_the_suites_measure(monkeypatch):
    monkeypatch.setattr(bars, "DURATION_S", 3.0)
    monkeypatch.setattr(bars, "LAST_S", 1.0)

    def idle(observations, which):
        return np.zeros((len(observations), 1), np.float32)

    found = measure(idle, settings(), 6)
    assert found == measure(idle, settings(workers=2), 6)
    assert found != measure(idle, settings(), 6, first=JUDGING_LINK)
    for link in found:
        assert 0 < link["utilization"] <= 1.01
        assert link["delay_inflation"] >= 1
    assert {link["jain"] is None for link in found} == {True, False}


def test_links_that_choose_judge_nothing(monkeypatch, capsys, tmp_path):
    seen = []

    def measured(act, settings, links, *, first=CHOOSING_LINK, guard=None):
        seen.append((links, first))
        return [ALONE] * links

    monkeypatch.setattr(bars, "measure", measured)
    links_held(leosim.Policy.load(str(PERCEPTRON)), settings(), 5)
    short = tmp_path / "ranges.yaml"
    short.write_text("scenarios: {sampler: astraea, flows: 1, rate_mbps: 10, duration_s: 1}\n")
    flags = ["--episodes", "1", "--links", "4", "--scenarios", str(short)]
    assert command(["held-out", str(PERCEPTRON), *flags]) == 0
    assert json.loads(capsys.readouterr().out)["links_held"] == 4
    assert seen == [(5, CHOOSING_LINK), (4, JUDGING_LINK)]
    with pytest.raises(InputError, match="held-out: --links: -1: must be at least 0"):
        command(["held-out", str(PERCEPTRON), "--links", "-1"])


def test_links_choose_a_checkpoint_and_reward_decides_between_equals(monkeypatch, tmp_path):
    run = RunFolder.create(tmp_path / "run", "", {})
    earned = [(3, -0.1), (5, -0.4), (5, -0.3), (4, 0.9), (5, -0.5)]
    chooser = Chooser(settings(held_out_links=6), run, 0)
    for steps, (held, reward) in enumerate(earned):
        run.save_checkpoint(steps, lambda folder: (folder / "weights").write_text(""))
        policy_folder.copy(PERCEPTRON, run.policy)
        monkeypatch.setattr(
            "leogym.agents.training.rollout.evaluate_policy",
            lambda *_, reward=reward, **__: {"reward": reward},
        )
        monkeypatch.setattr(
            "leogym.agents.training.bars.links_held", lambda *_, held=held: {"links_held": held}
        )
        chooser.consider(steps, 1.0)
    assert run.best_checkpoint() == run.checkpoint_path(2)
    assert run.notes["held_out"] == {
        "episodes": 1,
        "links": 6,
        "best": {"reward": -0.3, "steps": 2, "links_held": 5},
    }
    assert [rank(row) for row in rows(run, "evaluation.csv")] == earned
    assert Chooser(settings(held_out_links=6), run, 9).best == (5, -0.3)


def test_links_without_episodes_are_refused():
    with pytest.raises(InputError, match="held_out_links: needs held_out_episodes"):
        settings(held_out_episodes=0, held_out_links=3)
