"""One trial as Ray runs it; another process can continue it from its folder."""

import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ray import tune

from leogym.agents.sweeps.plan import HELD_OUT, Trial
from leogym.agents.training import registry
from leogym.agents.training.checkpoints import ROWS
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.stopping import Stop, Stopped
from leogym.common import lock
from leogym.common.atomic import write_atomically
from leogym.common.errors import InputError
from leogym.common.nearest import suggest_names
from leogym.results.provenance import describe


class WatchedRun(RunFolder):
    """A run folder that reports every row with the metric to Ray Tune."""

    metric: str = ""

    def append_progress(self, row: Mapping[str, Any], name: str = "progress.csv") -> None:
        """Append ``row``, then report it."""
        super().append_progress(row, name)
        column = self.metric.removeprefix(HELD_OUT)
        file = "evaluation.csv" if self.metric.startswith(HELD_OUT) else "progress.csv"
        if name == file and column not in row:
            raise InputError(f"metric: {self.metric}: {file} has no such column {suggest_names(column, row)}")
        if name == file and row[column] == row[column]:
            tune.report({"steps": row["steps"], self.metric: float(row[column])})


def run(trial: Trial, metric: str, stop: Stop) -> None:
    """Start or continue ``trial`` until it ends or is asked to stop.

    First report its earlier rows again, because the scheduler of a resumed sweep does not know them.
    """
    if stop.asked:
        return
    with alone(trial.folder):
        unfinished = trial.status() == "unfinished"
        settings = trial.settings
        provenance = describe(settings.model_dump(mode="json"), settings.seed) if unfinished else {}
        folder: RunFolder | None = None
        if unfinished and (checkpoints := RunFolder(trial.folder, {}).kept_checkpoints()):
            folder = WatchedRun.open(trial.folder, provenance)
            for name in ROWS:
                folder.restore_rows(int(checkpoints[-1].name), name)
        for steps, value in trial.curve(metric):
            tune.report({"steps": steps, metric: value})
        if not unfinished:
            return
        if folder is None:
            folder = WatchedRun.create(trial.folder, settings.to_yaml(), provenance)
        assert isinstance(folder, WatchedRun)
        folder.metric = metric
        folder.stop = stop
        with suppress(Stopped):
            registry.get(settings.agent).trainer(settings.engine)(settings, folder)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock ``folder``, waiting for other processes, and write ``process.json``.

    A process whose driver was killed may still run when another takes over.
    """
    with lock.held(folder, wait=True):
        who = {"host": socket.gethostname(), "pid": os.getpid()}
        write_atomically(folder / "process.json", json.dumps(who).encode())
        yield
