"""References that need no training here: random actions, Cubic and the shipped Orbit."""

import hashlib
from dataclasses import replace
from pathlib import Path

import leosim
import numpy as np
import polars as pl

from leogym.agents.returns import FIRST_SEED
from leogym.agents.training import registry
from leogym.registration import INTERVAL_S
from studies.reference.learners.tasks import EPISODES, Policy, Task, held_out_returns
from studies.reference.records import SCHEMA


def random_actions(of: Task) -> tuple[Task, Policy]:
    """Return uniform actions."""
    rng = np.random.default_rng(FIRST_SEED)
    if of.actions is not None:
        return of, lambda rows, begins: rng.integers(of.actions, size=len(rows))  # pyright: ignore
    return of, lambda rows, begins: rng.uniform(-1.0, 1.0, (len(rows), 1))


def cubic(of: Task) -> tuple[Task, Policy]:
    """Return Cubic: the action ``cubic_ratio`` scales its window by 4^a, and a is 0."""
    arguments = {**of.arguments, "agent": "astraea+cubic_ratio"}
    return replace(of, arguments=arguments, actions=None), lambda rows, begins: np.zeros((len(rows), 1))


def _orbit() -> Path:
    return registry.shipped()["orbit"] / "policy"


def _orbit_digest() -> str:
    """Return a digest of the shipped policy, which later versions replace."""
    return hashlib.sha256((_orbit() / "policy.onnx").read_bytes()).hexdigest()[:12]


def orbit(of: Task) -> tuple[Task, Policy]:
    """Return the shipped policy of Orbit."""
    policy = leosim.Policy.load(str(_orbit()))
    arguments = {**of.arguments, "agent": policy.spec, "interval_ms": policy.interval_ms}
    return replace(of, arguments=arguments, actions=None), lambda rows, begins: policy.act(rows)


ANCHORS = {"random": random_actions, "cubic": cubic, "orbit": orbit}


def measure(of: Task) -> pl.DataFrame:
    """Return a row for each anchor in the environment ``of``."""
    rows = []
    for name, make in ANCHORS.items():
        task, policy = make(of)
        # A shorter interval has more steps, each with a reward: count the id's own number of steps.
        share = task.arguments.get("interval_ms", INTERVAL_S * 1e3) / (INTERVAL_S * 1e3)
        returns = held_out_returns(task, policy, EPISODES) * share
        rows.append(
            {
                **{"algorithm": name, "id": of.id, "seed": 0, "point": 0, "steps": 0},
                "return_mean": float(returns.mean()),
                "return_min": float(returns.min()),
                "return_max": float(returns.max()),
                **{"cpu_s": 0.0, "wall_s": 0.0, "digest": _orbit_digest() if name == "orbit" else ""},
            }
        )
    return pl.DataFrame(rows, schema=SCHEMA)
