import numpy as np
import pytest

from leogym.agents.baselines.ppo import PpoSettings
from leogym.agents.engines.sb3 import loop
from leogym.agents.training.curriculum import Curriculum
from leogym.agents.training.episode_batch import Episodes
from leogym.agents.training.settings import TrainSettings, build
from leogym.agents.training.test_episode_batch import seen
from leogym.common.errors import InputError

STAGES = [
    {"until_steps": 100, "scenarios": {"sampler": "astraea", "rate_mbps": 10, "duration_s": 0.5, "flows": 1}},
    {"until_steps": 200, "scenarios": {"sampler": "astraea", "rate_mbps": 20, "duration_s": 0.5, "flows": 3}},
]
LAST = {"sampler": "astraea", "rate_mbps": 30, "duration_s": 0.5, "flows": 2}


def settings(model=TrainSettings, **changes):
    data = {"agent": "astraea", "num_envs": 4, "curriculum": STAGES, "scenarios": LAST, **changes}
    return build(model, "test", data)


def rate(scenario) -> float:
    return scenario.links["bottleneck"].rate_mbps


def test_episodes_are_of_the_stage_in_which_they_begin():
    curriculum = Curriculum(settings())
    assert curriculum.max_learning_flows == 3
    for steps, mbps in ((0, 10), (99, 10), (100, 20), (199, 20), (200, 30), (10**9, 30)):
        curriculum.steps = steps
        assert rate(curriculum(np.random.default_rng(1))) == mbps


def go(worlds, intervals):
    for _ in range(intervals):
        worlds.step(np.zeros(worlds.action_shape, np.float32))
        for index in np.flatnonzero(worlds.batch.finished):
            worlds.restart(int(index))


@pytest.mark.parametrize("intervals", [24, 30, 55, 80])
def test_rebuilt_simulations_are_in_the_same_stage(intervals):
    first, second = Episodes(settings()), Episodes(settings())
    first.start()
    go(first, intervals)
    second.restore(first.state())
    for _ in range(2):
        views, others = seen(first), seen(second)
        for name in ("observations", "reports", "global_states"):
            np.testing.assert_array_equal(views[name], others[name], err_msg=name)
        go(first, 40)
        go(second, 40)


def test_held_out_scenarios_are_those_after_the_curriculum():
    held_out = settings().model_copy(update={"curriculum": []})
    assert {rate(Episodes(held_out).scenario(episode)) for episode in range(9)} == {30}


@pytest.mark.parametrize(("steps", "mbps"), [(0, {10, 20, 30}), (150, {20, 30}), (400, {30})])
def test_environments_of_sb3_go_through_the_stages_too_and_resume_in_theirs(steps, mbps, monkeypatch):
    rates = set()
    draw = Curriculum.draw

    def watched(curriculum, *given):
        scenario = draw(curriculum, *given)
        rates.add(rate(scenario))
        return scenario

    monkeypatch.setattr(Curriculum, "draw", watched)
    environment = loop.make_environment(settings(PpoSettings, engine="sb3"), steps)
    environment.reset()
    for _ in range(80):
        environment.step(np.zeros((4, 1), np.float32))
    assert rates == mbps


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"curriculum": STAGES[::-1]}, "until_steps must rise"),
        ({"engine": "rllib"}, "curriculum: needs the engine native or sb3"),
        ({"curriculum": [{"until_steps": 5}]}, r"curriculum\.0\.scenarios: Field required"),
    ],
)
def test_a_curriculum_that_cannot_be_is_one_line(changes, message):
    with pytest.raises(InputError, match=message):
        settings(PpoSettings if "engine" in changes else TrainSettings, **changes)
