"""Draws training sequences from a pool of any size in bounded memory.

At most ``resident`` runs are in memory. If the pool has more, one of them is replaced after every batch,
in an order that passes through the whole pool before any run comes again. Batches depend on the seed and
on how many were drawn before, and on nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from agents.sage import pool
from agents.sage.pool import Run
from configs.errors import InputError


@dataclass(frozen=True)
class Batch:
    """Sequences: ``observation`` (n, length, 69), ``action`` and ``reward`` (n, length)."""

    observation: NDArray[np.float32]
    action: NDArray[np.float32]
    reward: NDArray[np.float32]


class Sequences:
    """An endless source of batches.

    Args:
        folder: the pool.
        length: intervals in a sequence.
        resident: how many runs are in memory at a time.
        seed: of the order of the runs and of the places in them.

    Raises:
        InputError: the pool cannot be read, or no run in it is long enough.
    """

    def __init__(self, folder: Path, length: int, resident: int, seed: int) -> None:
        self.index = pool.read_index(folder)
        self._length = length
        self._runs: list[tuple[Path, int]] = []
        for number in range(len(self.index["situations"])):
            path = pool.part(folder, number)
            try:
                file = pq.ParquetFile(path)
            except (OSError, ValueError) as error:
                raise InputError(f"{path}: cannot be read: {error}") from None
            groups = range(file.metadata.num_row_groups)
            self._runs += [
                (path, group) for group in groups if file.metadata.row_group(group).num_rows >= length
            ]
        if not self._runs:
            raise InputError(f"{folder}: (pool): no run is {length} intervals long")
        self._rng = np.random.default_rng([seed, 5])
        self._order: list[int] = []
        self._resident = [self._next() for _ in range(min(resident, len(self._runs)))]
        self._loaded = [self._load(run) for run in self._resident]

    @property
    def observation_dim(self) -> int:
        """Return how many signals an observation has."""
        return self._loaded[0]["observation"].shape[1]

    def __len__(self) -> int:
        """Return how many runs the pool has that are long enough."""
        return len(self._runs)

    def draw(self, count: int) -> Batch:
        """Return ``count`` sequences; every resident run is as likely, and every place in it."""
        chosen = self._rng.integers(len(self._resident), size=count)
        parts = []
        for run in (self._loaded[index] for index in chosen):
            first = int(self._rng.integers(len(run["action"]) - self._length + 1))
            parts.append({name: column[first : first + self._length] for name, column in run.items()})
        if len(self._resident) < len(self._runs):
            place = int(self._rng.integers(len(self._resident)))
            self._resident[place] = self._next()
            self._loaded[place] = self._load(self._resident[place])
        return Batch(**{name: np.stack([part[name] for part in parts]) for name in parts[0]})

    def moments(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return mean and standard deviation of each signal over the runs in memory."""
        rows = np.concatenate([run["observation"] for run in self._loaded])
        deviation = rows.std(axis=0, dtype=np.float64)
        # A signal that is the same everywhere says nothing: it is only centred.
        deviation[deviation < 1e-6] = 1.0
        return rows.mean(axis=0, dtype=np.float64).astype(np.float32), deviation.astype(np.float32)

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs."""
        return {
            "rng": self._rng.bit_generator.state,
            "order": list(self._order),
            "resident": list(self._resident),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as after `state`."""
        self._rng.bit_generator.state = state["rng"]
        self._order = list(state["order"])
        self._resident = list(state["resident"])
        self._loaded = [self._load(run) for run in self._resident]

    def _next(self) -> int:
        if not self._order:
            self._order = self._rng.permutation(len(self._runs)).tolist()
        return self._order.pop()

    def _load(self, number: int) -> Run:
        path, group = self._runs[number]
        try:
            table = pq.ParquetFile(path).read_row_group(group)
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read: {error}") from None
        observations = table["observation"].combine_chunks().flatten().to_numpy()
        return {
            "observation": observations.reshape(table.num_rows, -1),
            "action": table["action"].to_numpy(),
            "reward": table["reward"].to_numpy(),
        }
