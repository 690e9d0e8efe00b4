import copy
import dataclasses

import numpy as np
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

from leogym.agents.sage.crr import Crr, before, project
from leogym.agents.sage.policy_and_critic import Mixture, Normaliser
from leogym.agents.sage.sequences import Batch
from leogym.agents.sage.settings import SageSettings

SMALL = SageSettings(
    agent="sage",
    steps=1,
    gru=16,
    width=16,
    atoms=11,
    value_max=50.0,
    policy_learning_rate=5e-3,
    critic_learning_rate=5e-3,
)


def batch(count=8, length=12, seed=0):
    rng = np.random.default_rng(seed)
    observation = rng.normal(size=(count, length, 69)).astype(np.float32)
    action = rng.uniform(-1, 1, (count, length)).astype(np.float32)
    return Batch(observation, action, np.full((count, length), 2.0, np.float32), np.ones(count, np.bool_))


def test_the_defaults_are_the_released_configuration():
    settings = SageSettings(agent="sage", steps=1)
    assert (settings.gru, settings.width, settings.blocks, settings.mixture) == (1024, 256, 2, 5)
    assert (settings.atoms, settings.value_min, settings.value_max) == (101, 0.0, 500.0)
    assert (settings.policy_learning_rate, settings.critic_learning_rate) == (5e-6, 5e-5)
    assert (settings.gamma, settings.batch_size, settings.sequence) == (0.95, 256, 50)
    assert (settings.action_samples, settings.beta, settings.weight_max) == (4, 1.0, 20.0)
    assert (settings.target_steps, settings.gradient_max, settings.interval_ms) == (100, 40.0, 10.0)


def test_the_policy_has_as_many_parameters_as_the_published_shapes():
    learner = Crr(SageSettings(agent="sage", steps=1), 69)
    width, gru = 256, 1024
    encoder = (69 * width + width + 2 * width, gru * width + width + 2 * width)
    unit = 3 * gru * (width + gru) + 2 * 3 * gru
    residual = width * width + width + 2 * (2 * (width * width + width) + 2 * width)
    head = 3 * 5 * (width + 1)
    parameters = sum(parameter.numel() for parameter in learner.policy.parameters())
    assert parameters == sum(encoder) + unit + residual + head


def test_a_return_between_two_atoms_is_divided_between_them():
    atoms = torch.tensor([0.0, 10.0, 20.0])
    probabilities = torch.tensor([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    projected = project(torch.tensor([1.0, -5.0, 100.0]), 0.5, probabilities, atoms)
    # 1 + 0.5 · (0, 10, 20) are 1, 6 and 11.
    first = [0.5 * 0.9 + 0.25 * 0.4, 0.5 * 0.1 + 0.25 * 0.6 + 0.25 * 0.9, 0.25 * 0.1]
    torch.testing.assert_close(projected, torch.tensor([first, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    torch.testing.assert_close(projected.sum(-1), torch.ones(3))


def test_a_mixture_has_the_density_and_mean_of_its_definition():
    torch.manual_seed(1)
    mixture = Mixture(torch.randn(3, 4, 5), torch.randn(3, 4, 5), torch.rand(3, 4, 5) + 0.1)
    reference = MixtureSameFamily(Categorical(logits=mixture.logits), Normal(mixture.means, mixture.scales))
    actions = torch.randn(3, 4)
    torch.testing.assert_close(mixture.log_prob(actions), reference.log_prob(actions))
    torch.testing.assert_close(mixture.mean(), reference.mean)


def test_samples_of_a_mixture_follow_it_and_stay_within_the_actions():
    logits = torch.tensor([[[0.0, 0.0], [9.0, -9.0]]])
    mixture = Mixture(logits, torch.tensor([[[-1.0, 1.0], [0.5, 0.0]]]), torch.full((1, 2, 2), 0.01))
    drawn = mixture.sample(2000, torch.Generator().manual_seed(1))
    assert drawn.shape == (2000, 1, 2)
    assert abs(float((drawn[:, 0, 0] > 0).float().mean()) - 0.5) < 0.05
    assert abs(float(drawn[:, 0, 1].mean()) - 0.5) < 0.01
    wide = Mixture(torch.zeros(1, 1, 1), torch.zeros(1, 1, 1), torch.full((1, 1, 1), 50.0))
    assert float(wide.sample(100, torch.Generator().manual_seed(1)).abs().max()) == 2.0


def test_an_action_that_was_taken_has_the_value_that_trying_it_has():
    learner, data = Crr(SMALL, 69), batch()
    observations, actions = torch.from_numpy(data.observation), torch.from_numpy(data.action)
    with torch.no_grad():
        memories = learner.critic.remember(observations, actions)
        taken = learner.critic.logits(memories)
        tried = learner.critic.tried(observations, torch.stack([actions, -actions]), before(memories))
    torch.testing.assert_close(tried[0], taken, rtol=1e-4, atol=1e-5)
    assert float((tried[1] - taken).abs().max()) > 1e-3


def test_the_critic_learns_the_discounted_sum_of_a_steady_reward():
    settings = SMALL.model_copy(update={"gamma": 0.5, "value_max": 10.0, "target_steps": 5})
    learner = Crr(settings, 69)
    data = batch()
    value = [learner.update(data)["value"] for _ in range(150)][-1]
    # The discounted sum is 2 + 0.5 · 2 + … = 4.
    assert abs(value - 4.0) < 0.4, value


def test_the_policy_imitates_what_paid_and_not_the_average():
    # Half of the actions are 1 and earn 10; half are -1 and earn 0. Observations are constant.
    rng = np.random.default_rng(3)
    good = rng.random((32, 8)) < 0.5
    observation = np.zeros((32, 8, 69), np.float32)
    action, reward = (np.where(good, *values).astype(np.float32) for values in ((1, -1), (10, 0)))
    data = Batch(observation, action, reward, np.ones(32, np.bool_))
    learner = Crr(SMALL.model_copy(update={"gamma": 0.0, "value_max": 10.0}), 69)
    for _ in range(150):
        learner.update(data)
    with torch.no_grad():
        mean = learner.policy(torch.from_numpy(observation))[0].mean().mean()
    assert float(mean) > 0.5, float(mean)


def test_without_a_temperature_every_action_is_imitated_alike_and_no_critic_learns():
    learner = Crr(SMALL.model_copy(update={"beta": None}), 69)
    critic = copy.deepcopy(learner.critic.state_dict())
    numbers = [learner.update(batch(count=32)) for _ in range(60)]
    assert numbers[-1]["log_likelihood"] > numbers[0]["log_likelihood"] + 0.1
    assert "critic_loss" not in numbers[0]
    for name, weights in learner.critic.state_dict().items():
        assert torch.equal(weights, critic[name])


def test_with_logarithms_a_signal_that_doubles_looks_the_same_whatever_its_size():
    normaliser = Normaliser(69, active=True, logarithms=True)
    steps = []
    for size in (0.1, 1.0, 100.0):
        one, two = torch.full((69,), size), torch.full((69,), 2 * size)
        steps.append((normaliser(two) - normaliser(one))[:68])
    torch.testing.assert_close(steps[0], steps[2], atol=0.01, rtol=0)
    torch.testing.assert_close(steps[1], torch.full((68,), 0.6926), atol=0.001, rtol=0)
    # The previous action may be negative.
    actions = torch.zeros(3, 69)
    actions[:, 68] = torch.tensor([-2.0, 0.0, 2.0])
    assert normaliser(actions)[:, 68].diff().min() > 0.5
    assert torch.isfinite(normaliser(torch.full((69,), -1e6))).all()


def test_targets_follow_at_their_period_only():
    learner, data = Crr(SMALL.model_copy(update={"target_steps": 3}), 69), batch()

    def same(online, target):
        pairs = zip(online.parameters(), target.parameters(), strict=True)
        return all(torch.equal(a, b) for a, b in pairs)

    for step in range(1, 7):
        learner.update(data)
        assert same(learner.policy, learner.target_policy) == (step % 3 == 0)
        assert same(learner.critic, learner.target_critic) == (step % 3 == 0)


def test_the_exported_policy_is_the_average_of_the_weights_and_as_published_the_last():
    data = batch()
    for share in (0.0, 0.75):
        learner = Crr(SMALL.model_copy(update={"policy_average": share}), 69)
        expected = learner.policy.head.bias.detach().clone()
        for _ in range(3):
            learner.update(data)
            expected = share * expected + (1 - share) * learner.policy.head.bias.detach()
            torch.testing.assert_close(learner.average.head.bias, expected)


def test_a_restored_learner_goes_on_to_the_same_bits():
    first, second = Crr(SMALL, 69), Crr(SMALL.model_copy(update={"seed": 9}), 69)
    for seed in range(3):
        first.update(batch(seed=seed))
    # Deep copy, as through a file: both learners would update shared tensors.
    second.restore(copy.deepcopy(first.state()))
    for seed in range(3, 6):
        assert first.update(batch(seed=seed)) == second.update(batch(seed=seed))
    for a, b in zip(first.policy.parameters(), second.policy.parameters(), strict=True):
        assert torch.equal(a, b)


def test_memories_are_carried_into_sequences_that_go_on_and_forgotten_in_fresh_ones():
    learner = Crr(SMALL, 69)
    learner.update(batch(seed=1))
    kept, data = learner._memories["critic"], batch(seed=2)
    fresh = np.arange(8) % 2 == 0
    observations, actions = torch.from_numpy(data.observation), torch.from_numpy(data.action)
    with torch.no_grad():
        carried, begun = (
            learner.critic.remember(observations, actions, memory)[:, -1] for memory in (kept, None)
        )
    learner.update(dataclasses.replace(data, fresh=fresh))
    torch.testing.assert_close(learner._memories["critic"][~fresh], carried[~fresh])
    torch.testing.assert_close(learner._memories["critic"][fresh], begun[fresh])
    assert float((carried - begun).abs().max()) > 1e-4


def test_learning_rates_fall_to_a_fiftieth_and_stay_as_published():
    for decay_steps, share in ((4, 0.02), (None, 1.0)):
        learner = Crr(SMALL.model_copy(update={"decay_steps": decay_steps}), 69)
        for _ in range(6):
            learner.update(batch())
        for optimiser in (learner._policy_optimiser, learner._critic_optimiser):
            assert abs(optimiser.param_groups[0]["lr"] - 5e-3 * share) < 1e-9


def test_a_critic_with_a_scale_for_actions_tells_thousandths_of_an_octave_from_nothing():
    seen = {}
    for scale in (None, 0.02):
        critic = Crr(SMALL.model_copy(update={"action_scale": scale}), 69).critic
        seen[scale] = critic._seen(torch.tensor([0.0, 0.01, 2.0])).flatten().tolist()
    assert seen[None] == [0.0, torch.tensor(0.01).item(), 2.0]
    # arsinh(0.5) and arsinh(100).
    np.testing.assert_allclose(seen[0.02], [0.0, 0.4812118, 5.2983424], rtol=1e-5)


def test_a_normalised_critic_says_the_same_of_layers_that_are_a_thousand_times_as_large():
    # Layers can become this large far from the training data; without normalisation, values grow with them.
    read = {}
    for normalised in (False, True):
        critic = Crr(SMALL.model_copy(update={"critic_layer_norm": normalised}), 69).critic
        memories = torch.randn(5, 16, generator=torch.Generator().manual_seed(1))
        small = critic.torso.read(memories)
        with torch.no_grad():
            for block in critic.torso.blocks:
                block.first.weight.mul_(1e3)
                block.first.bias.mul_(1e3)
        read[normalised] = float((critic.torso.read(memories) - small).abs().max())
    assert read[True] < 1e-2 < 0.1 < read[False]


def test_a_normalised_critic_leaves_the_policy_as_it_is():
    plain, normalised = (
        Crr(SMALL.model_copy(update={"critic_layer_norm": on}), 69).policy for on in (False, True)
    )
    for one, other in zip(plain.parameters(), normalised.parameters(), strict=True):
        assert torch.equal(one, other)


def test_standardised_weights_do_not_depend_on_what_returns_are_counted_in(monkeypatch):
    advantages = torch.randn(8, 12, generator=torch.Generator().manual_seed(2))
    weights = {}
    for standardise in (False, True):
        for factor in (1.0, 100.0):
            learner = Crr(SMALL.model_copy(update={"standardise": standardise}), 69)
            monkeypatch.setattr(learner, "_advantage", lambda *_, factor=factor: factor * advantages)
            weights[standardise, factor] = learner.update(batch())["weight"]
    assert abs(weights[True, 1.0] - weights[True, 100.0]) < 1e-4
    assert abs(weights[False, 1.0] - weights[False, 100.0]) > 1.0
