"""Astraea's training loop: act, step the simulations, store transitions, learn; checkpoint and export."""

import contextlib
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from leogym.agents.astraea.actor_critic import NEGATIVE_SLOPE, Actor
from leogym.agents.astraea.exploration import Exploration
from leogym.agents.astraea.meters import Meters
from leogym.agents.astraea.n_step import Returns, Step
from leogym.agents.astraea.replay import ReplayBuffer
from leogym.agents.astraea.rounds import Rounds
from leogym.agents.astraea.settings import AstraeaSettings
from leogym.agents.astraea.td3 import Td3
from leogym.agents.training import policy_folder, torch_file
from leogym.agents.training.episode_batch import Episodes
from leogym.agents.training.onnx_export import perceptron
from leogym.agents.training.reporter import Reporter
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.common.errors import InputError

ARRAYS = [
    np.ndarray,
    np.dtype,
    np.zeros(0).__reduce__()[0],
    np.float64(0).__reduce__()[0],
    bytes,
    *(type(np.dtype(kind)) for kind in ("f4", "f8", "i4", "i8", "u4", "u8", "?", "u1")),
]
"""Types that `torch.load` may unpickle: NumPy arrays, scalars and dtypes."""


class Training:
    """The complete state of a training run; `save` and `load` cover all of it."""

    def __init__(self, settings: AstraeaSettings) -> None:
        self.settings = settings
        self.simulations = Episodes(settings)
        batch = self.simulations.batch
        self._global_dim = batch.global_dim if settings.centralised else 0
        dims = (batch.observation_dim, self._global_dim, batch.action_dim)
        self.learner = Td3(settings, *dims, seed=settings.seed)
        self.rounds = Rounds(self.learner)
        self.exploration = Exploration(settings, self.simulations.action_shape, settings.seed)
        self.replay = ReplayBuffer(
            settings.memory, batch.observation_dim + self._global_dim, batch.action_dim, settings.seed
        )
        self.returns = Returns(settings.return_steps, settings.gamma)
        self.meters = Meters()
        self.steps = 0  # environment steps: intervals, summed over the simulations

    def start(self) -> None:
        """Start acting with the learner's current weights."""
        self.rounds.start()
        self.simulations.start()

    def close(self) -> None:
        """End the threads and the simulations."""
        self.rounds.close()
        self.simulations.close()

    def interval(self) -> None:
        """Start due updates and advance every simulation by one monitor interval.

        Updates run in parallel and use transitions up to the previous interval: results do not depend on
        timing.
        """
        self._learn()
        batch = self.simulations.batch
        active = batch.active.copy()
        states = self._states()
        actions = self._decide(active, states)
        self.simulations.step(actions)
        self._remember(active, states, actions)
        for index in np.flatnonzero(batch.finished):
            self.meters.episode(batch.run_log(int(index)))
            self.simulations.restart(int(index))
            self.returns.restart(int(index))
        self.steps += self.settings.num_envs

    def _states(self) -> NDArray[np.float32]:
        """Return (size, slots, state_dim): the flow's observation, then the critics' global state."""
        batch = self.simulations.batch
        if not self._global_dim:
            return batch.observations.copy()
        slots = self.simulations.slots
        shared = np.repeat(batch.global_states[:, None, :], slots, axis=1)
        return np.concatenate([batch.observations, shared], axis=-1)

    def _decide(self, active: NDArray[np.bool_], states: NDArray[np.float32]) -> NDArray[np.float32]:
        actions = np.zeros(self.simulations.action_shape, dtype=np.float32)
        if active.any():
            proposed = self.rounds.act(states[active][:, : self.simulations.batch.observation_dim])
            self.meters.actions(proposed)
            actions[active] = proposed
        return self.exploration.apply(actions)

    def _remember(
        self, active: NDArray[np.bool_], states: NDArray[np.float32], actions: NDArray[np.float32]
    ) -> None:
        """Store the transitions of flows that were active before and after their intervals."""
        batch = self.simulations.batch
        rewards = batch.rewards_view
        self.meters.rewards(rewards[active])
        if oldest := self.returns.push(Step(active, states, actions, rewards), batch.active):
            flows, first = oldest
            transitions = (first.states[flows], first.actions[flows], first.rewards[flows])
            self.replay.add(*transitions, self._states()[flows])

    def _learn(self) -> None:
        settings = self.settings
        interval = self.exploration.intervals + 1
        if len(self.replay) < settings.learning_starts or interval % settings.train_every:
            return
        batches = [self.replay.sample(settings.batch_size) for _ in range(settings.updates_per_training)]
        for measured in self.rounds.begin(batches):
            self.meters.update(measured)

    def save(self, folder: Path, chunks: Path, wall_s: float, *, scheduled: bool = True) -> None:
        """Write everything to ``folder``, and new transitions to ``chunks``."""
        self.rounds.wait()
        torch_file.save(
            {
                "steps": self.steps,
                "wall_s": wall_s,
                "learner": self.learner.state(),
                "rounds": self.rounds.state(),
                "exploration": self.exploration.state(),
                "replay": self.replay.save(chunks, scheduled=scheduled),
                "simulations": self.simulations.state(),
                "returns": self.returns.state(),
                "meters": self.meters.state(),
            },
            folder / "training.pt",
        )

    def load(self, folder: Path, chunks: Path) -> float:
        """Continue from what `save` wrote; return the wall time in s spent until then."""
        state = read_checkpoint(folder)
        try:
            self.steps = int(state["steps"])
            self.learner.restore(state["learner"])
            self.rounds.restore(state["rounds"])
            self.exploration.restore(state["exploration"])
            self.replay.load(chunks, state["replay"])
            self.simulations.restore(state["simulations"])
            self.returns.restore(state["returns"])
            self.meters.restore(state["meters"])
            return float(state["wall_s"])
        except InputError:
            raise
        except Exception as error:  # of any type, as parts restore tensors and generators
            reason, *_ = str(error).splitlines() or [""]
            raise InputError(f"{folder / 'training.pt'}: damaged: {type(error).__name__}: {reason}") from None


def _start_from(learner: Td3, run: Path) -> None:
    """Take over the networks of another run; raise `InputError` if it has none or they differ."""
    state = read_latest(run)
    try:
        learner.restore(state["learner"])
    except (RuntimeError, KeyError, ValueError, TypeError):  # as parts restore tensors and generators
        raise InputError(
            f"start_from: {run}: its networks have another shape: give it the same agent, spec and hidden"
        ) from None
    learner.updates = 0  # settings such as actor_starts count this run's updates


def read_latest(run: Path) -> dict[str, Any]:
    """Return the latest checkpoint of another run; raise `InputError` without a readable one."""
    folder = RunFolder(run, {})
    latest = folder.latest_checkpoint()
    if latest is None:
        raise InputError(f"start_from: {run}: no run with a checkpoint: name another folder")
    folder.require_whole(latest)
    return read_checkpoint(latest)


def read_checkpoint(folder: Path) -> dict[str, Any]:
    """Return what `Training.save` wrote to ``folder``; raise `InputError` if it cannot be read."""
    path = folder / "training.pt"
    try:
        # Only tensors, arrays, numbers and strings: the file cannot execute code.
        with torch.serialization.safe_globals(ARRAYS):
            return torch.load(path, weights_only=True)
    except Exception as error:  # torch.load raises many types
        raise InputError(f"{path}: cannot be read: {error}") from None


def train(settings: TrainSettings, run: RunFolder) -> None:
    """Train for the length in ``settings``; continue from the latest checkpoint if ``run`` has one."""
    assert isinstance(settings, AstraeaSettings)
    # The networks are too small for a second thread, and one thread gives the same sums on every machine.
    torch.set_num_threads(1)
    # A matrix product takes about 30 µs here, so acting and learning must switch often.
    sys.setswitchinterval(1e-4)
    training = Training(settings)
    chunks = run.checkpoints / "replay"
    latest = run.latest_checkpoint()
    wall_s = 0.0
    if latest is None:
        if settings.start_from is not None:
            _start_from(training.learner, Path(settings.start_from))
        training.start()
    else:
        wall_s = training.load(latest, chunks)

    def save(folder: Path, *, scheduled: bool = True) -> None:
        training.save(folder, chunks, reporter.wall_s, scheduled=scheduled)
        export(training.learner.policy, settings, run, training.steps)

    def shared() -> dict[str, str]:
        return {f"replay/{name}": digest for name, digest in training.replay.chunks(chunks).items()}

    def checkpoint() -> None:
        reporter.checkpoint(training.steps, save, shared=shared)

    columns = ("reward", "normalized_goodput", "delay_inflation")
    reporter = Reporter(settings, run, steps=training.steps, wall_s=wall_s, columns=columns)
    with contextlib.closing(training), reporter:
        if latest is None:
            checkpoint()
        next_row = _next(training.steps, settings.progress_steps)
        next_checkpoint = _next(training.steps, settings.checkpoint_steps)
        while reporter.done(training.steps) < 1:
            training.interval()
            if training.steps >= next_row:
                reporter.row(_row(training, reporter))
                next_row = _next(training.steps, settings.progress_steps)
            if training.steps >= next_checkpoint:
                checkpoint()
                next_checkpoint = _next(training.steps, settings.checkpoint_steps)
            reporter.leave_if_asked(training.steps, partial(save, scheduled=False), shared=shared)
        if not run.is_scheduled(training.steps):
            checkpoint()
        # After the checkpoint, which a longer run continues from as if this one had never ended.
        if training.steps > reporter.row_steps:
            reporter.row(_row(training, reporter))
        run.write_summary(
            {
                "agent": settings.agent,
                "steps": training.steps,
                "wall_s": round(reporter.wall_s, 1),
                "updates": training.learner.updates,
                "episodes": training.simulations.next_episode - settings.num_envs,
                "last": training.meters.last,
                **training.simulations.punctuality(),
            }
        )


def _next(steps: int, every: int) -> int:
    return (steps // every + 1) * every


def _row(training: Training, reporter: Reporter) -> dict[str, Any]:
    return {
        "steps": training.steps,
        "wall_s": round(reporter.wall_s, 3),
        "episodes": training.simulations.next_episode - training.settings.num_envs,
        "updates": training.rounds.updates,
        "exploration": training.exploration.probability,
        **training.meters.flush(),
    }


def export(actor: Actor, settings: AstraeaSettings, run: RunFolder, steps: int) -> Path:
    """Write ``actor``, trained for ``steps``, as the run's policy; return the folder."""
    layers = [(weight.numpy(), bias.numpy()) for weight, bias in actor.folded()]
    inputs, actions = layers[0][0].shape[1], layers[-1][0].shape[0]
    description = policy_folder.describe(settings.spec, inputs, actions, settings.interval_ms)
    name = f"{settings.agent}, {steps} environment steps"
    return run.write_policy(perceptron(layers, NEGATIVE_SLOPE, name), description, steps)
