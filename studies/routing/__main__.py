"""Train PPO on ``leo/Routing-v0``, and compare it with fixed rules on the same episodes."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import leogym  # noqa: F401 (registers the environments)
from leogym.envs.routing import FEATURES
from leogym.registration import ROUTING_ID

EPISODES = 8
FIRST_SEED = 1_000_000
"""Seeds of the episodes that compare; training has lower ones."""

Policy = Callable[[NDArray[np.float32]], NDArray[np.int64]]


def fixed_rules(env: gymnasium.Env[Any, Any]) -> dict[str, Policy]:
    """Return the rules: shortest paths, spread and random ones, and each flow's largest equal share."""
    choices = env.action_space.nvec  # type: ignore[attr-defined]
    rng = np.random.default_rng(1)

    def largest_share(observation: NDArray[np.float32]) -> NDArray[np.int64]:
        features = observation.reshape(len(choices), choices[0], FEATURES)
        # A flow stays where it is unless another path gives it more.
        return np.argmax(features[:, :, 3] + 1e-3 * features[:, :, 0], axis=1)

    return {
        "shortest path": lambda _: np.zeros(len(choices), np.int64),
        "path i mod 3 of flow i": lambda _: np.arange(len(choices)) % choices[0],
        "random path each second": lambda _: rng.integers(choices),
        "largest share": largest_share,
    }


def mean_rewards(env: gymnasium.Env[Any, Any], policy: Policy, episodes: int) -> list[float]:
    """Return the mean reward of each episode."""
    means = []
    for episode in range(episodes):
        observation, _ = env.reset(seed=FIRST_SEED + episode)
        rewards, over = [], False
        while not over:
            observation, reward, _, over, _ = env.step(policy(observation))
            rewards.append(float(reward))
        means.append(float(np.mean(rewards)))
    return means


def train(steps: int, seed: int) -> Policy:
    """Train PPO and return its most likely actions."""
    import torch
    from stable_baselines3 import PPO

    torch.set_num_threads(1)
    env = gymnasium.make(ROUTING_ID)
    model = PPO(
        "MlpPolicy",
        env,
        learning_rate=1e-3,
        n_steps=256,
        batch_size=64,
        gamma=0.5,
        ent_coef=0.002,
        seed=seed,
        device="cpu",
    )
    model.learn(steps)
    return lambda observation: model.predict(observation, deterministic=True)[0]


def main() -> int:
    """Train and compare."""
    parser = argparse.ArgumentParser(prog="python -m studies.routing", description=__doc__)
    parser.add_argument("--steps", type=int, default=4_000, help="training steps; 0: only the rules")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--episodes", type=int, default=EPISODES)
    options = parser.parse_args()
    env = gymnasium.make(ROUTING_ID)
    policies = fixed_rules(env)
    if options.steps:
        policies["PPO"] = train(options.steps, options.seed)
    shortest: NDArray[np.float64] | None = None
    for name, policy in policies.items():
        rewards = np.array(mean_rewards(env, policy, options.episodes))
        shortest = rewards if shortest is None else shortest
        gains = rewards - shortest
        error = gains.std(ddof=1) / np.sqrt(len(gains))
        print(f"{name}: {rewards.mean():.3f}, {gains.mean():+.3f} ± {1.96 * error:.3f} over shortest paths")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
