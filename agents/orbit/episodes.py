"""A round of episodes: the network or a noisy teacher steers each flow, and the truth is recorded beside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from leogym.agents.orbit.network import HEADS, Memory, OrbitNetwork
from leogym.agents.orbit.settings import OrbitSettings
from leogym.agents.orbit.truth import LARGEST, Schedule, Truth, truth
from leogym.agents.training.episode_batch import Episodes
from leogym.common.errors import InputError

BURST_FEATURE = 23
"""Log10 of the rate that the first packets' spacing shows over `REFERENCE_RATE`; 0: unknown."""
REFERENCE_RATE = 12.5e6

LEAST_STEPS = 20
"""A flow with fewer steps is not learned from."""


@dataclass(frozen=True)
class FlowRecord:
    """What a flow observed and what was true, each (steps, …)."""

    observations: NDArray[np.float32]
    competes: NDArray[np.float32]
    target: NDArray[np.float32]
    start: NDArray[np.float32]
    """NaN where the first packets show no rate."""


class Teacher:
    """Acts on the truth, with delay and noise; for some seconds at a time it competes always, or never.

    The network then meets both right and wrong decisions, and how paths respond to them.
    """

    DELAY_STEPS = 50
    ALWAYS, NEVER = 0.15, 0.15
    PERIOD_S = (3.0, 12.0)
    TARGET_NOISE, START_NOISE = 0.2, 0.3

    def __init__(self, rng: np.random.Generator, shape: tuple[int, int]) -> None:
        self._rng = rng
        self._follows = np.zeros(shape, bool)
        self._competes = np.zeros(shape, bool)
        self._until_s = np.zeros(shape)
        self._noise = np.zeros(shape)
        self._start_noise = rng.normal(0, self.START_NOISE, shape)
        self._noticed = np.zeros(shape)

    def act(self, decisions: Truth, time_s: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return the learned part of actions, (simulations, slots, 3)."""
        redrawn = time_s[:, None] >= self._until_s
        shape = redrawn.shape
        drawn = self._rng.random(shape)
        self._follows = np.where(redrawn, drawn > self.ALWAYS + self.NEVER, self._follows)
        self._competes = np.where(redrawn, drawn < self.ALWAYS, self._competes)
        self._noise = np.where(redrawn, self._rng.normal(0, self.TARGET_NOISE, shape), self._noise)
        until_s = time_s[:, None] + self._rng.uniform(*self.PERIOD_S, shape)
        self._until_s = np.where(redrawn, until_s, self._until_s)
        self._noticed += (decisions.competes - self._noticed) / self.DELAY_STEPS
        competes = np.where(self._follows, self._noticed > 0.5, self._competes)
        start = np.nan_to_num(decisions.start) + self._start_noise
        actions = [np.where(competes, LARGEST, -LARGEST), decisions.target + self._noise, start]
        return np.clip(np.stack(actions, axis=-1), -1, 1).astype(np.float32)


def collect(
    settings: OrbitSettings, network: OrbitNetwork, number: int, teacher_share: float
) -> tuple[list[FlowRecord], int]:
    """Run round ``number`` of episodes to their ends; return a record per flow, and the steps taken."""
    episodes = Episodes(settings, first_episode=number * settings.num_envs)
    schedules = [
        Schedule(episodes.scenario(number * settings.num_envs + index)) for index in range(episodes.size)
    ]
    episodes.start()
    batch = episodes.batch
    rng = np.random.default_rng([settings.seed, 3, number])
    shape = (episodes.size, episodes.slots)
    teacher, taught = Teacher(rng, shape), rng.random(shape) < teacher_share
    fields = list(batch.report_fields)
    second = np.zeros((round(1000 / settings.interval_ms), *shape))
    memory: Memory = (
        torch.zeros(1, taught.size, settings.width),
        torch.zeros(1, taught.size, settings.width),
    )
    was_active = np.zeros(shape, bool)
    actions = np.zeros(episodes.action_shape, np.float32)
    columns: list[tuple[NDArray[np.float32], Truth, NDArray[np.bool_]]] = []
    steps = 0
    while not batch.finished.all():
        active = batch.active & ~batch.finished[:, None]
        began, was_active = active & ~was_active, active
        second[:, began] = 0
        second[steps % len(second)] = np.where(active, batch.reports[..., fields.index("delivered_bytes")], 0)
        observations = batch.observations.copy()
        logarithm = observations[..., BURST_FEATURE].astype(np.float64)
        burst_rate = np.where(logarithm == 0, 0, REFERENCE_RATE * 10**logarithm)
        decisions = truth(schedules, batch.time_s, batch.paths[..., 0], second.sum(axis=0), burst_rate)
        columns.append((observations, decisions, active))
        learned = _decide(network, observations, memory, active & ~taught, began)
        actions[..., -HEADS:] = np.where(taught[..., None], teacher.act(decisions, batch.time_s), learned)
        episodes.step(actions)
        steps += 1
    active = np.stack([column[2] for column in columns])
    records = []
    for index, slot in zip(*np.nonzero(active.sum(axis=0) >= LEAST_STEPS), strict=True):
        times = np.flatnonzero(active[:, index, slot])
        steps_of_flow = [columns[time] for time in range(times[0], times[-1] + 1)]
        records.append(
            FlowRecord(
                np.stack([observed[index, slot] for observed, _, _ in steps_of_flow]),
                np.array([decisions.competes[index, slot] for _, decisions, _ in steps_of_flow], np.float32),
                np.array([decisions.target[index, slot] for _, decisions, _ in steps_of_flow], np.float32),
                np.array([decisions.start[index, slot] for _, decisions, _ in steps_of_flow], np.float32),
            )
        )
    if not records:
        raise InputError(f"scenarios: no flow of {episodes.size} episodes runs for {LEAST_STEPS} intervals")
    return records, steps * episodes.size


def _decide(
    network: OrbitNetwork,
    observations: NDArray[np.float32],
    memory: Memory,
    acting: NDArray[np.bool_],
    began: NDArray[np.bool_],
) -> NDArray[np.float32]:
    """Return the learned part of actions, 0 where no flow is ``acting``, and update their ``memory``.

    Flows that ``began`` have no memory yet.
    """
    decided = np.zeros((*acting.shape, HEADS), np.float32)
    if not acting.any():
        return decided
    rows = torch.from_numpy(np.flatnonzero(acting))
    with torch.no_grad():
        for part in memory:
            part[:, torch.from_numpy(began.reshape(-1))] = 0
        outputs, updated = network(
            torch.from_numpy(observations[acting])[None], (memory[0][:, rows], memory[1][:, rows])
        )
        for part, new in zip(memory, updated, strict=True):
            part[:, rows] = new
    decided[acting] = torch.tanh(outputs[0]).numpy()
    return decided
