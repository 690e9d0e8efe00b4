"""Train SAC of TorchRL and save the policy: ``python with_torchrl.py [STEPS] [FOLDER]``."""

import sys

import torch
from tensordict.nn import TensorDictModule
from tensordict.nn.distributions import NormalParamExtractor
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.envs.libs.gym import GymEnv
from torchrl.modules import MLP, ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import SACLoss, SoftUpdate

import leogym  # noqa: F401 (registers the ids)
from leogym.agents.export import save_policy

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000
FOLDER = sys.argv[2] if len(sys.argv) > 2 else "runs/torchrl"

torch.set_num_threads(1)  # more threads slow small networks down, on busy cores manyfold
torch.manual_seed(1)
env = GymEnv("leo/SingleFlow-v0")
network = nn.Sequential(MLP(50, 2, num_cells=[128, 128], activation_class=nn.ReLU), NormalParamExtractor())
actor = ProbabilisticActor(
    TensorDictModule(network, in_keys=["observation"], out_keys=["loc", "scale"]),
    in_keys=["loc", "scale"],
    distribution_class=TanhNormal,
    return_log_prob=True,
)
critic = ValueOperator(MLP(51, 1, num_cells=[128, 128]), in_keys=["observation", "action"])
loss = SACLoss(actor, critic, action_spec=env.action_spec)
target = SoftUpdate(loss, tau=0.005)
optimizer = torch.optim.Adam(loss.parameters(), lr=3e-4)
replay = ReplayBuffer(storage=LazyTensorStorage(STEPS), batch_size=256)
for data in Collector(env, actor, frames_per_batch=200, total_frames=STEPS, init_random_frames=400):
    replay.extend(data.reshape(-1))
    for _ in range(100):
        losses = loss(replay.sample())
        sum(value for name, value in losses.items() if name.startswith("loss_")).backward()
        optimizer.step()
        optimizer.zero_grad()
        target.step()


class Mean(nn.Module):
    """The deterministic action: the squashed mean."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, observation):
        """Return actions (batch, 1)."""
        return torch.tanh(self.network(observation)[0])


print(save_policy(Mean(network), FOLDER, "leo/SingleFlow-v0"))
