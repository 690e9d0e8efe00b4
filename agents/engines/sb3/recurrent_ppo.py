"""PPO with an LSTM on one flow, by sb3-contrib: ``train.py --agent recurrent_ppo``."""

import torch
from sb3_contrib import RecurrentPPO
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from stable_baselines3.common.distributions import Distribution
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from leogym.agents.baselines.recurrent_ppo.settings import RecurrentPpoSettings
from leogym.agents.engines.actor import ACTIVATIONS, dense_layers
from leogym.agents.engines.sb3 import loop
from leogym.agents.engines.sb3.ppo import hyperparameters
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings


class BoundedRecurrent(RecurrentActorCriticPolicy):
    """Actor and critic with a mean action within [-1, 1] (see `agents.engines.actor`)."""

    def _get_action_dist_from_latent(self, latent_pi: torch.Tensor) -> Distribution:
        mean = torch.tanh(self.action_net(latent_pi))
        return self.action_dist.proba_distribution(mean, self.log_std)  # type: ignore[call-arg]


def make_model(settings: RecurrentPpoSettings, environment: VecEnv) -> RecurrentPPO:
    """Return an untrained model."""
    network = {
        "net_arch": list(settings.hidden),
        "activation_fn": ACTIVATIONS[settings.activation],
        "lstm_hidden_size": settings.memory_cells,
    }
    return RecurrentPPO(BoundedRecurrent, environment, policy_kwargs=network, **hyperparameters(settings))


def dense(model: RecurrentPPO) -> list[nn.Linear]:
    """Return the dense layers after the actor's LSTM in order."""
    policy = model.policy
    assert isinstance(policy, RecurrentActorCriticPolicy)
    return dense_layers(policy.mlp_extractor.policy_net, policy.action_net)


def lstm(model: RecurrentPPO) -> nn.LSTM:
    """Return the actor's LSTM."""
    policy = model.policy
    assert isinstance(policy, RecurrentActorCriticPolicy)
    return policy.lstm_actor


ALGORITHM = loop.Algorithm(
    make=make_model,
    dense=dense,
    columns={
        "policy_loss": "train/policy_gradient_loss",
        "value_loss": "train/value_loss",
        "action_std": "train/std",
    },
    data_parallel=True,
    lstm=lstm,
)


def train(settings: TrainSettings, run: RunFolder) -> None:
    """Train as long as ``settings`` say, from the latest checkpoint of ``run`` if there is one."""
    assert isinstance(settings, RecurrentPpoSettings)
    loop.train(ALGORITHM, settings, run)
