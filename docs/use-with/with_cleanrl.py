"""Run an unchanged CleanRL script on Gymnasium 1.x, and save its policy.

``python with_cleanrl.py FOLDER SCRIPT.py --env-id leo/SingleFlow-v0 [OPTIONS OF THE SCRIPT]``

CleanRL is written for Gymnasium 0.29. Gymnasium 1.x resets a finished environment one step later unless told
otherwise, has other names for what an episode ended with, and asks `TransformObservation` for a space. This
gives the script the vector and the wrapper that it expects; script and environment stay as they are.
"""

import runpy
import sys
from pathlib import Path

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode

import leogym  # noqa: F401 (registers the ids)
from leogym.agents.export import save_policy


class SyncVectorEnv(gymnasium.vector.SyncVectorEnv):
    """Gymnasium's vector with resets and information as in 0.29."""

    def __init__(self, env_fns):
        super().__init__(env_fns, autoreset_mode=AutoresetMode.SAME_STEP)

    def step(self, actions):
        """Step all environments; name what episodes ended with as 0.29 did."""
        observations, rewards, terminations, truncations, infos = super().step(actions)
        if "final_info" in infos:
            episodes, ended = infos["final_info"]["episode"], infos["_final_info"]
            infos["final_info"] = [
                {"episode": {name: np.array([episodes[name][index]]) for name in "rlt"}} if over else None
                for index, over in enumerate(ended)
            ]
            infos["final_observation"] = infos["final_obs"]
        return observations, rewards, terminations, truncations, infos


class TransformObservation(gymnasium.wrappers.TransformObservation):
    """Gymnasium's wrapper with the space of the environment, as in 0.29."""

    def __init__(self, env, func):
        super().__init__(env, func, env.observation_space)


gymnasium.vector.SyncVectorEnv = SyncVectorEnv
gymnasium.wrappers.TransformObservation = TransformObservation

torch.set_num_threads(1)  # more threads slow small networks down, on busy cores manyfold
folder, script = sys.argv[1:3]
sys.argv[:] = sys.argv[2:]
sys.path[:0] = [str(Path(script).resolve().parents[1])]  # for cleanrl_utils
names = runpy.run_path(script, run_name="__main__")
print(save_policy(names["agent" if "agent" in names else "actor"], folder, names["envs"]))
