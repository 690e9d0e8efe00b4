"""Experiment trackers, which also receive the numbers of progress.csv."""

import json
import math
import os
from collections.abc import Mapping
from typing import Any, Protocol

from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.common import extras


class Tracker(Protocol):
    """An experiment tracker."""

    def log(self, scalars: Mapping[str, float], steps: int) -> None:
        """Record ``scalars`` at environment step ``steps``."""

    def close(self) -> None:
        """Flush buffered data."""


class TensorBoard:
    """Event files in the run folder's ``tensorboard/``; hides a killed run's steps after ``start``."""

    def __init__(self, run: RunFolder, settings: TrainSettings, start: int) -> None:
        with extras.needed_by("--track tensorboard"):
            from torch.utils.tensorboard import SummaryWriter  # here, because its import takes seconds
            from torch.utils.tensorboard.summary import hparams

        self._writer = SummaryWriter(str(run.tensorboard), purge_step=start + 1 if start else 0)
        # Not `add_hparams`, which writes to a second run.
        for summary in hparams(flat(settings.model_dump(mode="json")), {"reward": 0.0}):
            self._writer._get_file_writer().add_summary(summary)

    def log(self, scalars: Mapping[str, float], steps: int) -> None:
        """Record ``scalars`` at environment step ``steps``."""
        for name, value in scalars.items():
            self._writer.add_scalar(name, value, steps)

    def close(self) -> None:
        """Flush buffered data."""
        self._writer.close()


class WandB:
    """Weights & Biases in the run folder's ``wandb/``: offline unless WANDB_MODE says otherwise."""

    def __init__(self, run: RunFolder, settings: TrainSettings, start: int) -> None:
        with extras.needed_by("--track wandb"):
            import wandb  # here, because its import takes seconds

        self._run = wandb.init(
            project="leogym",
            name=run.path.name,
            group=settings.group,
            dir=str(run.path),
            config={**settings.model_dump(mode="json"), "resumed_at": start},
            mode=os.environ.get("WANDB_MODE", "offline"),  # pyright: ignore[reportArgumentType]
        )

    def log(self, scalars: Mapping[str, float], steps: int) -> None:
        """Record ``scalars`` at environment step ``steps``."""
        self._run.log(dict(scalars), step=steps)

    def close(self) -> None:
        """Flush buffered data."""
        self._run.finish()


_CLASSES: dict[str, type[TensorBoard] | type[WandB]] = {"tensorboard": TensorBoard, "wandb": WandB}


def trackers(settings: TrainSettings, run: RunFolder, start: int) -> list[Tracker]:
    """Return the trackers that ``settings`` name, for a run that continues at step ``start``."""
    names = [] if settings.track == "none" else settings.track.split(",")
    return [_CLASSES[name](run, settings, start) for name in names]


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, str | bool | float]:
    """Return ``settings`` as hyperparameters: keys of mappings joined by dots, lists and None as text."""
    values: dict[str, str | bool | float] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            values |= flat(value, f"{prefix}{name}.")
        else:
            plain = isinstance(value, str | bool | int | float)
            values[f"{prefix}{name}"] = value if plain else json.dumps(value)
    return values


def scalars(row: Mapping[str, Any]) -> dict[str, float]:
    """Return the finite numbers in a row of progress.csv, without the step count."""
    numbers = {name: value for name, value in row.items() if isinstance(value, int | float)}
    return {name: float(value) for name, value in numbers.items() if name != "steps" and math.isfinite(value)}
