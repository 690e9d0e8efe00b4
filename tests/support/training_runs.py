"""Short training runs in tests, and what they left behind."""

import csv
from pathlib import Path
from typing import Any

from leogym.agents.training import registry
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings, build
from leogym.agents.training.stopping import Stop
from leogym.common import digests


def settings_of(agent: str, **settings: Any) -> Any:
    """Return the settings of ``agent``, without a tracker."""
    return build(registry.get(agent).settings, "test", {"agent": agent, "track": "none", **settings})


def trained(
    settings: TrainSettings, path: Path, *, resume: bool = False, stop: Stop | None = None
) -> RunFolder:
    """Train a new run at ``path``, or continue the run there; return it."""
    run = RunFolder.open(path, {}) if resume else RunFolder.create(path, settings.to_yaml(), {})
    run.stop = stop or run.stop
    registry.get(settings.agent).trainer(settings.engine)(settings, run)
    return run


def rows(run: RunFolder, name: str = "progress.csv") -> list[dict[str, str]]:
    """Return the rows of a table of ``run``."""
    with (run.path / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def latest(run: RunFolder) -> Path:
    """Return the folder of the latest checkpoint."""
    folder = run.latest_checkpoint()
    assert folder is not None
    return folder


def rewrite(checkpoint: Path, name: str, content: bytes) -> None:
    """Replace a file of a checkpoint, as if the run had written ``content``."""
    (checkpoint / name).write_bytes(content)
    digests.write(checkpoint, digests.read(checkpoint))
