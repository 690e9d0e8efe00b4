"""Train several flows with one network, through SuperSuit: ``python with_supersuit.py [STEPS] [FOLDER]``.

The flows of a PettingZoo environment become the environments of a Stable-Baselines3 vector. SuperSuit wants
the same agents from the first step to the last, so the environment keeps all of them (``constant_agents``).
"""

import sys

import supersuit
import torch
from stable_baselines3 import PPO

from leogym.agents.export import save_policy
from leogym.envs.parallel import parallel_env

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
FOLDER = sys.argv[2] if len(sys.argv) > 2 else "runs/supersuit"

torch.set_num_threads(1)  # more threads slow small networks down, on busy cores manyfold
flows = parallel_env(scenario={"sampler": "leo", "flows": 2, "duration_s": 15.0}, constant_agents=True)
vector = supersuit.pettingzoo_env_to_vec_env_v1(flows)
vectors = supersuit.concat_vec_envs_v1(vector, 2, num_cpus=0, base_class="stable_baselines3")
model = PPO("MlpPolicy", vectors, n_steps=256, batch_size=256, device="cpu")
model.learn(STEPS)
print(save_policy(model, FOLDER, flows))
