"""Evolution of a program's numbers: its candidates, in units of each number's deviation."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from leogym.agents.search import checking
from leogym.agents.search.grammar import Program, as_yaml
from leogym.agents.search.graph import network
from leogym.agents.training import policy_folder, state_file
from leogym.agents.training.evolution import Evolution, Vector
from leogym.agents.training.run_folder import RunFolder

REJECTED = -1e3
"""Value of a candidate that is not run, below that of any that is."""


def started(program: Program) -> Evolution:
    """Return the first generation's distribution: around the numbers' starts, one deviation wide."""
    return Evolution.around(np.zeros(len(program.numbers)), 1.0)


def drawn(evolution: Evolution, seed: int, count: int) -> Vector:
    """Return the generation's candidates (count, numbers), determined by ``seed`` and the generation."""
    return evolution.candidates(np.random.default_rng([seed, evolution.generation]), count)


def numbers(program: Program, candidate: Vector) -> dict[str, float]:
    """Return a candidate's numbers, within their bounds, as 32-bit floats hold them."""
    return {
        name: float(np.float32(min(max(number.start + number.deviation * step, number.low), number.high)))
        for (name, number), step in zip(program.numbers.items(), candidate.tolist(), strict=True)
    }


def penalty(program: Program, candidate: Vector) -> float:
    """Return how far a candidate is beyond the bounds, where all act alike: it keeps the strategy within."""
    beyond = [
        max(
            0.0,
            number.start + number.deviation * step - number.high,
            number.low - number.start - number.deviation * step,
        )
        / number.deviation
        for number, step in zip(program.numbers.values(), candidate.tolist(), strict=True)
    ]
    return float(np.square(beyond).sum())


def description(program: Program) -> dict[str, Any]:
    """Return the entries of ``policy.json``."""
    return policy_folder.describe(program.agent, *program.dims, program.interval_ms)


def network_of(program: Program, values: Mapping[str, float]) -> bytes:
    """Return the policy's network for the numbers ``values``."""
    return network(program, values, "a program that a search has found")


def export(program: Program, values: dict[str, float], run: RunFolder, steps: int) -> None:
    """Write the policy, and the program with its numbers, from which another search can start."""
    run.provenance["config"] = {"program": program.program, "numbers": values}
    run.write_policy(network_of(program, values), description(program), steps)
    (run.path / "program.yaml").write_text(as_yaml(program, values))


def faults(program: Program, policies: Sequence[Mapping[str, bytes]]) -> list[str | None]:
    """Return the fault of each candidate's policy; None if it may run."""
    return [checking.fault(program, files) for files in policies]


def save(folder: Path, evolution: Evolution, state: dict[str, Any]) -> None:
    """Write a checkpoint."""
    stored = {
        name: item.tolist() if isinstance(item, np.ndarray) else item
        for name, item in asdict(evolution).items()
    }
    (folder / "state.json").write_text(json.dumps({"evolution": stored, **state}))


def load(folder: Path, **keys: type) -> tuple[Evolution, dict[str, Any]]:
    """Return what `save` wrote; raise `InputError` if it is damaged or lacks one of ``keys``, by type."""
    path = folder / "state.json"
    state = state_file.read(path, {"evolution": dict, "steps": int, **keys})
    evolution = state_file.fields(path, "evolution", Evolution, state.pop("evolution"))
    state.setdefault("saved", state["steps"])  # a checkpoint of an earlier version was a scheduled one
    return evolution, state
