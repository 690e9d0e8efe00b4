import numpy as np
import onnxruntime
import pytest
import torch

from leogym.agents.astraea.actor_critic import NEGATIVE_SLOPE, Actor, TwinCritics
from leogym.agents.training.onnx_export import perceptron


@pytest.fixture
def actor():
    torch.manual_seed(1)
    actor = Actor(50, 1, momentum=0.1)
    actor.train()
    for _ in range(20):  # running statistics must differ from the initial ones
        actor(torch.randn(64, 50) * 3 + 1)
    return actor.eval()


def test_the_actor_has_the_published_shape(actor):
    trained = sum(p.numel() for p in actor.parameters() if p.requires_grad)
    statistics = 2 * (256 + 128 + 64)
    # Released checkpoints have 55,617 numbers, including batch norm's running statistics.
    assert trained + statistics == 55_617


def test_a_small_output_scale_makes_the_first_actions_small():
    torch.manual_seed(1)
    plain = Actor(50, 1, momentum=0.1)
    torch.manual_seed(1)
    small = Actor(50, 1, momentum=0.1, output_scale=0.01)
    observation = torch.randn(64, 50)
    torch.testing.assert_close(small.before_tanh(observation), 0.01 * plain.before_tanh(observation))
    assert small(observation).abs().max() < 0.05 < plain(observation).abs().max()


def test_batch_norm_has_no_scale(actor):
    assert all(torch.all(norm.weight == 1) and not norm.weight.requires_grad for norm in actor.norm)


def test_the_exported_actor_acts_like_the_trained_one(actor):
    session = onnxruntime.InferenceSession(
        perceptron([(w.numpy(), b.numpy()) for w, b in actor.folded()], NEGATIVE_SLOPE, "test")
    )
    observation = torch.randn(33, 50) * 3 + 1
    with torch.inference_mode():
        expected = actor(observation).numpy()
    (action,) = session.run(["action"], {"observation": observation.numpy()})
    assert np.ptp(expected) > 0.05
    np.testing.assert_allclose(np.asarray(action), expected, atol=1e-5)


def test_an_action_does_not_depend_on_the_other_flows_of_its_batch(actor):
    observation = torch.randn(9, 50)
    with torch.inference_mode():
        together, alone = actor(observation)[:1], actor(observation[:1])
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=0)


def test_the_critics_have_the_published_shape_and_are_independent():
    torch.manual_seed(1)
    critics = TwinCritics(50, 12, 1)
    one = 62 * 256 + 256 + 257 * 128 + 128 + 128 * 64 + 64 + 64 + 1
    assert sum(p.numel() for p in critics.parameters()) == 2 * one
    first, second = critics(torch.randn(8, 62), torch.rand(8, 1))
    assert not torch.allclose(first, second)
    first.sum().backward()
    assert all(p.grad is not None and torch.all(p.grad[1] == 0) for p in critics.parameters())


@pytest.mark.parametrize("layer_norm", [False, True])
def test_the_critics_are_the_perceptrons_of_their_weights(layer_norm):
    torch.manual_seed(1)
    critics = TwinCritics(50, 12, 1, layer_norm=layer_norm)
    state, action = torch.randn(8, 62), torch.rand(8, 1)
    values = critics(state, action)
    for critic in range(2):
        x = state
        for layer, (weight, bias) in enumerate(zip(critics.weights, critics.biases, strict=True)):
            if layer and layer_norm:
                x = torch.nn.functional.layer_norm(x, x.shape[-1:])
            x = torch.nn.functional.leaky_relu(x, NEGATIVE_SLOPE) if layer else x
            x = torch.cat([x, action], dim=1) if layer == 1 else x
            x = x @ weight[critic] + bias[critic]
        torch.testing.assert_close(values[critic], x.squeeze(-1))


def test_the_first_critic_alone_has_a_gradient_for_the_action_only():
    torch.manual_seed(1)
    critics = TwinCritics(50, 12, 1)
    state, action = torch.randn(8, 62), torch.rand(8, 1, requires_grad=True)
    first = critics.first(state, action)
    torch.testing.assert_close(first, critics(state, action)[0])
    first.sum().backward()
    assert action.grad is not None
    assert torch.all(action.grad != 0)
    assert all(p.grad is None for p in critics.parameters())


def test_the_critics_see_the_action():
    torch.manual_seed(1)
    critics = TwinCritics(50, 12, 1)
    state = torch.randn(1, 62)
    values = critics(state.expand(2, -1), torch.tensor([[-1.0], [1.0]]))
    assert torch.all(values[:, 0] != values[:, 1])


def test_normalised_critics_do_not_extrapolate_beyond_what_their_last_layer_can_say():
    torch.manual_seed(1)
    state, action = torch.randn(200, 62), torch.rand(200, 1) * 2 - 1
    plain, normalised = TwinCritics(50, 12, 1), TwinCritics(50, 12, 1, layer_norm=True)
    with torch.no_grad():
        assert plain(1e3 * state, action).abs().max() > 100 * plain(state, action).abs().max()
        assert normalised(1e3 * state, action).abs().max() < 2 * normalised(state, action).abs().max()
    normalised(state, action).sum().backward()
    assert all(parameter.grad is not None for parameter in normalised.parameters())
