"""Speed of rollouts relative to the bare simulator.

30 ms intervals of 100 Mbit/s and 50 ms; the actor has Astraea's size, three hidden layers.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import leosim
import numpy as np
import torch

from leogym.agents.engines.actor import export, layers
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.configs.scenario import Scenario
from tests.bench.envs import AGAINST, STATIC, bare, fastest, hold_queue
from tests.bench.row import Row

SIZE = 64
STEPS = 300
HIDDEN = [256, 128, 64]
MUST_HOLD = 0.2


def native(size: int, scenario: Scenario = STATIC) -> leosim.Batch:
    batch = leosim.Batch(size, slots=len(scenario.flows), agent="astraea", threads=1)
    for index in range(size):
        batch.reset(index, scenario.model_copy(update={"seed": index}).to_json(), {})
    return batch


def rows() -> Iterator[Row]:
    """Yield env steps/s per core with a policy in the loop."""
    torch.set_num_threads(1)
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
            # Run the network for its cost only; other actions keep the link full.
            act(batch.observations[:, 0])
            batch.step(hold_queue(batch.observations))

        speed = SIZE * STEPS / fastest(step, STEPS)
        yield Row(f"rollouts.{name}-{SIZE}", speed, "env steps/CPU s", bare(), AGAINST, MUST_HOLD)
