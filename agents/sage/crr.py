"""Recurrent critic regularised regression (Wang et al., NeurIPS 2020) with a distributional critic."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.sage.networks import Critic, Policy
from agents.sage.sequences import Batch
from agents.sage.settings import SageSettings


def project(rewards: Tensor, gamma: float, probabilities: Tensor, atoms: Tensor) -> Tensor:
    """Return the distribution of reward + γ · return on the atoms.

    Source: Bellemare, Dabney and Munos (ICML 2017), algorithm 1: what falls between two atoms is divided
    between them by its distance, what falls outside goes to the first or the last.

    Args:
        rewards: (...).
        gamma: the discount.
        probabilities: of the return, (..., atoms).
        atoms: (atoms,), evenly spaced.
    """
    spacing = atoms[1] - atoms[0]
    moved = (rewards.unsqueeze(-1) + gamma * atoms).clamp(atoms[0], atoms[-1])
    place = (moved - atoms[0]) / spacing
    below = place.floor().long().clamp(max=len(atoms) - 2)
    above_share = place - below
    projected = torch.zeros_like(probabilities)
    projected.scatter_add_(-1, below, probabilities * (1 - above_share))
    return projected.scatter_add_(-1, below + 1, probabilities * above_share)


def before(memories: Tensor) -> Tensor:
    """Return the memory (n, length, gru) that each interval began with: zeros at first."""
    return torch.cat([torch.zeros_like(memories[:, :1]), memories[:, :-1]], dim=1)


class Crr:
    """Policy and critic, their targets and their optimisers.

    Args:
        settings: hyperparameters.
        observation_dim: signals in an observation.
    """

    def __init__(self, settings: SageSettings, observation_dim: int) -> None:
        self.settings = settings
        torch.manual_seed(settings.seed)  # initial weights are drawn from the global generator
        self.policy = Policy(observation_dim, settings)
        self.critic = Critic(observation_dim, settings)
        self.target_policy = copy.deepcopy(self.policy).requires_grad_(False)
        self.target_critic = copy.deepcopy(self.critic).requires_grad_(False)
        self.average = copy.deepcopy(self.policy).requires_grad_(False)
        """The policy that is exported."""
        self._policy_optimiser = torch.optim.Adam(self.policy.parameters(), lr=settings.policy_learning_rate)
        self._critic_optimiser = torch.optim.Adam(self.critic.parameters(), lr=settings.critic_learning_rate)
        self._generator = torch.Generator().manual_seed(settings.seed)
        self.updates = 0

    def normalise(self, mean: Tensor, deviation: Tensor) -> None:
        """Give every network the moments of the signals."""
        for network in (
            self.policy,
            self.critic,
            self.target_policy,
            self.target_critic,
            self.average,
        ):
            network.normaliser.fit(mean, deviation)

    def update(self, batch: Batch) -> dict[str, float]:
        """Learn from ``batch`` once; return what to report."""
        observations = torch.from_numpy(batch.observation)
        actions, rewards = torch.from_numpy(batch.action), torch.from_numpy(batch.reward)

        memories = self.critic.remember(observations, actions)
        logits = self.critic.logits(memories)
        targets = self._targets(observations, actions, rewards)
        errors = -(targets * functional.log_softmax(logits[:, :-1], dim=-1)).sum(dim=-1)
        critic_loss = errors.mean()

        distribution, _ = self.policy(observations)
        advantage = self._advantage(observations, distribution.sample, logits.detach(), memories.detach())
        weights = (advantage / self.settings.beta).exp().clamp(max=self.settings.weight_max)
        log_prob = distribution.log_prob(actions)
        policy_loss = -(weights * log_prob).mean()

        _step(self._critic_optimiser, self.critic, critic_loss, self.settings.gradient_max)
        _step(self._policy_optimiser, self.policy, policy_loss, self.settings.gradient_max)
        self.updates += 1
        with torch.no_grad():
            for average, new in zip(self.average.parameters(), self.policy.parameters(), strict=True):
                average.lerp_(new, 1 - self.settings.policy_average)
        if self.updates % self.settings.target_steps == 0:
            self.target_policy.load_state_dict(self.policy.state_dict())
            self.target_critic.load_state_dict(self.critic.state_dict())
        return {
            "critic_loss": critic_loss.item(),
            "policy_loss": policy_loss.item(),
            "log_likelihood": log_prob.mean().item(),
            "advantage": float(advantage.mean()),
            "weight": float(weights.mean()),
            "value": float(self.critic.mean(logits.detach()).mean()),
            "distance": float((distribution.mean().detach() - actions).abs().mean()),
        }

    @torch.no_grad()
    def _targets(self, observations: Tensor, actions: Tensor, rewards: Tensor) -> Tensor:
        """Return the distributions (n, length - 1, atoms) that the critic is to have."""
        distribution, _ = self.target_policy(observations)
        following = distribution.sample(1, self._generator)[:, :, 1:]
        memories = self.target_critic.remember(observations, actions)
        logits = self.target_critic.tried(observations[:, 1:], following, memories[:, :-1])[0]
        probabilities = functional.softmax(logits, dim=-1)
        return project(rewards[:, :-1], self.settings.gamma, probabilities, self.critic.atoms)

    @torch.no_grad()
    def _advantage(self, observations: Tensor, sample: Any, logits: Tensor, memories: Tensor) -> Tensor:
        """Return how much better each action (n, length) was than what the policy would do."""
        tried = sample(self.settings.action_samples, self._generator)
        others = self.critic.tried(observations, tried, before(memories))
        return self.critic.mean(logits) - self.critic.mean(others).mean(dim=0)

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs."""
        return {
            "updates": self.updates,
            "generator": self._generator.get_state(),
            **{name: part.state_dict() for name, part in self._parts().items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as after `state`."""
        self.updates = state["updates"]
        self._generator.set_state(state["generator"])
        for name, part in self._parts().items():
            part.load_state_dict(state[name])

    def _parts(self) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "critic": self.critic,
            "target_policy": self.target_policy,
            "target_critic": self.target_critic,
            "average": self.average,
            "policy_optimiser": self._policy_optimiser,
            "critic_optimiser": self._critic_optimiser,
        }


def _step(optimiser: torch.optim.Optimizer, network: nn.Module, loss: Tensor, gradient_max: float) -> None:
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), gradient_max)
    optimiser.step()
