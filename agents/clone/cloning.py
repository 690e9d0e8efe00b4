"""Behavioural cloning with a recurrent policy: maximum likelihood of the actions in the selected runs."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from leogym.agents.clone.network import Policy
from leogym.agents.clone.sequences import Batch
from leogym.agents.clone.settings import CloneSettings

RATE_LAST = 0.02
"""Share of the learning rate that remains after its decay."""


class Learner:
    """The policy, the average of its weights that is exported, and the optimiser."""

    def __init__(self, settings: CloneSettings, observation_dim: int) -> None:
        self.settings = settings
        torch.manual_seed(settings.seed)  # initial weights are drawn from the global generator
        self.policy = Policy(observation_dim, settings)
        self.average = copy.deepcopy(self.policy).requires_grad_(False)
        """The exported policy."""
        self._optimiser = torch.optim.Adam(self.policy.parameters(), lr=settings.learning_rate)
        self._memory: Tensor | None = None
        """The recurrent state at the end of the last batch's sequences."""
        self.updates = 0

    def normalise(self, mean: Tensor, deviation: Tensor) -> None:
        """Set the signals' mean and deviation in both networks."""
        for network in (self.policy, self.average):
            network.normaliser.fit(mean, deviation)

    def update(self, batch: Batch) -> dict[str, float]:
        """Make one update on ``batch``; return the metrics to report."""
        observations, actions = torch.from_numpy(batch.observation), torch.from_numpy(batch.action)
        memory = self._begin(torch.from_numpy(batch.fresh))
        distribution, memories = self.policy(observations, memory)
        self._memory = memories[:, -1].detach()
        log_prob = distribution.log_prob(actions)
        loss = -log_prob.mean()
        self._set_learning_rate()
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), self.settings.gradient_max)
        self._optimiser.step()
        self.updates += 1
        with torch.no_grad():
            for average, new in zip(self.average.parameters(), self.policy.parameters(), strict=True):
                average.lerp_(new, 1 - self.settings.policy_average)
        return {
            "log_likelihood": -loss.item(),
            "distance": float((distribution.mean().detach() - actions).abs().mean()),
        }

    def _begin(self, fresh: Tensor) -> Tensor:
        """Return the recurrent states that sequences start with: zeros where they start fresh."""
        memory = self._memory
        if memory is None or len(memory) != len(fresh):
            memory = torch.zeros(len(fresh), self.settings.gru)
        return memory.masked_fill(fresh.unsqueeze(-1), 0.0)

    def _set_learning_rate(self) -> None:
        settings = self.settings
        done = min(1.0, self.updates / settings.decay_steps) if settings.decay_steps else 0.0
        for group in self._optimiser.param_groups:
            group["lr"] = settings.learning_rate * (1 - (1 - RATE_LAST) * done)

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`."""
        return {
            "updates": self.updates,
            "memory": self._memory,
            **{name: part.state_dict() for name, part in self._parts().items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self.updates = state["updates"]
        self._memory = state["memory"]
        for name, part in self._parts().items():
            part.load_state_dict(state[name])

    def _parts(self) -> dict[str, Any]:
        return {"policy": self.policy, "average": self.average, "optimiser": self._optimiser}
