"""PPO in one file, with the details and default hyperparameters of CleanRL's ``ppo_continuous_action``.

Schulman et al., Proximal Policy Optimization Algorithms, 2017, with the implementation details that Huang et
al., The 37 Implementation Details of Proximal Policy Optimization, ICLR blog track 2022, list: orthogonal
initial weights, separate networks of actor and critic, normalised and clipped observations and rewards,
advantages normalised per minibatch, a clipped value loss, gradients clipped by their norm, an annealed step.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution, Normal

from leogym.envs.seeding import mixed
from studies.reference.learners.pickled import Pickled
from studies.reference.learners.stable_baselines3 import Normalized
from studies.reference.learners.tasks import Policy, Task


def layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    """Return a dense layer with orthogonal weights and no bias."""
    dense = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(dense.weight, gain)
    nn.init.zeros_(dense.bias)
    return dense


def network(inputs: int, outputs: int, gain: float, width: int = 64) -> nn.Sequential:
    """Return two hidden layers of ``width`` and an output layer whose weights have ``gain``."""
    return nn.Sequential(
        *(layer(inputs, width), nn.Tanh(), layer(width, width), nn.Tanh(), layer(width, outputs, gain))
    )


class Agent(nn.Module):
    """Actor and critic; continuous actions have a standard deviation that is no function of the state."""

    def __init__(self, observation_dim: int, actions: int | None) -> None:
        super().__init__()
        self.critic = network(observation_dim, 1, gain=1.0)
        self.actor = network(observation_dim, actions or 1, gain=0.01)
        self.log_std = None if actions else nn.Parameter(torch.zeros(1))

    def distribution(self, observations: Tensor) -> Distribution:
        """Return the distribution of actions, each a row of one number."""
        output = self.actor(observations)
        if self.log_std is None:
            return Categorical(logits=output.unsqueeze(-2))
        return Normal(output, self.log_std.exp().expand_as(output))


class PpoLearner(Pickled):
    """The agent, its optimiser and its environments."""

    def __init__(self, algorithm: str, of: Task, hyperparameters: Mapping[str, Any], seed: int) -> None:
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        self._h = h = {
            "n_envs": 1,
            "n_timesteps": 1_000_000,
            "n_steps": 2048,
            "batch_size": 64,
            "n_epochs": 10,
            "learning_rate": 3e-4,
            "gamma": 0.99,
            "gae_lambda": 0.95,
            "clip_range": 0.2,
            "ent_coef": 0.0,
            "vf_coef": 0.5,
            "max_grad_norm": 0.5,
            **hyperparameters,
        }
        env = of.training_env(h["n_envs"])
        env.seed(mixed([seed], bits=31))
        self._env = Normalized(env, gamma=h["gamma"])
        space = env.action_space
        self._discrete = isinstance(space, Discrete)
        self._agent = Agent(env.observation_space.shape[0], int(space.n) if self._discrete else None)  # pyright: ignore
        self._optimizer = torch.optim.Adam(self._agent.parameters(), lr=h["learning_rate"], eps=1e-5)
        self._rng = np.random.default_rng(seed)
        self._observations = torch.as_tensor(self._env.reset(), dtype=torch.float32)
        self._flows = of.flows
        self.steps = 0

    def learn_until(self, steps: int) -> None:
        """Train to the first end of a rollout at or after ``steps``."""
        while self.steps < steps:
            share_left = max(0.0, 1.0 - self.steps / self._h["n_timesteps"])
            self._optimizer.param_groups[0]["lr"] = share_left * self._h["learning_rate"]
            self._update(*self._rollout())

    def _rollout(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Return observations, actions, log-probabilities, advantages, returns, values: (steps · rows, …)."""
        h, rows = self._h, self._env.num_envs
        shape = (h["n_steps"], rows)
        observations = torch.zeros(*shape, self._observations.shape[-1])
        actions, log_probabilities = torch.zeros(*shape, 1), torch.zeros(shape)
        rewards, values, ends = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape)
        for step in range(h["n_steps"]):
            observations[step] = self._observations
            with torch.no_grad():
                distribution = self._agent.distribution(self._observations)
                action = distribution.sample()
                values[step] = self._agent.critic(self._observations)[:, 0]
            actions[step] = action.reshape(rows, 1)
            log_probabilities[step] = distribution.log_prob(action).reshape(rows, -1).sum(-1)
            self._observations, rewards[step], ends[step] = self._step(action.numpy())
        with torch.no_grad():
            following = self._agent.critic(self._observations)[:, 0]
        advantages, advantage = torch.zeros(shape), torch.zeros(rows)
        for step in reversed(range(h["n_steps"])):
            goes_on = 1.0 - ends[step]
            error = rewards[step] + h["gamma"] * goes_on * following - values[step]
            advantage = error + h["gamma"] * h["gae_lambda"] * goes_on * advantage
            advantages[step], following = advantage, values[step]
        self.steps += h["n_steps"] * rows // self._flows
        every = (observations, actions, log_probabilities, advantages, advantages + values, values)
        return tuple(part.flatten(0, 1) for part in every)  # type: ignore[return-value]

    def _step(self, action: NDArray[Any]) -> tuple[Tensor, Tensor, Tensor]:
        rows = self._env.num_envs
        taken = action.reshape(rows) if self._discrete else np.clip(action.reshape(rows, 1), -1.0, 1.0)
        observations, rewards, dones, infos = self._env.step(taken)
        # An episode that its time limit ends would have gone on: add the value of what follows.
        for row in np.flatnonzero(dones):
            last = torch.as_tensor(infos[row]["terminal_observation"], dtype=torch.float32)
            if infos[row]["TimeLimit.truncated"]:
                with torch.no_grad():
                    rewards[row] += self._h["gamma"] * float(self._agent.critic(last)[0])
        return (
            torch.as_tensor(observations, dtype=torch.float32),
            torch.as_tensor(rewards, dtype=torch.float32),
            torch.as_tensor(dones, dtype=torch.float32),
        )

    def _update(
        self,
        observations: Tensor,
        actions: Tensor,
        log_probabilities: Tensor,
        advantages: Tensor,
        returns: Tensor,
        values: Tensor,
    ) -> None:
        h, count = self._h, len(observations)
        for _ in range(h["n_epochs"]):
            order = torch.as_tensor(self._rng.permutation(count))
            for batch in order.split(h["batch_size"]):
                distribution = self._agent.distribution(observations[batch])
                ratio = (distribution.log_prob(actions[batch]).sum(-1) - log_probabilities[batch]).exp()
                scaled = advantages[batch]
                scaled = (scaled - scaled.mean()) / (scaled.std() + 1e-8)
                clipped = ratio.clamp(1 - h["clip_range"], 1 + h["clip_range"])
                policy_loss = -torch.min(scaled * ratio, scaled * clipped).mean()
                value = self._agent.critic(observations[batch])[:, 0]
                near = values[batch] + (value - values[batch]).clamp(-h["clip_range"], h["clip_range"])
                errors = torch.max((value - returns[batch]) ** 2, (near - returns[batch]) ** 2)
                entropy = distribution.entropy().sum(-1).mean()
                loss = policy_loss - h["ent_coef"] * entropy + h["vf_coef"] * 0.5 * errors.mean()
                self._optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self._agent.parameters(), h["max_grad_norm"])
                self._optimizer.step()

    def policy(self, rows: int) -> Policy:
        """Return the mean action, or the likeliest of discrete ones."""

        def act(observations: NDArray[np.float32], begins: NDArray[np.bool_]) -> NDArray[Any]:
            normalized = torch.as_tensor(self._env.normalize_obs(observations), dtype=torch.float32)
            with torch.no_grad():
                output = self._agent.actor(normalized).numpy()
            return output.argmax(-1) if self._discrete else output

        return act
