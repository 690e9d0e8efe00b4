import copy

import pytest
import torch

from leogym.agents.astraea import sawtooth
from leogym.agents.astraea.actor_critic import Actor
from leogym.agents.astraea.imitation import imitate
from leogym.agents.astraea.settings import AstraeaSettings
from leogym.agents.training.settings import build
from leogym.common.errors import InputError

TINY = {
    "agent": "astraea",
    "num_envs": 3,
    "scenarios": {"sampler": "astraea", "duration_s": 3, "flows": [1, 3]},
    "lessons": 3,
    "lesson_intervals": 100,
    "lesson_updates": 150,
    "lesson_batch": 64,
    "steps": 1,
}


def settings(**changes):
    return build(AstraeaSettings, "test", {**TINY, **changes})


def taught(**changes):
    torch.manual_seed(1)
    actor = Actor(50, 1, 0.1, [32, 16])
    errors = []
    imitate(actor, sawtooth.action, settings(**changes), lambda lesson, error: errors.append(error))
    return actor, errors


def test_an_actor_learns_what_a_rule_would_do():
    actor, errors = taught()
    assert len(errors) == 3
    # The rule's actions have a standard deviation of about 0.4.
    assert errors[-1] < 0.15 < errors[0]
    assert all(torch.isfinite(parameter).all() for parameter in actor.parameters())


def test_the_same_seed_teaches_the_same():
    first, again, other = taught()[0], taught()[0], taught(seed=2)[0]
    weights = [torch.cat([p.flatten() for p in actor.parameters()]) for actor in (first, again, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_lessons_may_step_more_simulations_than_training():
    assert taught(lesson_envs=5)[1] != taught()[1]


def test_observations_that_the_rule_cannot_read_are_refused():
    with pytest.raises(InputError, match="lessons: the rule reads observations of astraea"):
        imitate(copy.deepcopy(Actor(70, 1, 0.1, [4])), sawtooth.action, settings(spec="orca"))
