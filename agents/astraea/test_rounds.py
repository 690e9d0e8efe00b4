import copy
import io
import threading

import numpy as np
import pytest
import torch

from leogym.agents.astraea.rounds import Rounds
from leogym.agents.astraea.test_td3 import batches, learner

OBSERVATIONS = np.random.default_rng(3).normal(size=(9, 4)).astype(np.float32)


@pytest.fixture
def rounds():
    rounds = Rounds(learner(policy_delay=1))
    yield rounds
    rounds.close()


def in_threes(count):
    data = list(batches(3 * count))
    return [data[first : first + 3] for first in range(0, 3 * count, 3)]


def test_acting_lags_by_exactly_one_round(rounds):
    inline = learner(policy_delay=1)
    for begun, data in enumerate(in_threes(5)):
        expected = inline.act(OBSERVATIONS)
        for batch in data:
            inline.update(batch)
        assert not np.array_equal(inline.act(OBSERVATIONS), expected)
        # Actions use the previous round's weights, whether the new round runs or has ended.
        rounds.begin(data)
        assert np.array_equal(rounds.act(OBSERVATIONS), expected)
        rounds.wait()
        assert np.array_equal(rounds.act(OBSERVATIONS), expected)
        assert rounds.updates == 3 * begun


def test_what_a_round_measured_is_told_when_the_next_begins(rounds):
    inline = learner(policy_delay=1)
    expected = []
    for data in in_threes(3):
        assert rounds.begin(data) == expected
        expected = [inline.update(batch) for batch in data]


def test_a_round_that_no_one_has_acted_on_survives_a_checkpoint(rounds):
    *before, last, after = in_threes(4)
    for data in [*before, last]:
        rounds.begin(data)
    rounds.wait()
    saved = io.BytesIO()
    torch.save({"learner": rounds._learner.state(), "rounds": rounds.state()}, saved)
    saved.seek(0)
    state = torch.load(saved, weights_only=True)
    restored = learner(seed=9, policy_delay=1)
    restored.restore(state["learner"])
    again = Rounds(restored)
    again.restore(state["rounds"])
    for _ in range(2):
        assert again.updates == rounds.updates
        assert np.array_equal(again.act(OBSERVATIONS), rounds.act(OBSERVATIONS))
        assert again.begin(after) == rounds.begin(after)
    again.close()


def test_a_learner_that_was_given_weights_acts_with_them(rounds):
    other = learner(seed=9)
    rounds._learner.restore(copy.deepcopy(other.state()))
    rounds.start()
    assert np.array_equal(rounds.act(OBSERVATIONS), other.act(OBSERVATIONS))


def test_a_round_that_fails_says_so_to_whoever_comes_next(rounds, monkeypatch):
    def fails(batch):
        raise ArithmeticError("nothing adds up")

    monkeypatch.setattr(rounds._learner, "update", fails)
    first, second = in_threes(2)
    rounds.begin(first)
    with pytest.raises(ArithmeticError, match="nothing adds up"):
        rounds.wait()
    with pytest.raises(ArithmeticError, match="nothing adds up"):
        rounds.begin(second)


def test_no_thread_is_left_behind():
    before = threading.active_count()
    rounds = Rounds(learner())
    rounds.begin(next(iter(in_threes(1))))
    assert threading.active_count() == before + 1
    rounds.close()
    assert threading.active_count() == before
