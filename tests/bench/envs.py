"""Speed of the environments on one core with Python in the loop: 30 ms intervals, 100 Mbit/s, 50 ms.

The baseline is the bare simulator on the same link.
"""

import time
from collections.abc import Callable, Iterator

import gymnasium
import numpy as np

from leogym.configs.scenario import Flow, Link, Scenario
from tests.bench import simulator
from tests.bench.row import Row

SIZE = 16
STEPS = 1_000
REPEATS = 3
INTERVAL_S = 0.03
MUST_HOLD = {"vector-16": 0.5, "single": 0.25}
AGAINST = "intervals of the bare simulator with a Cubic flow"

STATIC = Scenario(
    name="static",
    duration_s=600.0,
    links={"bottleneck": Link(rate_mbps=100.0, delay_ms=25.0)},
    flows=[Flow(scheme="agent", route=["bottleneck"])],
)


def hold_queue(observations: np.ndarray) -> np.ndarray:
    """Return actions (n, 1) for observations (n, 50) that keep the RTT near 1.2 × the minimum."""
    return np.clip((1.2 - observations[..., -9:-8]) * 5, -1, 1).astype(np.float32)


def fastest(step: Callable[[], None], steps: int) -> float:
    """Return the least CPU time of ``steps`` calls in s, over all cores; fills the link first."""
    for _ in range(300):
        step()
    best = float("inf")
    for _ in range(REPEATS):
        begin = time.process_time()
        for _ in range(steps):
            step()
        best = min(best, time.process_time() - begin)
    return best


def bare() -> float:
    """Return the bare simulator's intervals per CPU second on the same link with a Cubic flow."""
    (speed,) = simulator.fastest(simulator.ours(simulator.cell(1)), repeats=REPEATS)
    return speed / (100e6 / 12_000 * INTERVAL_S)


def rows() -> Iterator[Row]:
    """Yield env steps/s per core of the native vector environment and of a single one."""
    vector = gymnasium.make_vec("leo/Flow-v0", num_envs=SIZE, scenario=STATIC)
    observations, _ = vector.reset(seed=1)

    def step_vector() -> None:
        nonlocal observations
        observations, *_ = vector.step(hold_queue(observations))

    speed = SIZE * STEPS / fastest(step_vector, STEPS)
    name = f"vector-{SIZE}"
    yield Row(f"envs.{name}", speed, "env steps/CPU s", bare(), AGAINST, MUST_HOLD[name])
    vector.close()

    single = gymnasium.make("leo/Flow-v0", scenario=STATIC)
    observation, _ = single.reset(seed=1)

    def step_single() -> None:
        nonlocal observation
        observation, *_ = single.step(hold_queue(observation))

    speed = STEPS / fastest(step_single, STEPS)
    yield Row("envs.single", speed, "env steps/CPU s", bare(), AGAINST, MUST_HOLD["single"])
    single.close()
