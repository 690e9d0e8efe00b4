"""PPO on one flow, by Stable-Baselines3, and PPO with an LSTM, by sb3-contrib."""

from typing import Any

import torch
from sb3_contrib import RecurrentPPO
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from stable_baselines3 import PPO
from stable_baselines3.common.distributions import Distribution
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from leogym.agents.baselines.ppo import PpoSettings
from leogym.agents.baselines.recurrent_ppo import RecurrentPpoSettings
from leogym.agents.engines.actor import ACTIVATIONS, dense_layers
from leogym.agents.engines.sb3 import loop
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings

COLUMNS = {
    "policy_loss": "train/policy_gradient_loss",
    "value_loss": "train/value_loss",
    "action_std": "train/std",
}


class BoundedMean:
    """A mean action within [-1, 1] (see `agents.engines.actor`)."""

    action_net: Any
    action_dist: Any
    log_std: Any

    def _get_action_dist_from_latent(self, latent_pi: torch.Tensor) -> Distribution:
        return self.action_dist.proba_distribution(torch.tanh(self.action_net(latent_pi)), self.log_std)


class BoundedActorCritic(BoundedMean, ActorCriticPolicy):
    """Actor and critic with a bounded mean action."""


class BoundedRecurrent(BoundedMean, RecurrentActorCriticPolicy):
    """Actor and critic behind an LSTM each, with a bounded mean action."""


def make_model(settings: PpoSettings, environment: VecEnv) -> PPO:
    """Return an untrained model."""
    return PPO(BoundedActorCritic, environment, **_hyperparameters(settings))


def make_recurrent(settings: RecurrentPpoSettings, environment: VecEnv) -> RecurrentPPO:
    """Return an untrained model with an LSTM."""
    hyperparameters = _hyperparameters(settings)
    hyperparameters["policy_kwargs"]["lstm_hidden_size"] = settings.memory_cells
    return RecurrentPPO(BoundedRecurrent, environment, **hyperparameters)


def _hyperparameters(settings: PpoSettings) -> dict[str, Any]:
    """Return ``settings`` under the parameter names that PPO and RecurrentPPO share."""
    return {
        "learning_rate": settings.learning_rate,
        "n_steps": settings.rollout_steps,
        "batch_size": settings.samples_per_minibatch,
        "n_epochs": settings.epochs,
        "gamma": settings.gamma,
        "gae_lambda": settings.gae_lambda,
        "clip_range": settings.clip_range,
        "ent_coef": settings.entropy_coefficient,
        "max_grad_norm": settings.max_gradient_norm,
        "policy_kwargs": {
            "net_arch": list(settings.hidden),
            "activation_fn": ACTIVATIONS[settings.activation],
        },
        "seed": settings.seed,
        "device": "cpu",  # the networks are too small to gain from a GPU
    }


def dense(model: PPO | RecurrentPPO) -> list[nn.Linear]:
    """Return the actor's dense layers in order, which follow its LSTM if it has one."""
    policy = model.policy
    assert isinstance(policy, ActorCriticPolicy)
    return dense_layers(policy.mlp_extractor.policy_net, policy.action_net)


def lstm(model: RecurrentPPO) -> nn.LSTM:
    """Return the actor's LSTM."""
    policy = model.policy
    assert isinstance(policy, RecurrentActorCriticPolicy)
    return policy.lstm_actor


ALGORITHM = loop.Algorithm(make=make_model, dense=dense, columns=COLUMNS, data_parallel=True)
RECURRENT = loop.Algorithm(make=make_recurrent, dense=dense, columns=COLUMNS, data_parallel=True, lstm=lstm)


def train(settings: TrainSettings, run: RunFolder) -> None:
    """Train as long as ``settings`` say, from the latest checkpoint of ``run`` if there is one."""
    assert isinstance(settings, PpoSettings)
    loop.train(RECURRENT if isinstance(settings, RecurrentPpoSettings) else ALGORITHM, settings, run)
