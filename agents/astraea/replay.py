"""The replay buffer, and its incremental copy on disk."""

import io
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from leogym.common import digests
from leogym.common.atomic import write_atomically
from leogym.common.errors import InputError


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
        self._saved = 0  # of them, those in chunks of scheduled saves
        self._digests: dict[str, str] = {}  # of chunks by name

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

    def save(self, folder: Path, *, scheduled: bool = True) -> dict[str, Any]:
        """Write the transitions since the last scheduled save to a chunk; return the state for `load`.

        The next save after one that is not ``scheduled`` writes its transitions again, so that it divides
        them as if the other had never been.
        """
        folder.mkdir(exist_ok=True)
        first = max(self._saved, self.added - len(self._rows))
        if first < self.added:
            path = folder / f"{first:012d}-{self.added:012d}.npy"
            data = io.BytesIO()
            np.save(data, self._rows[np.arange(first, self.added) % len(self._rows)])
            write_atomically(path, data.getvalue())
            self._digests[path.name] = digests.sha256_of(data.getvalue())
        if scheduled:
            self._saved = self.added
        return {"added": self.added, "saved": self._saved, "random": self._random.bit_generator.state}

    def chunks(self, folder: Path) -> dict[str, str]:
        """Return the digests of the chunks in ``folder`` that the last save needs, by name."""
        first = max(0, self.added - len(self._rows))
        needed: dict[str, str] = {}
        reached = first
        for start, stop, path in _chunks(folder):
            if start <= reached < stop <= self.added and path.name in self._digests:
                needed[path.name] = self._digests[path.name]
                reached = stop
        return needed

    def load(self, folder: Path, state: dict[str, Any]) -> None:
        """Continue from what `save` wrote and returned, and remove later chunks."""
        self.added = state["added"]
        self._saved = state.get("saved", self.added)
        self._random.bit_generator.state = state["random"]
        first = reached = max(0, self.added - len(self._rows))
        for start, stop, path in _chunks(folder):
            if start >= self.added:
                path.unlink()
            elif start <= reached < stop <= self.added:
                rows, self._digests[path.name] = _read(path, (stop - start, self._rows.shape[1]))
                keep = np.arange(max(start, first), stop)
                self._rows[keep % len(self._rows)] = rows[keep - start]
                reached = stop
        if reached != self.added:
            raise InputError(f"{folder}: transitions {reached} to {self.added} are missing")


def _read(path: Path, shape: tuple[int, int]) -> tuple[NDArray[np.float32], str]:
    """Return a chunk's rows and digest."""
    try:
        data = path.read_bytes()
        rows = np.load(io.BytesIO(data), allow_pickle=False)
        if rows.shape != shape or rows.dtype != np.float32:
            raise ValueError(f"must have {shape[0]} rows of {shape[1]} numbers")
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    return rows, digests.sha256_of(data)


def _chunks(folder: Path) -> list[tuple[int, int, Path]]:
    """Return first transition, one past the last, and path of every chunk, the longest of a start first."""
    chunks = []
    for path in folder.glob("*.npy"):
        if match := re.fullmatch(r"(\d{12})-(\d{12})", path.stem):  # other files are not ours
            chunks.append((int(match[1]), int(match[2]), path))
    return sorted(chunks, key=lambda chunk: (chunk[0], -chunk[1]))
