"""Train PPO of Stable-Baselines3 on a custom reward over LEO paths: ``docs/tasks/my-reward.md``."""

import argparse
from pathlib import Path

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnvWrapper, VecNormalize
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from leogym.agents.export import save_policy
from leogym.envs.sb3 import LeoVecEnv

PATHS = {"sampler": "leo", "flows": 1, "paths": ["sd-ny-isl", "sd-ny-bp", "ny-ldn-isl"]}
"""Episodes of one flow over these paths, at 40 to 160 Mbit/s, with a buffer of 0.5 to 4 BDP."""


class MyReward(VecEnvWrapper):
    """ln(goodput) - ``weight`` · ln(RTT): capacity and base RTT only shift it."""

    def __init__(self, env: LeoVecEnv, weight: float = 0.5) -> None:
        super().__init__(env)
        self.weight = weight

    def reset(self) -> VecEnvObs:
        """Start new episodes."""
        return self.venv.reset()

    def step_wait(self) -> VecEnvStepReturn:
        """Replace the environment's rewards by mine, one of each simulation."""
        observations, _, dones, infos = self.venv.step_wait()
        goodput_mbps = np.array([info["goodput_mbps"] for info in infos])
        rtt_ms = np.array([info["rtt_ms"] for info in infos])
        rewards = np.log(np.maximum(goodput_mbps, 0.1)) - self.weight * np.log(np.maximum(rtt_ms, 1.0))
        return observations, rewards.astype(np.float32), dones, infos


def train(steps: int, seed: int, folder: Path) -> Path:
    """Train for ``steps`` monitor intervals; write the policy to ``folder`` and return it."""
    torch.set_num_threads(1)  # more threads slow small networks down, on busy cores manyfold
    env = VecNormalize(MyReward(LeoVecEnv(16, scenario=PATHS)), norm_obs=False, gamma=0.97)
    model = PPO(
        "MlpPolicy",
        env,
        learning_rate=1e-3,
        n_steps=256,
        batch_size=1024,
        n_epochs=8,
        gamma=0.97,
        policy_kwargs={"net_arch": [32, 32], "log_std_init": -0.7},
        seed=seed,
        device="cpu",  # the network is too small to gain from a GPU
    )
    model.learn(steps)
    made_by = f"python docs/tasks/beat_cubic.py --steps {steps} --seed {seed}"
    return save_policy(model, folder, provenance={"command": made_by, "steps": steps, "seed": seed})


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/mine"))
    options = parser.parse_args()
    print(train(options.steps, options.seed, options.out))


if __name__ == "__main__":
    main()
