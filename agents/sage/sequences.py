"""Draws training sequences from a pool of any size in bounded memory.

At most ``resident`` runs are in memory, and those that a stream is in. If the pool has more, one of them is
replaced after every batch, in an order that passes through the whole pool before any run comes again.
Batches depend on the seed and on how many were drawn before, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
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
    """Sequences: ``observation`` (n, length, 69), ``action`` and ``reward`` (n, length).

    Attributes:
        fresh: whether a sequence (n,) does not go on where the one of the last batch in its place ended.
    """

    observation: NDArray[np.float32]
    action: NDArray[np.float32]
    reward: NDArray[np.float32]
    fresh: NDArray[np.bool_]


class Sequences:
    """An endless source of batches.

    Args:
        folder: the pool.
        length: intervals in a sequence.
        resident: how many runs are in memory at a time.
        seed: of the order of the runs and of the places in them.
        schemes: whose runs; all by default.
        reward_share: a run's mean reward is at least this share of the best of theirs in its situation.
        streams: whether the sequences of a batch go on where those of the last one ended. At first they begin
            anywhere; a run that is at its end is followed by another, from its beginning.
        lab_runs: how many of the lab's runs, the first in the pool's index, beside all of the simulator's.
        stay: sequences after which a stream leaves its run for another, half of the time for its beginning
            and else for anywhere in it; by default it stays to the end.

    Raises:
        InputError: the pool cannot be read, or no run in it is asked for and long enough.
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
        """Run and place of each, and how many sequences it has had of the run."""
        self._streamed: list[Run] = []

    def _long_enough(self, path: Path, schemes: tuple[str, ...] | None) -> list[tuple[Path, int]]:
        """Return the runs of the schemes in a file that a sequence fits into."""
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
        """Return how many signals an observation has."""
        return self._loaded[0]["observation"].shape[1]

    def __len__(self) -> int:
        """Return how many runs the pool has that are long enough."""
        return len(self._runs)

    def draw(self, count: int) -> Batch:
        """Return ``count`` sequences; every resident run is as likely, and every place in it."""
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
        """Take a stream to its next sequence; return whether that is in another run."""
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
        """Return mean and deviation of each signal, ``scaled`` if it is given, over the runs in memory."""
        rows = np.concatenate([run["observation"] for run in self._loaded])
        if scaled is not None:
            rows = scaled(rows)
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
            "streams": None if self._streams is None else list(self._streams),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as after `state`."""
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
    """Return those of a situation's runs whose mean reward is at least this share of the best of them."""
    if reward_share <= 0 or not runs:
        return runs
    earned = [_mean_reward(path, group) for path, group in runs]
    return [run for run, mean in zip(runs, earned, strict=True) if mean >= reward_share * max(earned)]


def _mean_reward(path: Path, group: int) -> float:
    try:
        rewards = pq.ParquetFile(path).read_row_group(group, columns=["reward"])["reward"]
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    return float(rewards.to_numpy().mean())
