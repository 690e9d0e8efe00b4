"""Train PPO of RLlib on three flows that share a path: ``python with_rllib_flows.py [STEPS] [FOLDER]``."""

import sys

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig

from leogym.agents.export import save_policy
from leogym.envs.rllib import MultiFlowEnv

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
FOLDER = sys.argv[2] if len(sys.argv) > 2 else "runs/rllib-flows"

ray.init(address="local")  # otherwise RLlib joins any Ray cluster of the machine
torch.set_num_threads(1)  # more threads slow small networks down, on busy cores manyfold
config = (
    PPOConfig()
    .environment(MultiFlowEnv, env_config={"scenario": {"sampler": "leo", "flows": 3, "duration_s": 20}})
    .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, *_, **__: "shared")
    .env_runners(num_env_runners=0)
    .training(train_batch_size_per_learner=2048, minibatch_size=256, num_epochs=5, lr=3e-4)
    .debugging(seed=1)
)
algorithm = config.build_algo()
steps = 0
while steps < STEPS:
    steps += algorithm.train()["env_runners"]["num_env_steps_sampled"]
print(save_policy(algorithm.get_module("shared"), FOLDER, agent="astraea", interval_ms=30))
algorithm.stop()
