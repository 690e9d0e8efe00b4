"""The folder of one training run: config.yaml, progress.csv, checkpoints/, policy/ and summary.json.

Every file stays readable if the process is killed: a file gets its name only once its bytes are on disk, and
a resumed run drops a half-written last line of `progress.csv`.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import json
import math
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from leogym.agents.training.stopping import Stop
from leogym.configs import output_folder
from leogym.configs.atomic import sync_file, sync_folder, write_atomically
from leogym.configs.errors import InputError

SPEC_VERSION = 1
"""Version of the observation and action specification that this build trains for."""

KEPT_CHECKPOINTS = 2
"""The latest checkpoint, and one more in case a reader has it open; older ones are removed."""


ALMOST_FULL_BYTES = 1 << 20
"""Free space below which an unexplained write error is taken for a full disk."""


def _json(data: Mapping[str, Any]) -> bytes:
    return (json.dumps(_finite(data), indent=2, default=str) + "\n").encode()


def _finite(value: Any) -> Any:
    """Replace nan and infinities by null, as JSON has neither."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class RunFolder:
    """One training run's outputs. Create with `create` or `open`, not directly.

    ``provenance`` comes from `results.provenance.describe` and goes into policy.json and summary.json.
    """

    def __init__(self, path: Path, provenance: Mapping[str, Any]) -> None:
        self.path = path
        self.provenance = dict(provenance)
        self._columns: dict[str, list[str]] = {}
        self.notes: dict[str, Any] = {}  # entries that `write_summary` adds to the engine's summary
        self.stop = Stop()

    @classmethod
    def create(cls, path: Path, config_yaml: str, provenance: Mapping[str, Any]) -> RunFolder:
        """Start a new run at ``path``, creating parents; ``config_yaml`` has the resolved settings.

        Raises:
            InputError: the folder holds a run or cannot be written.
        """
        if (path / "checkpoints" / "latest").exists() or (path / "summary.json").exists():
            raise InputError(
                f"{path}: (folder): has a run already; continue it with --resume or name another"
            )
        output_folder.require(path, "a training run")
        try:
            # Left by a run that was killed before its first checkpoint.
            for name in ("progress.csv", "evaluation.csv"):
                (path / name).unlink(missing_ok=True)
            (path / "checkpoints").mkdir(parents=True, exist_ok=True)
            (path / "policy").mkdir(exist_ok=True)
            made_by = {key: value for key, value in provenance.items() if key != "config"}
            header = f"# {json.dumps(made_by, default=str)}\n"
            write_atomically(path / "config.yaml", (header + config_yaml).encode())
        except OSError as error:
            raise InputError(f"{path}: (folder): cannot be written: {error.strerror}") from None
        return cls(path, provenance)

    def discard(self) -> None:
        """Remove what `create` made, unless the run has a checkpoint."""
        if self.latest_checkpoint() is not None:
            return
        for name in ("config.yaml", "progress.csv", "evaluation.csv"):
            (self.path / name).unlink(missing_ok=True)
        for folder in (
            self.path / "checkpoints" / "replay",
            self.path / "checkpoints",
            self.path / "policy",
            self.path,
        ):
            with contextlib.suppress(OSError):  # the folder holds other files
                folder.rmdir()

    @classmethod
    def open(cls, path: Path, provenance: Mapping[str, Any]) -> RunFolder:
        """Open the run at ``path`` to continue it from its latest checkpoint.

        Raises:
            InputError: the folder has no run or no checkpoint, or cannot be written.
        """
        if not (path / "config.yaml").is_file():
            raise InputError(f"{path}: config.yaml: no run to resume here")
        run = cls(path, provenance)
        if run.latest_checkpoint() is None:
            raise InputError(f"{path}: checkpoints/latest: no checkpoint to resume from")
        if not os.access(path, os.W_OK):
            raise InputError(f"{path}: (folder): cannot be written: Permission denied")
        (path / "policy").mkdir(exist_ok=True)
        return run

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints and of files that several checkpoints share."""
        return self.path / "checkpoints"

    @property
    def policy(self) -> Path:
        """The folder of the exported policy."""
        return self.path / "policy"

    @property
    def tensorboard(self) -> Path:
        """The folder of TensorBoard's event files."""
        return self.path / "tensorboard"

    def append_progress(self, row: Mapping[str, Any], name: str = "progress.csv") -> None:
        """Append ``row`` to progress.csv, or to the file ``name``.

        The first row sets the columns, which must include ``steps``; later ones may not add any.
        """
        path = self.path / name
        columns = self._columns.get(name) or self._read_columns(path)
        if columns is None:
            columns = list(row)
            write_atomically(path, _csv_line(columns))
        self._columns[name] = columns
        if unknown := row.keys() - set(columns):
            raise ValueError(f"{path}: {', '.join(sorted(unknown))}: not a column")
        # One write for a whole line: a kill can lose the line or its end, but no earlier line.
        with path.open("ab", buffering=0) as file:
            file.write(_csv_line([row.get(column, "") for column in columns]))

    def rewind_progress(self, steps: int, name: str = "progress.csv") -> None:
        """Drop the rows after ``steps`` and a half-written last line: the resumed run writes them again."""
        path = self.path / name
        columns = self._read_columns(path)
        if columns is None:
            return
        lines = path.read_bytes().split(b"\n")[:-1]  # the last item is half a line or empty
        at = columns.index("steps")
        rows = list(csv.reader(line.decode() for line in lines[1:]))
        kept = [row for row in rows if len(row) == len(columns) and int(row[at]) <= steps]
        write_atomically(path, b"".join(_csv_line(row) for row in [columns, *kept]))

    @staticmethod
    def _read_columns(path: Path) -> list[str] | None:
        if not path.is_file():
            return None
        with path.open(newline="", encoding="utf-8") as file:
            return next(csv.reader(file), None)

    def save_checkpoint(self, steps: int, write: Callable[[Path], None]) -> Path:
        """Write the checkpoint of ``steps``, make it the latest and return its folder.

        ``write`` fills a temporary folder, which is renamed once all files are on disk.
        """
        target = self.checkpoint_path(steps)
        temporary = self.checkpoints / f".{target.name}.tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        try:
            write(temporary)
        except (OSError, RuntimeError) as error:
            # PyTorch and NumPy report a full disk without its errno.
            full = not getattr(error, "errno", None) and self._room_bytes() < ALMOST_FULL_BYTES
            shutil.rmtree(temporary, ignore_errors=True)
            if full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target)) from None
            raise
        for path in temporary.rglob("*"):
            if path.is_file():
                sync_file(path)
        sync_folder(temporary)
        if target.exists():  # these steps have a checkpoint already, with the same state
            shutil.rmtree(temporary)
        else:
            os.replace(temporary, target)
        write_atomically(self.checkpoints / "latest", f"{target.name}\n".encode())
        self._prune()
        return target

    def _room_bytes(self) -> int:
        return shutil.disk_usage(self.path).free

    def _prune(self) -> None:
        best = self.best_checkpoint()
        for old in self.kept_checkpoints()[:-KEPT_CHECKPOINTS]:
            if old != best:
                shutil.rmtree(old, ignore_errors=True)

    def keep_best(self, steps: int) -> None:
        """Keep the checkpoint of ``steps`` and copy the current policy to ``best/``."""
        best = self.path / "best"
        best.mkdir(exist_ok=True)
        # The network last, so a reader of a new network never finds an older description.
        for name in ("policy.json", "policy.onnx"):
            write_atomically(best / name, (self.policy / name).read_bytes())
        write_atomically(self.checkpoints / "best", f"{steps:012d}\n".encode())
        self._prune()

    def best_checkpoint(self) -> Path | None:
        """Return the folder that ``checkpoints/best`` names, or None if no checkpoint was evaluated."""
        try:
            name = (self.checkpoints / "best").read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None
        return self.checkpoints / name if (self.checkpoints / name).is_dir() else None

    def checkpoint_path(self, steps: int) -> Path:
        """Return the path of the checkpoint of ``steps``, which may not exist."""
        return self.checkpoints / f"{steps:012d}"

    def latest_checkpoint(self) -> Path | None:
        """Return the folder that ``checkpoints/latest`` names, or None before the first checkpoint."""
        try:
            name = (self.checkpoints / "latest").read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None
        folder = self.checkpoints / name
        if not name or not folder.is_dir():
            raise InputError(f"{self.checkpoints / 'latest'}: names {name!r}, which does not exist")
        return folder

    def kept_checkpoints(self) -> list[Path]:
        """Return the complete checkpoints, oldest first."""
        folders = (path for path in self.checkpoints.iterdir() if path.is_dir())
        return sorted(path for path in folders if path.name.isdigit())

    def write_policy(
        self, onnx: bytes, description: Mapping[str, Any], steps: int | None, name: str | None = None
    ) -> Path:
        """Write policy/policy.onnx and policy/policy.json, with provenance; return the folder.

        Args:
            onnx: the network.
            description: further entries of policy.json: agent, spec_version, dimensions, interval_ms.
            steps: environment steps of training; None if unknown.
            name: for one of several policies, which go to policies/NAME instead.
        """
        folder = self.policy if name is None else self.path / "policies" / name
        folder.mkdir(parents=True, exist_ok=True)
        description = {
            "format": "leogym-policy",
            "version": 1,
            **description,
            **known_ranges(self.provenance.get("config")),
            "provenance": {**self.provenance, **({} if steps is None else {"steps": steps})},
        }
        write_atomically(folder / "policy.onnx", onnx)
        write_atomically(folder / "policy.json", _json(description))
        return folder

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write summary.json: ``summary``, `notes` and provenance."""
        write_atomically(
            self.path / "summary.json", _json({**summary, **self.notes, "provenance": self.provenance})
        )


def known_ranges(settings: Any) -> dict[str, Any]:
    """Return the entry ``known_ranges`` of policy.json from a run's settings; empty if they have none."""
    ranges = settings.get("known_ranges") if isinstance(settings, Mapping) else None
    given = {name: list(bounds) for name, bounds in (ranges or {}).items() if bounds is not None}
    return {"known_ranges": given} if given else {}


def _csv_line(values: list[Any]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue().encode()
