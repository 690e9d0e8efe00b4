"""Search a learning rate with Ray Tune, save the best: ``python with_ray_tune.py [STEPS] [FOLDER]``."""

import sys

import torch
from ray import tune
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy

from leogym.agents.export import save_policy
from leogym.envs.sb3 import LeoVecEnv

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
FOLDER = sys.argv[2] if len(sys.argv) > 2 else "runs/tune"
LINK = {"sampler": "leo", "flows": 1, "duration_s": 15.0}


def trial(config: dict) -> dict:
    """Train with one learning rate; return the mean return and the policy's folder."""
    torch.set_num_threads(1)  # more threads slow small networks down, on busy cores manyfold
    env = LeoVecEnv(4, scenario=LINK)
    model = PPO("MlpPolicy", env, n_steps=256, learning_rate=config["learning_rate"], seed=1, device="cpu")
    model.learn(STEPS)
    returned, _ = evaluate_policy(model, LeoVecEnv(1, scenario=LINK), n_eval_episodes=4, warn=False)
    name = f"{config['folder']}/{config['learning_rate']:g}"
    return {"returned": float(returned), "policy": str(save_policy(model, name))}


if __name__ == "__main__":
    from pathlib import Path

    space = {"learning_rate": tune.grid_search([1e-4, 1e-3]), "folder": str(Path(FOLDER).resolve())}
    results = tune.Tuner(trial, param_space=space).fit()
    print(results.get_best_result(metric="returned", mode="max").metrics["policy"])
