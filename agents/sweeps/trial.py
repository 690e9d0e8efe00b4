"""One trial as Ray runs it: a run folder that continues wherever its process ends."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ray import tune

from agents.sweeps.plan import HELD_OUT, Trial
from agents.training import registry
from agents.training.run_folder import RunFolder
from agents.training.stopping import Stop, Stopped
from configs import lock
from configs.atomic import write_atomically
from results.provenance import describe


class WatchedRun(RunFolder):
    """A run folder that tells Ray Tune of every row that has the metric."""

    metric: str = ""

    def append_progress(self, row: Mapping[str, Any], name: str = "progress.csv") -> None:
        """Append ``row``, then tell."""
        super().append_progress(row, name)
        column = self.metric.removeprefix(HELD_OUT)
        told = "evaluation.csv" if self.metric.startswith(HELD_OUT) else "progress.csv"
        if name == told and column in row and row[column] == row[column]:
            tune.report({"steps": row["steps"], self.metric: float(row[column])})


def run(trial: Trial, metric: str, stop: Stop) -> None:
    """Train ``trial`` from where it is to its end, or until it is asked to stop.

    What it has done already is told again first, so that a scheduler that knows nothing of it, because
    whoever asked for the sweep was killed, decides by the same numbers.
    """
    if stop.asked:
        return
    with alone(trial.folder):
        for steps, value in trial.curve(metric):
            tune.report({"steps": steps, metric: value})
        if trial.status() != "unfinished":
            return
        settings = trial.settings
        provenance = describe(settings.model_dump(mode="json"), settings.seed)
        if (trial.folder / "checkpoints" / "latest").is_file():
            folder = WatchedRun.open(trial.folder, provenance)
        else:
            folder = WatchedRun.create(trial.folder, settings.to_yaml(), provenance)
        assert isinstance(folder, WatchedRun)
        folder.metric = metric
        folder.stop = stop
        with suppress(Stopped):
            registry.get(settings.agent).trainer(settings.engine)(settings, folder)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until no other process has ``folder``, and say that this one has it.

    A process whose driver was killed may still be at work when another takes over.
    """
    with lock.held(folder, wait=True):
        who = {"host": socket.gethostname(), "pid": os.getpid()}
        write_atomically(folder / "process.json", json.dumps(who).encode())
        yield
