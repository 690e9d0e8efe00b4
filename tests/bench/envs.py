"""Speed of the environments on one core with Python in the loop: 30 ms intervals, 100 Mbit/s, 50 ms.

The baseline is the bare simulator on the same link.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

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
    return ((1.2 - observations[..., -9:-8]) * 5).clip(-1, 1)


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


def vector(size: int, scenario: Scenario = STATIC) -> Callable[[], None]:
    """Return a step of the native vector environment."""
    return _steps(gymnasium.make_vec("leo/Flow-v0", num_envs=size, scenario=scenario))


def single(size: int = 1, scenario: Scenario = STATIC) -> Callable[[], None]:
    """Return a step of a single environment."""
    assert size == 1
    return _steps(gymnasium.make("leo/Flow-v0", scenario=scenario))


def _steps(env: Any) -> Callable[[], None]:
    latest = [env.reset(seed=1)[0]]

    def step() -> None:
        latest[0], *_ = env.step(hold_queue(latest[0]))

    return step


def rows() -> Iterator[Row]:
    """Yield env steps/s per core of the native vector environment and of a single one."""
    for name, size, step in ((f"vector-{SIZE}", SIZE, vector(SIZE)), ("single", 1, single())):
        speed = size * STEPS / fastest(step, STEPS)
        yield Row(f"envs.{name}", speed, "env steps/CPU s", bare(), AGAINST, MUST_HOLD[name])
