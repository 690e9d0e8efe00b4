"""How fast policies are rolled out, and what Python's faces cost beside the native batch they wrap.

30 ms intervals of 100 Mbit/s and 50 ms, the actor as large as Astraea's: three hidden layers.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import leosim
import numpy as np
import torch

from agents.engines.actor import export, layers
from agents.run_folder import RunFolder
from agents.settings import TrainSettings
from configs.scenario import Scenario
from envs.parallel import FlowsParallelEnv
from envs.sb3 import LeoVecEnv
from tests.bench.environments import STATIC, fastest, hold_queue
from tests.bench.row import Row

SIZE = 64
STEPS = 300
HIDDEN = [256, 128, 64]
CORES = 2
MUST_HOLD = 10_000.0 / CORES
MOST_OVERHEAD = 0.2


THREE = STATIC.model_copy(update={"name": "three", "flows": 3 * STATIC.flows})
"""`STATIC` with three learning flows."""


def native(size: int, scenario: Scenario = STATIC) -> leosim.Batch:
    """Return a batch of ``scenario``, begun."""
    batch = leosim.Batch(size, slots=len(scenario.flows), agent="astraea", threads=1)
    for index in range(size):
        batch.reset(index, scenario.model_copy(update={"seed": index}).to_json(), {})
    return batch


def rows() -> Iterator[Row]:
    """Yield env steps/s and core with a policy in the loop, and the faces' overheads."""
    torch.set_num_threads(1)
    yield from _policies()
    yield from faces()


def _policies() -> Iterator[Row]:
    actor = layers(50, HIDDEN, 1)
    with tempfile.TemporaryDirectory(prefix="leogym-bench-") as folder:
        run = RunFolder.create(Path(folder) / "run", "", {})
        dense = [layer for layer in actor if isinstance(layer, torch.nn.Linear)]
        policy = leosim.Policy.load(str(export(dense, TrainSettings(agent="astraea"), run, 0)))

    def by_torch(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return torch.tanh(actor(torch.from_numpy(observations))).numpy()

    for name, act in (("native", policy.act), ("torch", by_torch)):
        batch = native(SIZE)

        def step(batch: leosim.Batch = batch, act: Callable[[np.ndarray], np.ndarray] = act) -> None:
            # The network's work is done; the link is kept full by actions that do.
            act(batch.observations[:, 0])
            batch.step(hold_queue(batch.observations))

        speed = SIZE * STEPS / fastest(step, STEPS)
        yield Row(f"rollouts.{name}-{SIZE}", speed, "env steps/s and core", MUST_HOLD, "must hold")


def faces() -> Iterator[Row]:
    """Yield what each face adds to the CPU time of the native batch."""
    for name, size, steps, make, scenario in (
        ("vector-16", 16, 1_000, _vector, STATIC),
        ("sb3-16", 16, 1_000, _sb3, STATIC),
        ("single-1", 1, 4_000, _single, STATIC),
        ("parallel-1", 1, 4_000, _parallel, STATIC),
        ("parallel-1-of-3-flows", 1, 4_000, _parallel, THREE),
        ("rllib-1", 1, 4_000, _rllib, STATIC),
        ("rllib-1-of-3-flows", 1, 4_000, _rllib, THREE),
    ):
        batch = native(size, scenario)

        def step(batch: leosim.Batch = batch) -> None:
            batch.step(hold_queue(batch.observations))

        overhead = paired(make(size, scenario), step, steps) - 1
        yield Row(f"faces.{name}", overhead, "over the native batch", MOST_OVERHEAD, "must hold")


def paired(step: Callable[[], None], native: Callable[[], None], steps: int, rounds: int = 7) -> float:
    """Return the median ratio of the CPU time of ``step`` to that of ``native``, measured by turns."""
    for _ in range(300):  # the link is filled first
        step()
        native()
    ratios = []
    for _ in range(rounds):
        spent = []
        for one in (step, native):
            begin = time.process_time()
            for _ in range(steps // rounds):
                one()
            spent.append(time.process_time() - begin)
        ratios.append(spent[0] / spent[1])
    return float(np.median(ratios))


def _vector(size: int, scenario: Scenario) -> Callable[[], None]:
    env = gymnasium.make_vec("envs:leo/Flow-v0", num_envs=size, scenario=scenario)
    seen = [env.reset(seed=1)[0]]

    def step() -> None:
        seen[0], *_ = env.step(hold_queue(seen[0]))

    return step


def _sb3(size: int, scenario: Scenario) -> Callable[[], None]:
    env = LeoVecEnv(size, scenario)
    env.seed(1)
    seen: list[Any] = [env.reset()]

    def step() -> None:
        env.step_async(hold_queue(seen[0]))
        seen[0], *_ = env.step_wait()

    return step


def _single(size: int, scenario: Scenario) -> Callable[[], None]:
    assert size == 1
    env = gymnasium.make("envs:leo/Flow-v0", scenario=scenario)
    seen = [env.reset(seed=1)[0]]

    def step() -> None:
        seen[0], *_ = env.step(hold_queue(seen[0]))

    return step


def _parallel(size: int, scenario: Scenario) -> Callable[[], None]:
    assert size == 1
    return _flows(FlowsParallelEnv(scenario))


def _rllib(size: int, scenario: Scenario) -> Callable[[], None]:
    from envs.rllib import MultiFlowEnv  # here, because importing RLlib takes seconds

    assert size == 1
    return _flows(MultiFlowEnv({"scenario": scenario}))


def _flows(env: Any) -> Callable[[], None]:
    names = env.possible_agents
    seen = [env.reset(seed=1)[0]["flow_0"]]

    def step() -> None:
        # One action for all flows: to gather observations from a dictionary is not the face's work.
        observations, *_ = env.step(dict.fromkeys(names, hold_queue(seen[0])))
        seen[0] = observations["flow_0"]

    return step
