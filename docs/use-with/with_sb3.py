"""Train PPO of Stable-Baselines3 and save the policy: ``python with_sb3.py [STEPS] [FOLDER]``."""

import sys

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from leogym.agents.export import save_policy

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
FOLDER = sys.argv[2] if len(sys.argv) > 2 else "runs/sb3"

torch.set_num_threads(1)  # more threads slow small networks down, on busy cores manyfold
env = VecNormalize(make_vec_env("leogym:leo/SingleFlow-v0", n_envs=4, seed=1))
model = PPO("MlpPolicy", env, n_steps=512, batch_size=256, seed=1, device="cpu")
model.learn(STEPS)
print(save_policy(model, FOLDER))
