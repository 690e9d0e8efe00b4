import copy
import dataclasses

import numpy as np
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

from leogym.agents.clone.cloning import Learner
from leogym.agents.clone.network import Mixture, Normaliser
from leogym.agents.clone.sequences import Batch
from leogym.agents.clone.settings import CloneSettings

SMALL = CloneSettings(agent="clone", steps=1, gru=16, width=16, learning_rate=5e-3)


def batch(count=8, length=12, seed=0):
    rng = np.random.default_rng(seed)
    observation = rng.normal(size=(count, length, 69)).astype(np.float32)
    action = rng.uniform(-1, 1, (count, length)).astype(np.float32)
    return Batch(observation, action, np.full((count, length), 2.0, np.float32), np.ones(count, np.bool_))


def test_the_default_network_has_as_many_parameters_as_the_published_shapes():
    learner = Learner(CloneSettings(agent="clone", steps=1), 69)
    width, gru = 256, 1024
    encoder = (69 * width + width + 2 * width, gru * width + width + 2 * width)
    unit = 3 * gru * (width + gru) + 2 * 3 * gru
    residual = width * width + width + 2 * (2 * (width * width + width) + 2 * width)
    head = 3 * 5 * (width + 1)
    parameters = sum(parameter.numel() for parameter in learner.policy.parameters())
    assert parameters == sum(encoder) + unit + residual + head


def test_a_mixture_has_the_density_and_mean_of_its_definition():
    torch.manual_seed(1)
    mixture = Mixture(torch.randn(3, 4, 5), torch.randn(3, 4, 5), torch.rand(3, 4, 5) + 0.1)
    reference = MixtureSameFamily(Categorical(logits=mixture.logits), Normal(mixture.means, mixture.scales))
    actions = torch.randn(3, 4)
    torch.testing.assert_close(mixture.log_prob(actions), reference.log_prob(actions))
    torch.testing.assert_close(mixture.mean(), reference.mean)


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


def test_the_exported_policy_is_the_average_of_the_weights_and_as_published_the_last():
    data = batch()
    for share in (0.0, 0.75):
        learner = Learner(SMALL.model_copy(update={"policy_average": share}), 69)
        expected = learner.policy.head.bias.detach().clone()
        for _ in range(3):
            learner.update(data)
            expected = share * expected + (1 - share) * learner.policy.head.bias.detach()
            torch.testing.assert_close(learner.average.head.bias, expected)


def test_a_restored_learner_goes_on_to_the_same_bits():
    first, second = Learner(SMALL, 69), Learner(SMALL.model_copy(update={"seed": 9}), 69)
    for seed in range(3):
        first.update(batch(seed=seed))
    # Deep copy, as through a file: both learners would update shared tensors.
    second.restore(copy.deepcopy(first.state()))
    for seed in range(3, 6):
        assert first.update(batch(seed=seed)) == second.update(batch(seed=seed))
    for a, b in zip(first.policy.parameters(), second.policy.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_clone_learns_the_mean_action_of_what_it_imitates():
    learner = Learner(SMALL, 69)
    data = batch(count=32)
    data = dataclasses.replace(data, action=np.full_like(data.action, 0.7))
    numbers = [learner.update(data) for _ in range(150)]
    assert numbers[-1]["log_likelihood"] > numbers[0]["log_likelihood"] + 0.1
    assert numbers[-1]["distance"] < 0.1 < numbers[0]["distance"]


def test_memories_are_carried_into_sequences_that_go_on_and_forgotten_in_fresh_ones():
    learner = Learner(SMALL, 69)
    learner.update(batch(seed=1))
    kept, data = learner._memory, batch(seed=2)
    fresh = np.arange(8) % 2 == 0
    observations = torch.from_numpy(data.observation)
    with torch.no_grad():
        carried, begun = (learner.policy(observations, memory)[1][:, -1] for memory in (kept, None))
    learner.update(dataclasses.replace(data, fresh=fresh))
    torch.testing.assert_close(learner._memory[~fresh], carried[~fresh])
    torch.testing.assert_close(learner._memory[fresh], begun[fresh])
    assert float((carried - begun).abs().max()) > 1e-4


def test_the_learning_rate_falls_to_a_fiftieth_or_stays():
    for decay_steps, share in ((4, 0.02), (None, 1.0)):
        learner = Learner(SMALL.model_copy(update={"decay_steps": decay_steps}), 69)
        for _ in range(6):
            learner.update(batch())
        assert abs(learner._optimiser.param_groups[0]["lr"] - 5e-3 * share) < 1e-9
