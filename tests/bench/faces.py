"""Cost of the Python interfaces over the native batch: steps of 30 ms at 100 Mbit/s and 50 ms."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import leosim
import numpy as np

from leogym.configs.scenario import Scenario
from leogym.envs.parallel import FlowsParallelEnv
from leogym.envs.sb3 import LeoVecEnv
from tests.bench.envs import STATIC, hold_queue, single, vector
from tests.bench.rollouts import native
from tests.bench.row import Row

MOST = 1.2
AGAINST = "the native batch, taking turns"
THREE = STATIC.model_copy(update={"name": "three", "flows": 3 * STATIC.flows})


def rows() -> Iterator[Row]:
    for name, size, steps, make, scenario in (
        ("vector-16", 16, 1_000, vector, STATIC),
        ("sb3-16", 16, 1_000, _sb3, STATIC),
        ("single-1", 1, 4_000, single, STATIC),
        ("parallel-1", 1, 4_000, _parallel, STATIC),
        ("parallel-1-of-3-flows", 1, 4_000, _parallel, THREE),
        ("rllib-1", 1, 4_000, _rllib, STATIC),
        ("rllib-1-of-3-flows", 1, 4_000, _rllib, THREE),
    ):
        batch = native(size, scenario)

        def step(batch: leosim.Batch = batch) -> None:
            batch.step(hold_queue(batch.observations))

        times = paired(make(size, scenario), step, steps)
        yield Row(f"faces.{name}", times, "CPU time of a step", 1.0, AGAINST, MOST, at_most=True)


def paired(step: Callable[[], None], native: Callable[[], None], steps: int, rounds: int = 7) -> float:
    """Return the median ratio of the CPU times of ``step`` and ``native``, measured in turns."""
    for _ in range(300):  # fill the link
        step()
        native()
    ratios = []
    for _ in range(rounds):
        spent = []
        for call in (step, native):
            begin = time.process_time()
            for _ in range(steps // rounds):
                call()
            spent.append(time.process_time() - begin)
        ratios.append(spent[0] / spent[1])
    return float(np.median(ratios))


def _sb3(size: int, scenario: Scenario) -> Callable[[], None]:
    env = LeoVecEnv(size, scenario)
    env.seed(1)
    latest: list[Any] = [env.reset()]

    def step() -> None:
        env.step_async(hold_queue(latest[0]))
        latest[0], *_ = env.step_wait()

    return step


def _parallel(size: int, scenario: Scenario) -> Callable[[], None]:
    assert size == 1
    return _flows(FlowsParallelEnv(scenario))


def _rllib(size: int, scenario: Scenario) -> Callable[[], None]:
    from leogym.envs.rllib import MultiFlowEnv  # imported here: RLlib takes seconds to import

    assert size == 1
    return _flows(MultiFlowEnv({"scenario": scenario}))


def _flows(env: Any) -> Callable[[], None]:
    names = env.possible_agents
    latest = [env.reset(seed=1)[0]["flow_0"]]

    def step() -> None:
        # One action for all flows: gathering observations from a dictionary is not the interface's cost.
        observations, *_ = env.step(dict.fromkeys(names, hold_queue(latest[0])))
        latest[0] = observations["flow_0"]

    return step
