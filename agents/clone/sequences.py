"""Draws training sequences from a pool of any size in bounded memory.

Memory holds ``resident`` runs, plus those that streams are in. If the pool has more, each batch replaces one
of them, in an order that visits the whole pool before it repeats a run. Batches depend only on the seed and
on the number drawn before.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from leogym.agents.clone import pool
from leogym.agents.clone.pool import Run
from leogym.common.errors import InputError


@dataclass(frozen=True)
class Batch:
    """Sequences: ``observation`` (n, length, 69), ``action`` and ``reward`` (n, length).

    Attributes:
        fresh: (n,), whether a sequence does not continue the previous batch's sequence at its index.
    """

    observation: NDArray[np.float32]
    action: NDArray[np.float32]
    reward: NDArray[np.float32]
    fresh: NDArray[np.bool_]


class Sequences:
    """An endless source of batches.

    Args:
        folder: the pool.
        length: of a sequence, in intervals.
        resident: runs in memory at a time.
        seed: determines the order of the runs and the positions in them.
        schemes: use only these schemes' runs; all by default.
        reward_share: use only runs whose mean reward is within 1 - this share of their situation's best.
        lab_runs: how many lab runs to use, in the index's order, besides all of the simulator's.
        streams: whether sequences continue those of the last batch. Streams first start at a random position;
            after a run's end they start another run at its beginning.
        stay: sequences after which a stream moves to another run, half of the time to its beginning and
            otherwise to a random position; by default it stays until the run ends.

    Raises:
        InputError: the pool cannot be read, or no selected run is long enough.
    """

    def __init__(
        self,
        folder: Path,
        length: int,
        resident: int,
        seed: int,
        *,
        schemes: tuple[str, ...] | None = None,
        reward_share: float = 0.0,
        lab_runs: int = 0,
        streams: bool = False,
        stay: int | None = None,
    ) -> None:
        self.index = pool.read_index(folder)
        self._length = length
        self._runs: list[tuple[Path, int]] = []
        for files in pool.files(folder, self.index, lab_runs):
            runs = [run for path in files for run in self._long_enough(path, schemes)]
            self._runs += _best(runs, reward_share)
        if not self._runs:
            raise InputError(f"{folder}: (pool): no run is {length} intervals long")
        self._rng = np.random.default_rng([seed, 5])
        self._order: list[int] = []
        self._resident = [self._next() for _ in range(min(resident, len(self._runs)))]
        self._loaded = [self._load(run) for run in self._resident]
        self._stay = stay
        self._streams: list[tuple[int, int, int]] | None = [] if streams else None
        """For each stream: the run, the position in it, and the sequences drawn from it so far."""
        self._streamed: list[Run] = []

    def _long_enough(self, path: Path, schemes: tuple[str, ...] | None) -> list[tuple[Path, int]]:
        """Return the schemes' runs in a file that are long enough for a sequence."""
        try:
            file = pq.ParquetFile(path)
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read: {error}") from None
        of = (file.schema_arrow.metadata or {}).get(b"schemes", b"").decode().split(",")
        return [
            (path, group)
            for group in range(file.metadata.num_row_groups)
            if file.metadata.row_group(group).num_rows >= self._length
            and (schemes is None or (group < len(of) and of[group] in schemes))
        ]

    @property
    def observation_dim(self) -> int:
        """Signals in an observation."""
        return self._loaded[0]["observation"].shape[1]

    def __len__(self) -> int:
        return len(self._runs)

    def draw(self, count: int) -> Batch:
        """Draw ``count`` sequences, uniformly over the resident runs and the positions in a run."""
        parts: list[Run] = []
        if self._streams is None:
            fresh = np.ones(count, np.bool_)
            for index in self._rng.integers(len(self._resident), size=count):
                run = self._loaded[index]
                parts.append(self._cut(run, int(self._rng.integers(len(run["action"]) - self._length + 1))))
        else:
            fresh = np.array([self._advance(stream) for stream in range(count)])
            for (_, first, _), run in zip(self._streams, self._streamed, strict=True):
                parts.append(self._cut(run, first))
        if len(self._resident) < len(self._runs):
            place = int(self._rng.integers(len(self._resident)))
            self._resident[place] = self._next()
            self._loaded[place] = self._load(self._resident[place])
        return Batch(**{name: np.stack([part[name] for part in parts]) for name in parts[0]}, fresh=fresh)

    def _cut(self, run: Run, first: int) -> Run:
        return {name: column[first : first + self._length] for name, column in run.items()}

    def _advance(self, stream: int) -> bool:
        """Move a stream to its next sequence; return whether that starts another run."""
        assert self._streams is not None
        begins_anywhere = stream >= len(self._streams)
        if not begins_anywhere:
            number, first, had = self._streams[stream]
            first += self._length
            ends = first + self._length > len(self._streamed[stream]["action"])
            if not ends and (self._stay is None or had < self._stay):
                self._streams[stream] = number, first, had + 1
                return False
            begins_anywhere = self._stay is not None and bool(self._rng.random() < 0.5)
        index = int(self._rng.integers(len(self._resident)))
        run, number = self._loaded[index], self._resident[index]
        last = len(run["action"]) - self._length
        first = int(self._rng.integers(last + 1)) if begins_anywhere else 0
        if stream < len(self._streams):
            self._streams[stream], self._streamed[stream] = (number, first, 1), run
        else:
            had = 1 if self._stay is None else int(self._rng.integers(self._stay)) + 1
            self._streams.append((number, first, had))
            self._streamed.append(run)
        return True

    def moments(
        self, scaled: Callable[[NDArray[np.float32]], NDArray[np.float32]] | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return each signal's mean and deviation over the runs in memory, after ``scaled`` if given."""
        rows = np.concatenate([run["observation"] for run in self._loaded])
        if scaled is not None:
            rows = scaled(rows)
        deviation = rows.std(axis=0, dtype=np.float64)
        # Only centre constant signals: their deviation is 0.
        deviation[deviation < 1e-6] = 1.0
        return rows.mean(axis=0, dtype=np.float64).astype(np.float32), deviation.astype(np.float32)

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`."""
        return {
            "rng": self._rng.bit_generator.state,
            "order": list(self._order),
            "resident": list(self._resident),
            "streams": None if self._streams is None else list(self._streams),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._rng.bit_generator.state = state["rng"]
        self._order = list(state["order"])
        self._resident = list(state["resident"])
        self._loaded = [self._load(run) for run in self._resident]
        self._streams = None if state["streams"] is None else list(state["streams"])
        here = dict(zip(self._resident, self._loaded, strict=True))
        self._streamed = [here.get(run) or self._load(run) for run, _, _ in self._streams or []]

    def _next(self) -> int:
        if not self._order:
            self._order = self._rng.permutation(len(self._runs)).tolist()
        return self._order.pop()

    def _load(self, number: int) -> Run:
        path, group = self._runs[number]
        try:
            table = pq.ParquetFile(path).read_row_group(group, columns=["observation", "action", "reward"])
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read: {error}") from None
        observations = table["observation"].combine_chunks().flatten().to_numpy()
        return {
            "observation": observations.reshape(table.num_rows, -1),
            "action": table["action"].to_numpy(),
            "reward": table["reward"].to_numpy(),
        }


def _best(runs: list[tuple[Path, int]], reward_share: float) -> list[tuple[Path, int]]:
    """Return a situation's runs whose mean reward is within 1 - this share of the best one's.

    The best run is always one of them. Of a negative best one, the distance is a share of its magnitude.
    """
    if reward_share <= 0 or not runs:
        return runs
    earned = [_mean_reward(path, group) for path, group in runs]
    least = max(earned) - (1 - reward_share) * abs(max(earned))
    return [run for run, mean in zip(runs, earned, strict=True) if mean >= least]


def _mean_reward(path: Path, group: int) -> float:
    try:
        rewards = pq.ParquetFile(path).read_row_group(group, columns=["reward"])["reward"]
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    return float(rewards.to_numpy().mean())
