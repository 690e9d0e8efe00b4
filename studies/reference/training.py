"""Train one cell with checkpoints, and evaluate its policy along the way."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from leogym.common.atomic import write_atomically
from studies.reference import learners
from studies.reference.cells import Cell
from studies.reference.learners.tasks import EPISODES, held_out_returns, task

CURVE, STATE = "curve.json", "state"


def train(cell: Cell, steps: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Train ``cell`` to ``steps``, from its last checkpoint if ``folder`` has one; yield each new row.

    A row has the point of the curve, the steps at the end of that rollout, the seconds of training so far,
    and the returns of the held-out episodes.
    """
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    of, settings = task(cell.id), cell.hyperparameters()
    curve = rows(cell, folder)
    open_points = [point for point in cell.points[len(curve) :] if point <= steps]
    if not open_points:
        return
    state = folder / STATE
    if curve and state.exists():
        learner = learners.load(cell.algorithm, of, settings, cell.seed, state)
    else:
        curve = []
        open_points = [point for point in cell.points if point <= steps]
        learner = learners.make(cell.algorithm, of, settings, cell.seed)
    cpu_s, wall_s = (curve[-1]["cpu_s"], curve[-1]["wall_s"]) if curve else (0.0, 0.0)
    for point in open_points:
        cpu, wall = time.process_time(), time.monotonic()
        learner.learn_until(point)
        cpu_s += time.process_time() - cpu
        wall_s += time.monotonic() - wall
        returns = held_out_returns(of, learner.policy(EPISODES * of.flows))
        # The state comes first: a run that is killed in between evaluates the same policy again.
        learner.save(state)
        row = {
            "point": point,
            "steps": learner.steps,
            "cpu_s": round(cpu_s, 2),
            "wall_s": round(wall_s, 2),
            "returns": [round(float(value), 4) for value in returns],
        }
        curve.append(row)
        text = json.dumps({"digest": cell.digest(), "rows": curve})
        write_atomically(folder / CURVE, text.encode())
        yield row


def rows(cell: Cell, folder: Path) -> list[dict[str, Any]]:
    """Return the rows so far in ``folder``; none of other hyperparameters or another environment."""
    file = folder / CURVE
    if not file.is_file():
        return []
    data = json.loads(file.read_text(encoding="utf-8"))
    return data["rows"] if data["digest"] == cell.digest() else []
