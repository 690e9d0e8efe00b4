"""Train SAC of Tianshou 2 and save the policy: ``python with_tianshou.py [STEPS] [FOLDER]``."""

import sys

import gymnasium
import torch
from tianshou.algorithm import SAC
from tianshou.algorithm.modelfree.sac import SACPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.continuous import ContinuousActorProbabilistic, ContinuousCritic
from torch import nn

import leogym  # noqa: F401 (registers the ids)
from leogym.agents.export import save_policy

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000
FOLDER = sys.argv[2] if len(sys.argv) > 2 else "runs/tianshou"

env = gymnasium.make("leo/SingleFlow-v0")
training = DummyVectorEnv([lambda: gymnasium.make("leo/SingleFlow-v0") for _ in range(4)])
training.seed(1)
torch.set_num_threads(1)  # more threads slow small networks down, on busy cores manyfold
torch.manual_seed(1)
shape = env.observation_space.shape
actor = ContinuousActorProbabilistic(
    preprocess_net=Net(state_shape=shape, hidden_sizes=[128, 128]),
    action_shape=env.action_space.shape,
    unbounded=True,
    conditioned_sigma=True,
)
critic_net = Net(state_shape=shape, action_shape=env.action_space.shape, hidden_sizes=[128, 128], concat=True)
algorithm = SAC(
    policy=SACPolicy(actor=actor, action_space=env.action_space),
    policy_optim=AdamOptimizerFactory(lr=3e-4),
    critic=ContinuousCritic(preprocess_net=critic_net),
    critic_optim=AdamOptimizerFactory(lr=1e-3),
)
collector = Collector[CollectStats](algorithm, training, VectorReplayBuffer(100_000, 4))
collector.reset()
collector.collect(n_step=400, random=True)
algorithm.run_training(
    OffPolicyTrainerParams(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=STEPS,
        collection_step_num_env_steps=40,
        update_step_num_gradient_steps_per_sample=0.25,
        batch_size=256,
        test_collector=None,
    )
)


class Mean(nn.Module):
    """The deterministic action: the squashed mean."""

    def __init__(self, actor):
        super().__init__()
        self.actor = actor

    def forward(self, observation):
        """Return actions (batch, 1)."""
        return torch.tanh(self.actor(observation)[0][0])


print(save_policy(Mean(actor), FOLDER, env))
