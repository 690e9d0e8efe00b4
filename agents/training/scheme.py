"""The `Scheme` that each scheme's folder defines."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.common import extras
from leogym.common.errors import InputError

Trainer = Callable[..., None]
"""``train(settings, run)``: trains for the length in ``settings``, from the checkpoint in ``run`` if any."""


@dataclass(frozen=True)
class Scheme:
    """One learned scheme, which its folder defines as ``SCHEME``.

    Trainers are names, not functions, so listing schemes imports no learning library.
    """

    name: str
    summary: str
    settings: type[TrainSettings] = TrainSettings
    departures: str = ""
    """One line: how the shipped policy (``trained/``) differs from the publication. Reports,
    ``evaluate.py --list`` and the README show it."""
    exports: bool = True
    """Whether training writes a policy."""
    trainers: Mapping[str, str] = field(default_factory=dict)
    """Engine to ``module:function``; empty when there is nothing to train."""

    def trainer(self, engine: str) -> Callable[[TrainSettings, RunFolder], None]:
        """Return the function that trains this scheme with ``engine``.

        Raises:
            InputError: no such engine, or its library is not installed.
        """
        if engine not in self.trainers:
            engines = ", ".join(self.trainers)
            raise InputError(f"--engine: {engine}: {self.name} is trained by {engines}")
        module, _, function = self.trainers[engine].partition(":")
        with extras.needed_by(f"--engine {engine}"):
            return getattr(importlib.import_module(module), function)
