import torch

from leogym.agents.astraea.actor_critic import Actor
from leogym.agents.astraea.whitening import Whitening


def observations(count=400):
    """Return observations with five nearly equal columns and a constant one."""
    generator = torch.Generator().manual_seed(3)
    common = torch.randn(count, 1, generator=generator)
    alike = common + 0.01 * torch.randn(count, 5, generator=generator)
    return torch.cat([alike, torch.ones(count, 1)], 1)


def fitted(given):
    whitening = Whitening(6)
    whitening.fit(given)
    return whitening


def test_whitened_observations_have_no_correlation():
    given = observations()
    whitened = fitted(given)(given)
    covariance = torch.cov(whitened[:, :5].T)
    assert (covariance - torch.eye(5)).abs().max() < 0.02
    assert whitened[:, 5].abs().max() < 1e-2


def test_before_it_is_fitted_it_does_nothing():
    given = observations()
    assert torch.equal(Whitening(6)(given), given)


def test_an_actor_that_whitens_from_now_on_says_what_it_said():
    given = observations()
    actor = Actor(6, 1, 0.01, [16, 8]).eval()
    said = actor(given).detach()
    for again in (given, given[:200] * 2 + 1):
        actor.whiten(again)
        assert (actor(given).detach() - said).abs().max() < 1e-3


def test_what_is_exported_takes_observations_as_they_are():
    given = observations()
    actor = Actor(6, 1, 0.01, [16, 8]).eval()
    actor.whitening.fit(given)
    x = given
    *hidden, last = actor.folded()
    for weight, bias in hidden:
        x = torch.nn.functional.leaky_relu(x @ weight.T + bias, 0.2)
    weight, bias = last
    assert (torch.tanh(x @ weight.T + bias) - actor(given)).abs().max() < 1e-3
