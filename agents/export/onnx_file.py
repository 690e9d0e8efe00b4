"""An actor as an ONNX file, and how far its actions are from the actor's."""

import io
import warnings
from typing import Any

import leosim
import numpy as np
import torch

from leogym.agents.export.network import Actor

OPSET = 17
STEPS = 3
"""Steps in a row that are compared, because a recurrent policy's later ones depend on its memory."""


def write(actor: Actor, observation_dim: int) -> bytes:
    """Return ``actor`` as an ONNX model: ``observation`` and states in, ``action`` and next states out."""
    names = ["observation", *actor.states]
    arguments = (torch.zeros(1, observation_dim), *(torch.zeros(shape) for shape in actor.states.values()))
    outputs = ["action", *(f"next_{name}" for name in actor.states)]
    ranks = {"action": 2, "observation": 2}
    ranks |= {name: len(shape) for name, shape in actor.states.items()}
    free = {name: {ranks[name.removeprefix("next_")] - 2: "batch"} for name in [*names, *outputs]}
    file: Any = io.BytesIO()
    with warnings.catch_warnings():
        # Tracing takes modules that torch.export refuses, such as cells with a free batch.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            actor,
            arguments,
            file,
            dynamo=False,
            opset_version=OPSET,
            input_names=names,
            output_names=outputs,
            dynamic_axes=free,
        )
    return file.getvalue()


def difference(policy: leosim.Policy, actor: Actor, observation_dim: int, rows: int = 64) -> float:
    """Return the largest difference of the actions of both over ``rows`` random observations."""
    random = np.random.default_rng(0)
    memories = np.zeros((rows, policy.memory_dim), np.float32)
    states = [[torch.zeros(shape) for shape in actor.states.values()] for _ in range(rows)]
    largest = 0.0
    for _ in range(STEPS):
        observations = random.uniform(0.0, 2.0, (rows, observation_dim)).astype(np.float32)
        actions = policy.act(observations, memories)
        for row in range(rows):
            with torch.no_grad():
                action, *states[row] = actor(torch.as_tensor(observations[row : row + 1]), *states[row])
            largest = max(largest, float(np.abs(action.numpy()[0] - actions[row]).max(initial=0.0)))
            if np.isnan(action.numpy()).any() or np.isnan(actions[row]).any():
                return float("nan")
    return largest
