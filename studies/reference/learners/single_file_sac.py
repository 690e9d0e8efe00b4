"""SAC in one file, with the details and default hyperparameters of CleanRL's ``sac_continuous_action``.

Haarnoja et al., Soft Actor-Critic Algorithms and Applications, 2018: two critics, an actor with a squashed
Gaussian, a temperature that is tuned to an entropy of minus the number of actions.
"""

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from leogym.envs.seeding import mixed
from studies.reference.learners.pickled import Pickled
from studies.reference.learners.tasks import Policy, Task

LOG_STD = (-5.0, 2.0)
"""Smallest and largest logarithm of the actor's standard deviation."""


def network(inputs: int, outputs: int, width: int) -> nn.Sequential:
    """Return two hidden layers of ``width`` and an output layer."""
    return nn.Sequential(
        *(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, outputs))
    )


class Replay:
    """The latest transitions, in arrays."""

    def __init__(self, capacity: int, observation_dim: int) -> None:
        self._capacity = capacity
        self._arrays = [
            np.zeros((capacity, width), np.float32) for width in (observation_dim, observation_dim, 1, 1, 1)
        ]
        self._added = 0

    def add(self, *columns: NDArray[Any]) -> None:
        """Add a transition per row of observations, next observations, actions, rewards, terminations."""
        places = (self._added + np.arange(len(columns[0]))) % self._capacity
        for array, column in zip(self._arrays, columns, strict=True):
            array[places] = np.asarray(column, np.float32).reshape(len(places), -1)
        self._added += len(places)

    def sample(self, rng: np.random.Generator, count: int) -> list[Tensor]:
        """Return ``count`` transitions in the order of `add`."""
        places = rng.integers(min(self._added, self._capacity), size=count)
        return [torch.from_numpy(array[places]) for array in self._arrays]


class SacLearner(Pickled):
    """The networks, their optimisers, the replay buffer and the environments."""

    def __init__(self, algorithm: str, of: Task, hyperparameters: Mapping[str, Any], seed: int) -> None:
        torch.manual_seed(seed)
        self._h = h = {
            "n_envs": 1,
            "buffer_size": 1_000_000,
            "gamma": 0.99,
            "tau": 0.005,
            "batch_size": 256,
            "learning_starts": 5_000,
            "policy_lr": 3e-4,
            "q_lr": 1e-3,
            "policy_frequency": 2,
            "gradient_steps": 1,
            "reward_scale": 1.0,
            "width": 256,
            **hyperparameters,
        }
        self._env = env = of.training_env(h["n_envs"], discrete=False)
        env.seed(mixed([seed], bits=31))
        [size] = env.observation_space.shape or (0,)
        self._actor = network(size, 2, h["width"])
        self._critics = nn.ModuleList([network(size + 1, 1, h["width"]) for _ in range(2)])
        self._targets = copy.deepcopy(self._critics)
        self._log_temperature = torch.zeros(1, requires_grad=True)
        self._actor_optimizer = torch.optim.Adam(self._actor.parameters(), lr=h["policy_lr"])
        self._critic_optimizer = torch.optim.Adam(self._critics.parameters(), lr=h["q_lr"])
        self._temperature_optimizer = torch.optim.Adam([self._log_temperature], lr=h["q_lr"])
        self._rng = np.random.default_rng(seed)
        self._replay = Replay(h["buffer_size"], size)
        self._observations = np.asarray(env.reset())
        self._updates = 0
        self._flows = of.flows
        self.steps = 0

    def learn_until(self, steps: int) -> None:
        """Train to the first step of all environments at or after ``steps``."""
        while self.steps < steps:
            self._sample()
            if self.steps > self._h["learning_starts"]:
                for _ in range(self._h["gradient_steps"]):
                    self._update()

    def _sample(self) -> None:
        env, rows = self._env, self._env.num_envs
        if self.steps <= self._h["learning_starts"]:
            actions = self._rng.uniform(-1.0, 1.0, (rows, 1)).astype(np.float32)
        else:
            with torch.no_grad():
                actions = self._act(torch.from_numpy(self._observations))[0].numpy()
        following, rewards, dones, infos = env.step(actions)
        following = np.asarray(following)
        reached, terminated = following.copy(), dones.copy()
        for row in np.flatnonzero(dones):
            reached[row] = infos[row]["terminal_observation"]
            terminated[row] = not infos[row]["TimeLimit.truncated"]
        self._replay.add(self._observations, reached, actions, rewards * self._h["reward_scale"], terminated)
        self._observations = following
        self.steps += rows // self._flows

    def _act(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Return a drawn action and its log-probability, each (rows, 1)."""
        mean, spread = self._actor(observations).chunk(2, dim=-1)
        low, high = LOG_STD
        deviation = (low + (high - low) / 2 * (torch.tanh(spread) + 1)).exp()
        normal = torch.distributions.Normal(mean, deviation)
        drawn = normal.rsample()
        action = torch.tanh(drawn)
        return action, normal.log_prob(drawn) - torch.log(1 - action**2 + 1e-6)

    def _update(self) -> None:
        h = self._h
        observations, following, actions, rewards, ends = self._replay.sample(self._rng, h["batch_size"])
        temperature = self._log_temperature.exp().detach()
        with torch.no_grad():
            next_actions, log_probabilities = self._act(following)
            inputs = torch.cat([following, next_actions], dim=-1)
            lower = torch.min(self._targets[0](inputs), self._targets[1](inputs))
            goal = rewards + h["gamma"] * (1 - ends) * (lower - temperature * log_probabilities)
        inputs = torch.cat([observations, actions], dim=-1)
        loss = sum(functional.mse_loss(critic(inputs), goal) for critic in self._critics)
        self._step(self._critic_optimizer, loss)
        self._updates += 1
        if self._updates % h["policy_frequency"] == 0:
            for _ in range(h["policy_frequency"]):  # as many updates of the actor as of the critics
                new_actions, log_probabilities = self._act(observations)
                inputs = torch.cat([observations, new_actions], dim=-1)
                value = torch.min(self._critics[0](inputs), self._critics[1](inputs))
                self._step(self._actor_optimizer, (temperature * log_probabilities - value).mean())
                surplus = log_probabilities.detach() - 1.0  # the target entropy is -1, for one action
                self._step(self._temperature_optimizer, (-self._log_temperature.exp() * surplus).mean())
        with torch.no_grad():
            for target, online in zip(self._targets.parameters(), self._critics.parameters(), strict=True):
                target.lerp_(online, h["tau"])

    @staticmethod
    def _step(optimizer: torch.optim.Optimizer, loss: Any) -> None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def policy(self, rows: int) -> Policy:
        """Return the squashed mean action."""

        def act(observations: NDArray[np.float32], begins: NDArray[np.bool_]) -> NDArray[Any]:
            with torch.no_grad():
                return torch.tanh(self._actor(torch.from_numpy(observations))[:, :1]).numpy()

        return act
