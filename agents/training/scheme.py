"""What a scheme's folder tells the rest of the project about itself."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agents.training.run_folder import RunFolder
from agents.training.settings import TrainSettings
from configs.errors import InputError

Trainer = Callable[..., None]
"""``train(settings, run)``: trains until ``settings`` say stop, resuming when ``run`` holds a checkpoint."""


@dataclass(frozen=True)
class Scheme:
    """One learned scheme, as its folder's ``SCHEME``.

    Trainers are named, not imported, so that listing schemes costs no import of a learning library.
    """

    name: str
    summary: str
    settings: type[TrainSettings] = TrainSettings
    departures: str = ""
    """In a line, what differs from the publication in the policy that comes with the project (``trained/``).
    Reports, ``evaluate.py --list`` and the README repeat it."""
    trainers: Mapping[str, str] = field(default_factory=dict)
    """Engine to ``module:function``; empty when there is nothing to train."""

    def trainer(self, engine: str) -> Callable[[TrainSettings, RunFolder], None]:
        """Return the function that trains this scheme with ``engine``.

        Raises:
            InputError: the scheme has no trainer for that engine.
        """
        if engine not in self.trainers:
            known = ", ".join(self.trainers)
            raise InputError(f"--engine: {engine}: {self.name} is trained by {known}")
        module, _, function = self.trainers[engine].partition(":")
        return getattr(importlib.import_module(module), function)
