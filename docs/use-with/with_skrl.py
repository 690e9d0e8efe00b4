"""Train PPO of skrl on the native vector and save the policy: ``python with_skrl.py [STEPS] [FOLDER]``."""

import sys

import gymnasium
import torch
from skrl.agents.torch.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.trainers.torch import SequentialTrainer
from torch import nn

import leogym  # noqa: F401 (registers the ids)
from leogym.agents.export import save_policy

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
FOLDER = sys.argv[2] if len(sys.argv) > 2 else "runs/skrl"
ENVS = 4


def layers(outputs: int) -> nn.Sequential:
    """Return a perceptron on the observation."""
    return nn.Sequential(nn.Linear(50, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


class Policy(GaussianMixin, Model):
    """A mean from the observation and a free deviation."""

    def __init__(self, **spaces):
        Model.__init__(self, **spaces)
        GaussianMixin.__init__(self, clip_actions=True)
        self.net, self.log_std = layers(1), nn.Parameter(torch.zeros(1))

    def compute(self, inputs, role):
        """Return the mean and the logarithm of the deviation."""
        return self.net(inputs["observations"]), {"log_std": self.log_std}


class Value(DeterministicMixin, Model):
    """The value of an observation."""

    def __init__(self, **spaces):
        Model.__init__(self, **spaces)
        DeterministicMixin.__init__(self)
        self.net = layers(1)

    def compute(self, inputs, role):
        """Return the value."""
        return self.net(inputs["observations"]), {}


torch.set_num_threads(1)  # more threads slow small networks down, on busy cores manyfold
torch.manual_seed(1)
env = wrap_env(gymnasium.make_vec("leo/SingleFlow-v0", num_envs=ENVS))
spaces = {
    "observation_space": env.observation_space,
    "action_space": env.action_space,
    "device": env.device,
}
models = {"policy": Policy(**spaces), "value": Value(**spaces)}
agent = PPO(
    models=models,
    memory=RandomMemory(memory_size=256, num_envs=ENVS, device=env.device),
    cfg=PPO_CFG(rollouts=256, learning_epochs=10, mini_batches=4, learning_rate=3e-4),
    **spaces,
)
SequentialTrainer(env=env, agents=agent, cfg={"timesteps": STEPS // ENVS}).train()
print(save_policy(models["policy"].net, FOLDER, "leo/SingleFlow-v0"))
