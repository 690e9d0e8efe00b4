"""Recurrent critic regularised regression (Wang et al., NeurIPS 2020) with a distributional critic."""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from leogym.agents.sage.policy_and_critic import Critic, Policy
from leogym.agents.sage.sequences import Batch
from leogym.agents.sage.settings import SageSettings

RATE_LAST = 0.02
"""Share of a learning rate that remains after its decay."""


def project(rewards: Tensor, gamma: float, probabilities: Tensor, atoms: Tensor) -> Tensor:
    """Project rewards (...) + γ · return, distributed by ``probabilities`` (..., atoms), onto the atoms.

    Bellemare, Dabney and Munos (ICML 2017), algorithm 1: mass between two of the evenly spaced ``atoms`` is
    divided between them by distance; mass outside goes to the first or the last.
    """
    spacing = atoms[1] - atoms[0]
    moved = (rewards.unsqueeze(-1) + gamma * atoms).clamp(atoms[0], atoms[-1])
    place = (moved - atoms[0]) / spacing
    below = place.floor().long().clamp(max=len(atoms) - 2)
    above_share = place - below
    projected = torch.zeros_like(probabilities)
    projected.scatter_add_(-1, below, probabilities * (1 - above_share))
    return projected.scatter_add_(-1, below + 1, probabilities * above_share)


def before(memories: Tensor, first: Tensor | None = None) -> Tensor:
    """Shift memories (n, length, gru) by one interval, starting with ``first`` or zeros."""
    began = torch.zeros_like(memories[:, :1]) if first is None else first.unsqueeze(1)
    return torch.cat([began, memories[:, :-1]], dim=1)


class Crr:
    """Policy and critic with their targets and optimisers."""

    def __init__(self, settings: SageSettings, observation_dim: int) -> None:
        self.settings = settings
        torch.manual_seed(settings.seed)  # initial weights are drawn from the global generator
        self.policy = Policy(observation_dim, settings)
        self.critic = Critic(observation_dim, settings)
        self.target_policy = copy.deepcopy(self.policy).requires_grad_(False)
        self.target_critic = copy.deepcopy(self.critic).requires_grad_(False)
        self.average = copy.deepcopy(self.policy).requires_grad_(False)
        """The exported policy."""
        self._policy_optimiser = torch.optim.Adam(self.policy.parameters(), lr=settings.policy_learning_rate)
        self._critic_optimiser = torch.optim.Adam(self.critic.parameters(), lr=settings.critic_learning_rate)
        self._generator = torch.Generator().manual_seed(settings.seed)
        self._memories: dict[str, Tensor] = {}
        """Each network's recurrent state at the end of the last batch's sequences, by network name."""
        self.updates = 0

    def normalise(self, mean: Tensor, deviation: Tensor) -> None:
        """Set the signals' mean and deviation in every network."""
        for name, part in self._parts().items():
            if not name.endswith("optimiser"):
                part.normaliser.fit(mean, deviation)

    def update(self, batch: Batch) -> dict[str, float]:
        """Make one update on ``batch``; return the metrics to report."""
        observations = torch.from_numpy(batch.observation)
        actions, rewards = torch.from_numpy(batch.action), torch.from_numpy(batch.reward)
        self._begin(torch.from_numpy(batch.fresh), len(observations))

        distribution, memories = self.policy(observations, self._memories["policy"])
        self._end("policy", memories)
        log_prob = distribution.log_prob(actions)
        numbers = {
            "log_likelihood": log_prob.mean().item(),
            "distance": float((distribution.mean().detach() - actions).abs().mean()),
        }
        self._set_learning_rates()
        if self.settings.beta is None:
            policy_loss = -log_prob.mean()
        else:
            weights, of_critic = self._judge(observations, actions, rewards, distribution.sample)
            policy_loss = -(weights * log_prob).mean()
            numbers |= of_critic
        _step(self._policy_optimiser, self.policy, policy_loss, self.settings.gradient_max)
        self.updates += 1
        with torch.no_grad():
            for average, new in zip(self.average.parameters(), self.policy.parameters(), strict=True):
                average.lerp_(new, 1 - self.settings.policy_average)
        if self.updates % self.settings.target_steps == 0:
            self.target_policy.load_state_dict(self.policy.state_dict())
            self.target_critic.load_state_dict(self.critic.state_dict())
        return {**numbers, "policy_loss": policy_loss.item()}

    def _judge(
        self, observations: Tensor, actions: Tensor, rewards: Tensor, sample: Any
    ) -> tuple[Tensor, dict[str, float]]:
        """Update the critic; return the actions' weights by the critic before the update, and metrics."""
        first = self._memories["critic"]
        memories = self.critic.remember(observations, actions, first)
        self._end("critic", memories)
        logits = self.critic.logits(memories)
        targets = self._targets(observations, actions, rewards)
        errors = -(targets * functional.log_softmax(logits[:, :-1], dim=-1)).sum(dim=-1)
        critic_loss = errors.mean()
        earlier = before(memories.detach(), first)
        advantage = self._advantage(observations, sample, logits.detach(), earlier)
        assert self.settings.beta is not None
        unit = advantage.std().clamp(min=1e-6) if self.settings.standardise else 1.0
        weights = (advantage / unit / self.settings.beta).exp().clamp(max=self.settings.weight_max)
        _step(self._critic_optimiser, self.critic, critic_loss, self.settings.gradient_max)
        return weights, {
            "critic_loss": critic_loss.item(),
            "advantage": float(advantage.mean()),
            "weight": float(weights.mean()),
            "value": float(self.critic.mean(logits.detach()).mean()),
        }

    @torch.no_grad()
    def _targets(self, observations: Tensor, actions: Tensor, rewards: Tensor) -> Tensor:
        """Return the critic's target distributions (n, length - 1, atoms)."""
        distribution, memories = self.target_policy(observations, self._memories["target_policy"])
        self._end("target_policy", memories)
        following = distribution.sample(1, self._generator)[:, :, 1:]
        memories = self.target_critic.remember(observations, actions, self._memories["target_critic"])
        self._end("target_critic", memories)
        logits = self.target_critic.tried(observations[:, 1:], following, memories[:, :-1])[0]
        probabilities = functional.softmax(logits, dim=-1)
        return project(rewards[:, :-1], self.settings.gamma, probabilities, self.critic.atoms)

    @torch.no_grad()
    def _advantage(self, observations: Tensor, sample: Any, logits: Tensor, earlier: Tensor) -> Tensor:
        """Return the advantage (n, length) of each action over actions sampled from the policy."""
        tried = sample(self.settings.action_samples, self._generator)
        alternatives = self.critic.tried(observations, tried, earlier)
        return self.critic.mean(logits) - self.critic.mean(alternatives).mean(dim=0)

    def _begin(self, fresh: Tensor, count: int) -> None:
        """Reset the recurrent states of sequences that start fresh."""
        for name in ("policy", "critic", "target_policy", "target_critic"):
            memory = self._memories.get(name)
            if memory is None or len(memory) != count:
                memory = torch.zeros(count, self.settings.gru)
            self._memories[name] = memory.masked_fill(fresh.unsqueeze(-1), 0.0)

    def _end(self, name: str, memories: Tensor) -> None:
        self._memories[name] = memories[:, -1].detach()

    def _set_learning_rates(self) -> None:
        settings = self.settings
        done = min(1.0, self.updates / settings.decay_steps) if settings.decay_steps else 0.0
        for optimiser, rate in (
            (self._policy_optimiser, settings.policy_learning_rate),
            (self._critic_optimiser, settings.critic_learning_rate),
        ):
            for group in optimiser.param_groups:
                group["lr"] = rate * (1 - (1 - RATE_LAST) * done)

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`."""
        return {
            "updates": self.updates,
            "generator": self._generator.get_state(),
            "memories": dict(self._memories),
            **{name: part.state_dict() for name, part in self._parts().items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self.updates = state["updates"]
        self._generator.set_state(state["generator"])
        self._memories = dict(state["memories"])
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
