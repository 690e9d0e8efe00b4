"""The replay buffer, and its incremental copy on disk."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from leogym.configs.atomic import sync_file
from leogym.configs.errors import InputError


class Transitions(NamedTuple):
    """Transitions of single flows, n rows each. None is terminal: episodes are truncated."""

    state: Tensor  # (n, observation_dim + global_dim), the flow's own observation first
    action: Tensor  # (n, action_dim)
    reward: Tensor  # (n,)
    next_state: Tensor  # (n, observation_dim + global_dim)


class ReplayBuffer:
    """A ring of ``capacity`` transitions, one row of float32 each: state, next state, action, reward."""

    def __init__(self, capacity: int, state_dim: int, action_dim: int, seed: int) -> None:
        self._state_dim, self._action_dim = state_dim, action_dim
        # The operating system allocates the memory as rows are written.
        self._rows = np.empty((capacity, 2 * state_dim + action_dim + 1), dtype=np.float32)
        self._random = np.random.default_rng([seed, 3])
        self.added = 0  # transitions added since the start of the run
        self._saved = 0

    def __len__(self) -> int:
        return min(self.added, len(self._rows))

    def add(
        self,
        state: NDArray[np.float32],
        action: NDArray[np.float32],
        reward: NDArray[np.float32],
        next_state: NDArray[np.float32],
    ) -> None:
        """Append n transitions: (n, state_dim), (n, action_dim), (n,), (n, state_dim)."""
        capacity = len(self._rows)
        at = (self.added + np.arange(len(state))) % capacity
        self._rows[at] = np.concatenate([state, next_state, action, reward[:, None]], axis=1)
        self.added += len(state)

    def sample(self, count: int) -> Transitions:
        """Draw ``count`` transitions uniformly, with replacement."""
        drawn = self._random.integers(len(self), size=count)
        # torch's memory is aligned, so matrix products use the same kernels in every run.
        rows = torch.empty(count, self._rows.shape[1])
        np.take(self._rows, drawn, axis=0, out=rows.numpy(), mode="clip")
        dim = self._state_dim
        return Transitions(
            state=rows[:, :dim],
            next_state=rows[:, dim : 2 * dim],
            action=rows[:, 2 * dim : 2 * dim + self._action_dim],
            reward=rows[:, -1],
        )

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the transitions since the last save to a chunk in ``folder``; return the state for `load`."""
        folder.mkdir(exist_ok=True)
        first = max(self._saved, self.added - len(self._rows))
        if first < self.added:
            path = folder / f"{first:012d}-{self.added:012d}.npy"
            temporary = path.with_suffix(".tmp")
            with temporary.open("wb") as file:
                np.save(file, self._rows[np.arange(first, self.added) % len(self._rows)])
            sync_file(temporary)
            os.replace(temporary, path)
        self._saved = self.added
        return {"added": self.added, "random": self._random.bit_generator.state}

    def load(self, folder: Path, state: dict[str, Any]) -> None:
        """Continue from what `save` wrote and returned, and remove later chunks."""
        self.added = self._saved = state["added"]
        self._random.bit_generator.state = state["random"]
        for unfinished in folder.glob("*.tmp"):
            unfinished.unlink()
        first = reached = max(0, self.added - len(self._rows))
        for start, stop, path in _chunks(folder):
            if start >= self.added:
                path.unlink()
            elif stop > first:
                if start > reached or stop > self.added:
                    break
                try:
                    rows = np.load(path)
                except (OSError, ValueError) as error:
                    raise InputError(f"{path}: cannot be read: {error}") from None
                keep = np.arange(max(start, first), stop)
                self._rows[keep % len(self._rows)] = rows[keep - start]
                reached = stop
        if reached != self.added:
            raise InputError(f"{folder}: transitions {reached} to {self.added} are missing")

    @staticmethod
    def prune(folder: Path, oldest_added: int, capacity: int) -> None:
        """Remove chunks that no checkpoint with at least ``oldest_added`` transitions needs."""
        for _, stop, path in _chunks(folder):
            if stop <= oldest_added - capacity:
                path.unlink(missing_ok=True)


def _chunks(folder: Path) -> list[tuple[int, int, Path]]:
    """Return first transition, one past the last, and path of every chunk, in order."""
    found = []
    for path in sorted(folder.glob("*.npy")):
        start, _, stop = path.stem.partition("-")
        found.append((int(start), int(stop), path))
    return found
