"""Check that the engines learn the same specification equally well: ``leogym agents bench-engines``.

PPO of Stable-Baselines3, PPO of RLlib and the native TD3 learn Astraea's observation, action and reward on
one flow over a small static link. All policies are evaluated on the same held-out scenarios.
"""

import contextlib
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import leosim
import torch

from leogym.agents.training import registry
from leogym.agents.training.rollout import evaluate_policy
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import build
from leogym.results.intervals import Interval, interval

EPISODES = 16
SCENARIOS = {
    "sampler": "astraea", "flows": 1, "rate_mbps": [10, 30], "base_rtt_ms": [20, 60], "queue_bdp": [1, 4],
    "duration_s": 12,
}  # fmt: skip
PPO = {"rollout_steps": 128, "minibatch_size": 256, "epochs": 10, "learning_rate": 1e-3}
TD3 = {
    "hidden": [64, 64], "actor_learning_rate": 1e-4, "train_every": 1, "updates_per_training": 1,
    "policy_delay": 2, "batch_size": 96, "exploration_intervals": 4_000, "exploration_hold": 8,
    "policy_average": 0.999, "action_penalty": 5e-4,
}  # fmt: skip
ENGINES: dict[str, tuple[str, dict[str, Any]]] = {
    "sb3": ("ppo", PPO),
    "rllib": ("ppo", PPO),
    "native": ("astraea", TD3),
}
TOLERANCE = 0.1
"""Share of the best reward that an engine may fall short by, even if confidence intervals are disjoint."""


def earned(engine: str, seed: int, steps: int) -> float:
    """Train with ``engine``; return the reward per flow and interval on held-out scenarios."""
    agent, own = ENGINES[engine]
    scheme = registry.get(agent)
    common = {"agent": agent, "engine": engine, "seed": seed, "steps": steps, "scenarios": SCENARIOS}
    settings = build(scheme.settings, "bench", {**common, "track": "none", **own})
    with tempfile.TemporaryDirectory(prefix="leogym-bench-") as folder:
        run = RunFolder.create(Path(folder) / "run", settings.to_yaml(), {})
        with contextlib.redirect_stdout(sys.stderr):  # stdout is for the benchmark's lines
            scheme.trainer(engine)(settings, run)
        return evaluate_policy(leosim.Policy.load(str(run.policy)), settings, EPISODES)["reward"]


def spread(mean: Interval) -> dict[str, Any]:
    """Return the number of seeds and the confidence interval, None for one seed."""
    if mean.n == 1:
        return {"n": 1, "ci": None}
    return {"n": mean.n, "ci": [round(mean.low, 5), round(mean.high, 5)]}


def compare(seeds: int, steps: int, engines: Sequence[str]) -> int:
    """Print a line for each engine; return 1 if one does not agree with the best."""
    torch.set_num_threads(1)
    rates = {}
    for engine in engines:
        rewards = [earned(engine, seed, steps) for seed in range(1, seeds + 1)]
        rates[engine] = (interval(rewards, seed=0), rewards)
    best, _ = max(rates.values(), key=lambda pair: pair[0].mean)
    agree = True
    for engine, (mean, rewards) in rates.items():
        # With one seed the interval is NaN, and the tolerance alone decides.
        near = mean.high >= best.low or best.mean - mean.mean <= TOLERANCE * abs(best.mean)
        agree &= near
        line = {
            "bench": f"engines-agree-{engine}",
            "value": round(mean.mean, 5),
            "unit": "reward per flow and interval, held-out scenarios",
            "baseline": round(best.mean, 5),
            "ratio": round(mean.mean / best.mean, 3) if best.mean > 0 else None,
            **spread(mean),
            "seeds": [round(reward, 5) for reward in rewards],
            "agrees": bool(near),
        }
        print(json.dumps(line), flush=True)
    return 0 if agree else 1
