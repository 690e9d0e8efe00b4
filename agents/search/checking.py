"""Checks of a candidate: it must be finite, bounded and cheap on observations from all over their range."""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.agents.search.grammar import Program

ROWS = 512
STEPS = 40
LARGEST_MEMORY = 1e6
"""The largest value that a memory may have after `STEPS` decisions."""


def fault(program: Program, files: Mapping[str, bytes]) -> str | None:
    """Return a candidate's fault in one line, or None.

    Every action must be a finite number, and every memory must stay bounded, for observations that are drawn
    from all over their bounds, and for their corners.
    """
    policy, observations = loaded(files), probes(program)
    memories = np.zeros((len(observations), policy.memory_dim), np.float32)
    rng = np.random.default_rng(1)
    for _ in range(STEPS):
        actions = policy.act(observations, memories)
        if not np.isfinite(actions).all():
            return "an action is not finite"
        if (
            not np.isfinite(memories).all()
            or np.abs(memories, dtype=np.float64).max(initial=0) > LARGEST_MEMORY
        ):
            return "a memory grows without bound"
        rng.shuffle(observations)
    return None


def probes(program: Program) -> NDArray[np.float32]:
    """Return observations (n, dim): drawn between small bounds, between the true ones, zeros, and corners."""
    low, high = leosim.Batch(1, agent=program.agent, interval_ms=program.interval_ms).observation_bounds
    rng = np.random.default_rng(0)
    usual = rng.uniform(np.maximum(low, -2.0), np.minimum(high, 2.0), (ROWS, len(low)))
    whole = rng.uniform(low.astype(np.float64), high.astype(np.float64), (ROWS, len(low)))
    corners = np.where(rng.random((ROWS // 4, len(low))) < 0.5, low, high)
    return np.concatenate([usual, whole, corners, [np.zeros(len(low)), low, high]]).astype(np.float32)


def decision_us(program: Program, files: Mapping[str, bytes]) -> float:
    """Return the CPU time of a decision in µs, the best of five tries."""
    policy, observations = loaded(files), probes(program)
    memories = np.zeros((len(observations), policy.memory_dim), np.float32)
    tries = []
    for _ in range(5):
        begun = time.thread_time()
        policy.act(observations, memories)
        tries.append(time.thread_time() - begun)
    return 1e6 * min(tries) / len(observations)


def loaded(files: Mapping[str, bytes]) -> leosim.Policy:
    """Return the policy of ``policy.onnx`` and ``policy.json``."""
    with tempfile.TemporaryDirectory(prefix="leogym-search-") as folder:
        for name, data in files.items():
            (Path(folder) / name).write_bytes(data)
        return leosim.Policy.load(folder)
