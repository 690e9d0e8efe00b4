"""PPO on one flow with Stable-Baselines3: ``train.py --agent ppo --engine sb3``."""

from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.distributions import Distribution
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from leogym.agents.baselines.ppo.settings import PpoSettings
from leogym.agents.engines.actor import ACTIVATIONS, dense_layers
from leogym.agents.engines.sb3 import loop
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings


class BoundedActorCritic(ActorCriticPolicy):
    """Actor and critic with a mean action within [-1, 1] (see `agents.engines.actor`)."""

    def _get_action_dist_from_latent(self, latent_pi: torch.Tensor) -> Distribution:
        mean = torch.tanh(self.action_net(latent_pi))
        return self.action_dist.proba_distribution(mean, self.log_std)  # type: ignore[call-arg]


def hyperparameters(settings: PpoSettings) -> dict[str, Any]:
    """Return ``settings`` under the parameter names that PPO and RecurrentPPO share."""
    return {
        "learning_rate": settings.learning_rate,
        "n_steps": settings.rollout_steps,
        "batch_size": settings.minibatch_size,
        "n_epochs": settings.epochs,
        "gamma": settings.gamma,
        "gae_lambda": settings.gae_lambda,
        "clip_range": settings.clip_range,
        "ent_coef": settings.entropy_coefficient,
        "max_grad_norm": settings.max_gradient_norm,
        "seed": settings.seed,
        "device": "cpu",  # the networks are too small to gain from a GPU
    }


def make_model(settings: PpoSettings, environment: VecEnv) -> PPO:
    """Return an untrained model."""
    network = {"net_arch": list(settings.hidden), "activation_fn": ACTIVATIONS[settings.activation]}
    return PPO(BoundedActorCritic, environment, policy_kwargs=network, **hyperparameters(settings))


def dense(model: PPO) -> list[nn.Linear]:
    """Return the actor's dense layers in order."""
    policy = model.policy
    assert isinstance(policy, ActorCriticPolicy)
    return dense_layers(policy.mlp_extractor.policy_net, policy.action_net)


ALGORITHM = loop.Algorithm(
    make=make_model,
    dense=dense,
    columns={
        "policy_loss": "train/policy_gradient_loss",
        "value_loss": "train/value_loss",
        "action_std": "train/std",
    },
    data_parallel=True,
)


def load(folder: Path, settings: PpoSettings) -> tuple[Any, dict[str, Any]]:
    """Read a checkpoint's model, in the middle of its episodes, and its counters, or raise `InputError`."""
    return loop.load(ALGORITHM, folder, settings)


def train(settings: TrainSettings, run: RunFolder) -> None:
    """Train as long as ``settings`` say, from the latest checkpoint of ``run`` if there is one."""
    assert isinstance(settings, PpoSettings)
    loop.train(ALGORITHM, settings, run)
