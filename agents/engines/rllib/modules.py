"""The networks that RLlib trains for PPO, APPO and BC, and the dense layers of each algorithm's actor."""

from typing import Any

import torch
from ray.rllib.algorithms.sac.torch.default_sac_torch_rl_module import DefaultSACTorchRLModule
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.utils import make_target_network
from ray.rllib.core.rl_module.apis import TARGET_NETWORK_ACTION_DIST_INPUTS, TargetNetworkAPI
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from torch import nn

from leogym.agents.engines.actor import ACTIVATIONS, dense_layer, dense_layers, layers
from leogym.agents.engines.settings import Sb3Settings


class FlowModule(TorchRLModule, ValueFunctionAPI):
    """Actor and critic with separate perceptrons and a state-independent standard deviation."""

    def setup(self) -> None:
        """Build the networks from the spaces and ``model_config``."""
        observation, action = self.observation_space.shape[0], self.action_space.shape[0]
        hidden = self.model_config["hidden"]
        activation = self.model_config["activation"]
        self.actor = layers(observation, hidden, action, activation)
        self.critic = layers(observation, hidden, 1, activation)
        self.log_std = nn.Parameter(torch.zeros(action))

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self._distribution(self.actor, batch)}

    def _distribution(self, actor: nn.Module, batch: dict[str, Any]) -> torch.Tensor:
        mean = torch.tanh(actor(batch[Columns.OBS]))
        return torch.cat([mean, self.log_std.expand_as(mean)], dim=-1)

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Return the value of each observation of ``batch``, of shape (batch,)."""
        return self.critic(batch[Columns.OBS]).squeeze(-1)


class AsynchronousFlowModule(FlowModule, TargetNetworkAPI):
    """`FlowModule` with the target actor that APPO clips against."""

    def make_target_networks(self) -> None:
        """Copy the actor; RLlib updates the copy with a delay."""
        self.old_actor = make_target_network(self.actor)

    def get_target_network_pairs(self) -> list[tuple[nn.Module, nn.Module]]:
        """Return the actor and its copy."""
        return [(self.actor, self.old_actor)]

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return the target actor's action distribution."""
        return {TARGET_NETWORK_ACTION_DIST_INPUTS: self._distribution(self.old_actor, batch)}


def flow_module(settings: Sb3Settings, kind: type[FlowModule] = FlowModule) -> RLModuleSpec:
    """Return the spec of a `FlowModule` or subclass with the layers of ``settings``."""
    return RLModuleSpec(
        module_class=kind,
        model_config={"hidden": list(settings.hidden), "activation": settings.activation},
    )


def own_module(settings: Sb3Settings) -> RLModuleSpec:
    """Return the spec of RLlib's own module (SAC, CQL) with the layers of ``settings``."""
    model = DefaultModelConfig(
        fcnet_hiddens=list(settings.hidden),
        fcnet_activation=ACTIVATIONS[settings.activation],  # type: ignore[arg-type] (a class will do)
    )
    return RLModuleSpec(model_config=model)


def actor_layers(module: Any) -> list[nn.Linear]:
    """Return the dense layers of a module's actor, in order; its action is the tanh of the last."""
    if isinstance(module, FlowModule):
        return dense_layers(module.actor)
    assert isinstance(module, DefaultSACTorchRLModule)
    *hidden, last = dense_layers(module.pi_encoder, module.pi)
    # The first half is the mean before tanh, the second the log deviation.
    actions = last.out_features // 2
    return [*hidden, dense_layer(last.weight[:actions], last.bias[:actions])]
