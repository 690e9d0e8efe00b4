"""Twin delayed deep deterministic policy gradient (Fujimoto et al., 2018) with centralised critics."""

import copy
import itertools
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from leogym.agents.astraea.actor_critic import Actor, TwinCritics
from leogym.agents.astraea.replay import Transitions
from leogym.agents.astraea.settings import AstraeaSettings


class Td3:
    """Actor, twin critics, their targets and optimisers.

    All flows share the actor, which sees the flow's own observation; the critics also see the global state
    (centralised training, decentralised execution). ``seed`` determines initial weights and target noise.
    """

    def __init__(
        self,
        settings: AstraeaSettings,
        observation_dim: int,
        global_dim: int,
        action_dim: int,
        seed: int,
    ) -> None:
        self._settings = settings
        self._observation_dim = observation_dim
        # Layers draw their initial weights from torch's global generator, which is restored afterwards.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.actor = Actor(
                observation_dim,
                action_dim,
                settings.batch_norm_momentum,
                settings.hidden,
                settings.output_scale,
            )
            shape = (observation_dim, global_dim, action_dim, settings.hidden)
            self.critics = TwinCritics(*shape, settings.critic_layer_norm)
        self.target_actor = copy.deepcopy(self.actor).requires_grad_(False).eval()
        self.target_critics = copy.deepcopy(self.critics).requires_grad_(False)
        self.policy = copy.deepcopy(self.actor).requires_grad_(False).eval()
        """The exported actor, see `AstraeaSettings.policy_average`."""
        trained = [parameter for parameter in self.actor.parameters() if parameter.requires_grad]
        self._actor_optimiser = _adam(trained, settings.actor_learning_rate)
        self._critic_optimiser = _adam(list(self.critics.parameters()), settings.critic_learning_rate)
        self._actor_numbers = [numbers(actor) for actor in (self.actor, self.target_actor, self.policy)]
        self._critic_numbers = numbers(self.target_critics), numbers(self.critics)
        self._noise = torch.Generator().manual_seed(seed)
        self.updates = 0  # critic updates so far

    def act(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map observations (n, observation_dim) to the actor's actions (n, action_dim)."""
        return act(self.actor.eval(), observations)

    def act_as_exported(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map observations (n, observation_dim) to the exported policy's actions (n, action_dim)."""
        return act(self.policy, observations)

    def update(self, batch: Transitions) -> dict[str, float]:
        """Update the critics, and every ``policy_delay`` times targets and (after ``actor_starts``) actor.

        Returns:
            ``critic_loss``, and with an actor update ``value`` (mean of the first critic under the actor).
        """
        settings = self._settings
        target = self._target(batch)
        decay = settings.critic_decay ** (self.updates / settings.critic_decay_updates)
        self._critic_optimiser.param_groups[0]["lr"] = settings.critic_learning_rate * decay
        values = self.critics(batch.state, batch.action)
        loss = functional.huber_loss(values, target.expand_as(values), reduction="sum") / len(target)
        self._critic_optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self._critic_optimiser.step()
        measured = {"critic_loss": loss.item()}
        self.updates += 1
        if self.updates % settings.policy_delay == 0:
            follow(*self._critic_numbers, settings.tau)
            if self.updates > settings.actor_starts:
                measured["value"] = self._update_actor(batch)
            actor, target_actor, policy = self._actor_numbers
            follow(target_actor, actor, settings.tau)
            # The first updates weigh more, or the average would keep the untrained actor for long.
            share = min(settings.policy_average, 1 - 1 / (1 + self.updates / settings.policy_delay / 5))
            follow(policy, actor, 1 - share)
        return measured

    def _target(self, batch: Transitions) -> Tensor:
        settings = self._settings
        with torch.no_grad():
            proposed = self.target_actor(batch.next_state[:, : self._observation_dim])
            # Target policy smoothing: similar actions have similar values.
            noise = torch.randn(proposed.shape, generator=self._noise) * settings.target_noise
            noise = noise.clamp_(-settings.target_noise_clip, settings.target_noise_clip)
            smoothed = (proposed + noise).clamp_(-1, 1)
            # Clipped double Q-learning: the lower value, against overestimation.
            value = self.target_critics(batch.next_state, smoothed).amin(0)
            return batch.reward + settings.gamma**settings.return_steps * value

    def _update_actor(self, batch: Transitions) -> float:
        raw = self.actor.train().before_tanh(batch.state[:, : self._observation_dim])
        value = self.critics.first(batch.state, torch.tanh(raw)).mean()
        loss = -value + self._settings.action_penalty * raw.square().mean()
        self._actor_optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self._actor_optimiser.step()
        return value.item()

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`, in types that `torch.save` accepts."""
        return {
            "actor": self.actor.state_dict(),
            "critics": self.critics.state_dict(),
            "target_actor": self.target_actor.state_dict(),
            "target_critics": self.target_critics.state_dict(),
            "policy": self.policy.state_dict(),
            "actor_optimiser": self._actor_optimiser.state_dict(),
            "critic_optimiser": self._critic_optimiser.state_dict(),
            "noise": self._noise.get_state(),
            "updates": self.updates,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        for name, actor in (
            ("actor", self.actor),
            ("target_actor", self.target_actor),
            ("policy", self.policy),
        ):
            actor.load_state_dict(state[name])
        self.critics.load_state_dict(state["critics"])
        self.target_critics.load_state_dict(state["target_critics"])
        _restore(self._actor_optimiser, state["actor_optimiser"])
        _restore(self._critic_optimiser, state["critic_optimiser"])
        self._noise.set_state(state["noise"])
        self.updates = state["updates"]


def act(actor: Actor, observations: NDArray[np.float32]) -> NDArray[np.float32]:
    """Map observations (n, observation_dim) to actions (n, action_dim) of ``actor`` in eval mode."""
    with torch.inference_mode():
        return actor(torch.from_numpy(np.ascontiguousarray(observations))).numpy()


def numbers(module: nn.Module) -> list[Tensor]:
    """Return the parameters and statistics of ``module``, in a fixed order."""
    every = itertools.chain(module.parameters(), module.buffers())
    return [tensor.detach() for tensor in every if tensor.is_floating_point()]


def follow(slow: list[Tensor], fast: list[Tensor], share: float) -> None:
    """Move the `numbers` ``slow`` towards ``fast`` by ``share`` of their difference."""
    for ours, theirs in zip(slow, fast, strict=True):
        ours.lerp_(theirs, share)


def _adam(parameters: list[nn.Parameter], learning_rate: float) -> torch.optim.Adam:
    # Fused: one operation per step instead of a dozen.
    return torch.optim.Adam(parameters, lr=learning_rate, fused=True)


def _restore(optimiser: torch.optim.Adam, saved: dict[str, Any]) -> None:
    """Restore the moments of ``saved``, not its options: with ``start_from``, learning rates may differ."""
    (group,) = optimiser.param_groups
    options = {name: value for name, value in group.items() if name != "params"}
    optimiser.load_state_dict(saved)
    optimiser.param_groups[0].update(options)
