"""Orbit's training: the network learns from the simulator what a flow cannot see, while it steers."""

import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from leogym.agents.orbit.episodes import FlowRecord, collect
from leogym.agents.orbit.network import OrbitNetwork
from leogym.agents.orbit.settings import OrbitSettings
from leogym.agents.training import policy_folder, torch_file
from leogym.agents.training.episode_batch import Episodes
from leogym.agents.training.reporter import Reporter
from leogym.agents.training.run_folder import RunFolder
from leogym.common.errors import InputError

START_STEPS = 20
"""First steps of a flow, from which the first rate is learned: later ones do not set it."""

MAX_GRADIENT = 1.0
AVERAGING = 0.99
"""Part of the mean of weights that an update leaves."""
ALONE_WEIGHT = 0.3
"""Weight of the target without competitors: a wrongly detected one then costs little."""
TARGET_BEND = 0.1


class Training:
    """The complete state of a training run; `save` and `load` cover all of it."""

    def __init__(self, settings: OrbitSettings) -> None:
        if settings.backend != "simulator":
            raise InputError("backend: orbit learns from what only the simulator knows: must be simulator")
        batch = Episodes(settings).batch
        self.settings, self.actions = settings, batch.action_dim
        with torch.random.fork_rng():
            torch.manual_seed(settings.seed)
            self.network = OrbitNetwork(batch.observation_dim, settings.width)
        # Episodes and exports have a mean of the latest weights: single updates are noisy.
        self.average = AveragedModel(
            self.network, multi_avg_fn=get_ema_multi_avg_fn(AVERAGING), use_buffers=True
        )
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate)
        self.steps = self.round = 0

    @property
    def acting(self) -> OrbitNetwork:
        """The network that steers flows."""
        return cast("OrbitNetwork", self.average.module)

    def advance(self) -> dict[str, float]:
        """Run a round of episodes and learn from it; return the means of its losses and of the accuracy."""
        settings = self.settings
        share = 1.0 if self.round < settings.teacher_rounds else settings.teacher_share
        records, steps = collect(settings, self.acting, self.round, share)
        if self.round == 0:
            self.network.scale(np.concatenate([record.observations for record in records]))
        for group in self.optimizer.param_groups:
            group["lr"] = settings.learning_rate / (1 + self.round / settings.halving_rounds)
        rng = np.random.default_rng([settings.seed, 4, self.round])
        rows = [
            self._learn([records[index] for index in chosen])
            for _ in range(settings.passes)
            for chosen in np.array_split(
                rng.permutation(len(records)), math.ceil(len(records) / settings.flows_per_update)
            )
        ]
        self.steps += steps
        self.round += 1
        return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}

    def _learn(self, records: list[FlowRecord]) -> dict[str, float]:
        """Learn from flows along their time; return the means of the losses and of the accuracy."""
        observed, competes, target, start, counts = _padded(records)
        length = self.settings.steps_per_update
        totals: dict[str, float] = dict.fromkeys(
            ("accuracy", "competition_loss", "target_loss", "start_loss"), 0.0
        )
        aimed = counts * (ALONE_WEIGHT + (1 - ALONE_WEIGHT) * competes)
        weights = {name: float(mask.sum()) + 1.0 for name, mask in (("all", counts), ("aimed", aimed))}
        has_start = counts * ~torch.isnan(start)
        has_start[START_STEPS:] = 0
        weights["start"] = float(has_start.sum()) + 1.0
        start = torch.nan_to_num(start)
        memory = None
        for first in range(0, len(observed), length):
            part = slice(first, first + length)
            outputs, memory = self.network(observed[part], memory)
            memory = (memory[0].detach(), memory[1].detach())
            # tanh(x) = 2 sigmoid(2 x) - 1: the action is above 0 where the probability is above a half.
            logits, aim, begin = outputs[..., 0], torch.tanh(outputs[..., 1]), torch.tanh(outputs[..., 2])
            missed = start[part] - begin
            quantile = self.settings.start_quantile
            losses: dict[str, tuple[Tensor, Tensor, float]] = {
                "competition_loss": (
                    nn.functional.binary_cross_entropy_with_logits(
                        2 * logits, competes[part], reduction="none"
                    ),
                    counts[part],
                    weights["all"],
                ),
                "target_loss": (
                    nn.functional.smooth_l1_loss(aim, target[part], reduction="none", beta=TARGET_BEND),
                    aimed[part],
                    weights["aimed"],
                ),
                "start_loss": (
                    torch.maximum(quantile * missed, (quantile - 1) * missed),
                    has_start[part],
                    weights["start"],
                ),
            }
            parts = {name: (loss * mask).sum() / weight for name, (loss, mask, weight) in losses.items()}
            self.optimizer.zero_grad()
            (torch.stack(list(parts.values())).sum() * (len(observed) / len(outputs))).backward()
            nn.utils.clip_grad_norm_(self.network.parameters(), MAX_GRADIENT)
            self.optimizer.step()
            self.average.update_parameters(self.network)
            right = (logits > 0) == (competes[part] > 0.5)
            totals["accuracy"] += float((right * counts[part]).sum()) / weights["all"]
            for name, value in parts.items():
                totals[name] += float(value.detach())
        return totals

    def save(self, folder: Path, wall_s: float) -> None:
        """Write a checkpoint."""
        state = {
            "steps": self.steps,
            "round": self.round,
            "wall_s": wall_s,
            "network": self.network.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        torch_file.save(state, folder / "training.pt")

    def load(self, folder: Path) -> float:
        """Continue from what `save` wrote; return the wall time in s spent until then."""
        path = folder / "training.pt"
        try:
            state: dict[str, Any] = torch.load(path, weights_only=True)
            self.steps, self.round = int(state["steps"]), int(state["round"])
            self.network.load_state_dict(state["network"])
            self.average.load_state_dict(state["average"])
            self.optimizer.load_state_dict(state["optimizer"])
            return float(state["wall_s"])
        except Exception as error:  # of any type, as torch unpickles and restores tensors
            reason, *_ = str(error).splitlines() or [""]
            raise InputError(f"{path}: damaged: {type(error).__name__}: {reason}") from None

    def export(self, run: RunFolder) -> None:
        """Write the policy that simulator, kernel and evaluation run."""
        settings = self.settings
        description = policy_folder.describe(
            settings.spec, self.network.lstm.input_size, self.actions, settings.interval_ms
        )
        network = self.acting.export(self.actions, f"{settings.agent}, {self.steps} steps")
        run.write_policy(network, description, self.steps)


def train(settings: OrbitSettings, run: RunFolder) -> None:
    """Train until ``settings`` say stop; continue from the latest checkpoint if ``run`` has one."""
    torch.set_num_threads(1)  # the network is too small to gain from a second thread
    training = Training(settings)
    wall_s = 0.0
    if (latest := run.latest_checkpoint()) is not None:
        wall_s = training.load(latest)

    def write(folder: Path) -> None:
        training.save(folder, reporter.wall_s)
        training.export(run)

    columns = ("accuracy", "target_loss", "start_loss")
    with Reporter(settings, run, steps=training.steps, wall_s=wall_s, columns=columns) as reporter:
        while reporter.done(training.steps) < 1:
            before = training.steps
            row = training.advance()
            reporter.row({"steps": training.steps, "wall_s": round(reporter.wall_s, 3), **row})
            is_due = training.steps // settings.checkpoint_steps > before // settings.checkpoint_steps
            if is_due or reporter.done(training.steps) >= 1:
                reporter.checkpoint(training.steps, write)
            reporter.leave_if_asked(training.steps, write)
        if training.steps and not run.is_scheduled(training.steps):
            reporter.checkpoint(training.steps, write)
        run.write_summary({"agent": settings.agent, "steps": training.steps, "wall_s": reporter.wall_s})


def _padded(records: list[FlowRecord]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the records' columns (steps, flows, …), shorter flows padded, and 1 where a flow has a step."""
    steps = max(len(record.competes) for record in records)
    columns = []
    for name in ("observations", "competes", "target", "start"):
        values = [getattr(record, name) for record in records]
        column = np.zeros((steps, len(records), *values[0].shape[1:]), np.float32)
        for flow, value in enumerate(values):
            column[: len(value), flow] = value
        columns.append(torch.from_numpy(column))
    counts = np.zeros((steps, len(records)), np.float32)
    for flow, record in enumerate(records):
        counts[: len(record.competes), flow] = 1
    observed, competes, target, start = columns
    return observed, competes, target, start, torch.from_numpy(counts)
