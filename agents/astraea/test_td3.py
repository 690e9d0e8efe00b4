import io

import numpy as np
import pytest
import torch

from leogym.agents.astraea.replay import Transitions
from leogym.agents.astraea.settings import AstraeaSettings
from leogym.agents.astraea.td3 import Td3


def settings(**changes):
    return AstraeaSettings(agent="astraea", **changes)


def learner(seed=1, **changes):
    return Td3(settings(**changes), 4, 2, 1, seed=seed)


def batches(count, size=64):
    """Yield transitions of a bandit: the best action is the sign of the first observation, times 0.5."""
    generator = torch.Generator().manual_seed(5)
    for _ in range(count):
        state = torch.randn(size, 6, generator=generator)
        action = torch.rand(size, 1, generator=generator) * 2 - 1
        reward = -(action[:, 0] - 0.5 * state[:, 0].sign()).square()
        yield Transitions(state, action, reward, torch.randn(size, 6, generator=generator))


def test_it_finds_the_best_action_of_a_bandit():
    td3 = learner(gamma=0.0, actor_learning_rate=1e-3, policy_delay=2, batch_norm_momentum=0.1)
    for batch in batches(800):
        td3.update(batch)
    observation = np.random.default_rng(1).normal(size=(200, 4)).astype(np.float32)
    observation[:, 0] = np.sign(observation[:, 0])
    error = td3.act(observation)[:, 0] - 0.5 * np.sign(observation[:, 0])
    assert np.abs(error).mean() < 0.25  # 0.5 without learning


def weights(module):
    return torch.cat([p.detach().flatten() for p in module.parameters()])


def test_actor_and_targets_wait_for_the_policy_delay():
    td3 = learner(policy_delay=3)
    before = weights(td3.actor), weights(td3.target_critics)
    updates = list(batches(3))
    for batch in updates[:2]:
        assert "value" not in td3.update(batch)
    assert torch.equal(weights(td3.actor), before[0])
    assert torch.equal(weights(td3.target_critics), before[1])
    assert "value" in td3.update(updates[2])
    assert not torch.equal(weights(td3.actor), before[0])
    moved = (weights(td3.target_critics) - before[1]) / (weights(td3.critics) - before[1])
    assert moved.nanmedian().item() == pytest.approx(0.005, rel=0.05)


def test_the_actor_waits_until_the_critics_have_had_their_start():
    td3 = learner(policy_delay=2, actor_starts=4)
    before = weights(td3.actor), weights(td3.target_critics)
    updates = list(batches(6))
    for batch in updates[:4]:
        assert "value" not in td3.update(batch)
    assert torch.equal(weights(td3.actor), before[0])
    assert not torch.equal(weights(td3.target_critics), before[1])
    measured = [td3.update(batch) for batch in updates[4:]]
    assert ["value" in row for row in measured] == [False, True]
    assert not torch.equal(weights(td3.actor), before[0])


def test_the_exported_policy_is_the_actor_or_its_average():
    data = list(batches(40))
    plain, averaged = learner(policy_delay=2), learner(policy_delay=2, policy_average=0.9)
    for batch in data:
        plain.update(batch)
        averaged.update(batch)
    assert torch.equal(weights(plain.policy), weights(plain.actor))
    assert torch.equal(weights(averaged.actor), weights(plain.actor))
    born = weights(learner().actor)
    way = (weights(averaged.policy) - born).norm() / (weights(averaged.actor) - born).norm()
    assert 0.3 < way < 0.95


def test_targets_take_the_lower_critic_discounted():
    td3 = learner(gamma=0.5, target_noise=0.0)
    batch = next(iter(batches(1, size=1)))
    with torch.no_grad():
        action = td3.target_actor(batch.next_state[:, :4])
        target = batch.reward + 0.5 * td3.target_critics(batch.next_state, action).amin(0)
        error = td3.critics(batch.state, batch.action) - target
        # Huber: quadratic within 1, linear beyond; the sum over both critics.
        huber = torch.where(error.abs() <= 1, 0.5 * error.square(), error.abs() - 0.5).sum().item()
    assert td3.update(batch)["critic_loss"] == pytest.approx(huber, rel=1e-5)


def test_the_critics_learning_rate_decays_and_the_actors_does_not():
    td3 = learner(critic_decay_updates=10)
    for batch in batches(11):
        td3.update(batch)
    state = td3.state()
    assert state["critic_optimiser"]["param_groups"][0]["lr"] == pytest.approx(1e-3 * 0.96)
    assert state["actor_optimiser"]["param_groups"][0]["lr"] == 5e-5


def test_a_restored_learner_goes_on_with_the_same_bytes():
    first = learner(policy_delay=2)
    data = list(batches(20))
    for batch in data[:10]:
        first.update(batch)
    second = learner(seed=9, policy_delay=2)
    saved = io.BytesIO()
    torch.save(first.state(), saved)
    saved.seek(0)
    second.restore(torch.load(saved, weights_only=True))
    for batch in data[10:]:
        first.update(batch)
        second.update(batch)
    for name in ("actor", "critics", "target_actor", "target_critics", "policy"):
        ours, theirs = getattr(first, name).state_dict(), getattr(second, name).state_dict()
        assert all(torch.equal(ours[key], theirs[key]) for key in ours)


def test_making_a_learner_leaves_the_global_generator_alone():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    learner()
    assert torch.equal(torch.rand(1), expected)


def test_critics_bootstrap_from_as_far_ahead_as_returns_reach():
    state, action = torch.zeros(8, 6), torch.zeros(8, 1)
    batch = Transitions(state, action, torch.zeros(8), state)
    values = {}
    for steps in (1, 50):
        td3 = learner(return_steps=steps, gamma=0.5, target_noise=0.0)
        with torch.no_grad():
            for critics in (td3.critics, td3.target_critics):
                critics.biases[-1].fill_(1.0)
        values[steps] = td3.update(batch)["critic_loss"]
    # A value of 1 is discounted to 0.5 after one interval, and to almost 0 after 50.
    assert values[1] == pytest.approx(2 * 0.5 * 0.5**2, rel=0.01)
    assert values[50] == pytest.approx(2 * 0.5 * 1.0, rel=0.01)


def test_a_learner_that_goes_on_from_another_has_its_own_learning_rate():
    before, data = learner(policy_delay=1), list(batches(21))
    for batch in data[:20]:
        before.update(batch)
    moved = {}
    for rate in (1e-4, 1e-6):
        after = learner(policy_delay=1, actor_learning_rate=rate)
        after.restore(before.state())
        start = weights(after.actor)
        after.update(data[20])
        moved[rate] = (weights(after.actor) - start).norm().item()
    assert moved[1e-6] == pytest.approx(0.01 * moved[1e-4], rel=0.05)
