"""Train PPO of RLlib by the id and save the policy: ``python with_rllib.py [STEPS] [FOLDER]``."""

import sys

import torch
from ray.rllib.algorithms.ppo import PPOConfig

from leogym.agents.export import save_policy

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
FOLDER = sys.argv[2] if len(sys.argv) > 2 else "runs/rllib"

torch.set_num_threads(1)  # more threads slow small networks down, on busy cores manyfold
config = (
    PPOConfig()
    .environment("leogym:leo/SingleFlow-v0")
    .env_runners(num_env_runners=0, num_envs_per_env_runner=4)
    .training(train_batch_size_per_learner=2048, minibatch_size=256, num_epochs=5, lr=3e-4)
    .debugging(seed=1)
)
algorithm = config.build_algo()
steps = 0
while steps < STEPS:
    steps += algorithm.train()["env_runners"]["num_env_steps_sampled"]
print(save_policy(algorithm, FOLDER, "leogym:leo/SingleFlow-v0"))
algorithm.stop()
