"""Save a policy that rl_zoo3 trained: ``python with_rl_zoo3.py ALGORITHM RUN FOLDER``.

``RUN`` is a folder of rl_zoo3, such as ``logs/ppo/leo-SingleFlow-v0_1``.
"""

import sys
from pathlib import Path

from rl_zoo3 import ALGOS
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from leogym.agents.export import save_policy

algorithm, run, folder = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
name = run.name.rpartition("_")[0]  # leo-SingleFlow-v0
env = make_vec_env("leogym:" + name.replace("-", "/", 1))
statistics = run / name / "vecnormalize.pkl"
if statistics.exists():
    env = VecNormalize.load(str(statistics), env)
model = ALGOS[algorithm].load(run / f"{name}.zip", device="cpu")
print(save_policy(model, folder, env))
