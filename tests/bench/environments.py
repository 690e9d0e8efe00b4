"""How fast the environments step on one core with Python in the loop: 30 ms intervals, 100 Mbit/s, 50 ms."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import gymnasium
import numpy as np

from configs.scenario import Flow, Link, Scenario
from tests.bench.row import Row

SIZE = 16
STEPS = 1_000
REPEATS = 3
MUST_HOLD = 8_000.0
PCC_RL = 1_400.0

STATIC = Scenario(
    name="static",
    duration_s=600.0,
    links={"bottleneck": Link(rate_mbps=100.0, delay_ms=25.0)},
    flows=[Flow(scheme="agent", route=["bottleneck"])],
)


def hold_queue(observations: np.ndarray) -> np.ndarray:
    """Return actions that keep the newest RTT near 1.2 × the minimum: (n, 50) to (n, 1)."""
    return np.clip((1.2 - observations[..., -9:-8]) * 5, -1, 1).astype(np.float32)


def fastest(step: Callable[[], None], steps: int) -> float:
    """Return the least CPU time of ``steps`` calls, in s, of all cores together; the link is filled first."""
    for _ in range(300):
        step()
    best = float("inf")
    for _ in range(REPEATS):
        begin = time.process_time()
        for _ in range(steps):
            step()
        best = min(best, time.process_time() - begin)
    return best


def rows() -> Iterator[Row]:
    """Yield env steps/s and core of the native vector environment and of a single one."""
    vector = gymnasium.make_vec("envs:leo/Flow-v0", num_envs=SIZE, scenario=STATIC)
    observations, _ = vector.reset(seed=1)

    def step_vector() -> None:
        nonlocal observations
        observations, *_ = vector.step(hold_queue(observations))

    speed = SIZE * STEPS / fastest(step_vector, STEPS)
    yield Row(f"envs.vector-{SIZE}", speed, "env steps/s", MUST_HOLD, "must hold")
    yield Row(f"envs.vector-{SIZE}", speed, "env steps/s", PCC_RL, "PCC-RL, Aurora's gym")
    vector.close()

    single = gymnasium.make("envs:leo/Flow-v0", scenario=STATIC)
    observation, _ = single.reset(seed=1)

    def step_single() -> None:
        nonlocal observation
        observation, *_ = single.step(hold_queue(observation))

    speed = STEPS / fastest(step_single, STEPS)
    yield Row("envs.single", speed, "env steps/s", PCC_RL, "PCC-RL, Aurora's gym")
    single.close()
