"""The gym: scenarios as Gymnasium, PettingZoo, Stable-Baselines3 and RLlib environments.

Importing this package registers ``leo/Flow-v0`` with Gymnasium and ``leo/Flows-v0`` with PettingZoo:

    gymnasium.make("envs:leo/Flow-v0", scenario="static-100")
    gymnasium.make_vec("envs:leo/Flow-v0", num_envs=16)
    envs.parallel_env(scenario="static-pair-agents")
    envs.sb3.LeoVecEnv(16, scenario="leo")
    envs.rllib.MultiFlowEnv({"scenario": "leo"})

`leosim` simulates, and computes observations and rewards.
"""

import gymnasium
import pettingzoo

from envs.parallel import parallel_env

FLOW_ID = "leo/Flow-v0"
FLOWS_ID = "leo/Flows-v0"

# RLlib's workers may import this package twice, and the registries warn about a second entry.
if FLOW_ID not in gymnasium.registry:
    gymnasium.register(FLOW_ID, entry_point="envs.flow:FlowEnv", vector_entry_point="envs.flow:FlowVectorEnv")
if FLOWS_ID not in pettingzoo.parallel_registry:
    pettingzoo.register("parallel", FLOWS_ID, "envs.parallel:parallel_env")

__all__ = ["FLOWS_ID", "FLOW_ID", "parallel_env"]
