"""The folder of one training run: config.yaml, progress.csv, checkpoints/, policy/ and summary.json.

Every file stays readable if the process is killed. A file gets its name only once its bytes are on disk, and
a resumed run drops a half-written last line of `progress.csv`.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leogym.agents.training import policy_folder
from leogym.agents.training.checkpoints import About, Checkpoints
from leogym.agents.training.stopping import Stop
from leogym.common import digests, output_folder
from leogym.common.atomic import write_atomically, write_together
from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError

RESUME = leogym_command("train", "--resume")

_HEADER = "# {"
"""Start of each config.yaml of a run: a comment with the run's provenance."""
EVALUATION = "evaluation.csv"
RUN = "config.yaml", "progress.csv", EVALUATION, "summary.json"
"""Files of a run's folder whose digests its ``SHA256SUMS`` has, each while it does not grow."""

TRACKED = "tensorboard", "wandb"
"""Folders in which trackers record."""


class RunFolder(Checkpoints):
    """One training run's outputs. Create with `create` or `open`, not directly.

    ``provenance`` comes from `results.provenance.describe` and goes into policy.json and summary.json.
    """

    def __init__(self, path: Path, provenance: Mapping[str, Any]) -> None:
        super().__init__(path)
        self.provenance = dict(provenance)
        self._columns: dict[str, list[str]] = {}
        self.notes: dict[str, Any] = {}  # entries that `write_summary` adds to the engine's summary
        self.stop = Stop()
        self._tracked_before = self._tracked()
        self._whole: set[str] = set()
        """Files that had their recorded digest when `open` read the folder."""

    def _tracked(self) -> set[Path]:
        """Return the files and folders of trackers."""
        return {record for name in TRACKED for record in (self.path / name).glob("*")}

    @classmethod
    def create(cls, path: Path, config_yaml: str, provenance: Mapping[str, Any]) -> RunFolder:
        """Start a new run at ``path``, creating parents; ``config_yaml`` has the resolved settings.

        Raises:
            InputError: the folder holds a run or cannot be written.
        """
        run = cls(path, provenance)
        latest = path / "checkpoints" / "latest"
        if latest.exists() or (path / "summary.json").exists() or run.kept_checkpoints():
            raise InputError(
                f"{path}: (folder): has a run already; continue it with --resume or name another"
            )
        output_folder.require(path, "a training run")
        config = path / "config.yaml"
        present = next((path / name for name in RUN if (path / name).exists()), None)
        if present and not (config.is_file() and config.read_bytes().startswith(_HEADER.encode())):
            # The folder ``checkpoints``, which names this one a run, is a user's own.
            rule = "a training run would replace this file of yours: name another folder"
            raise InputError(f"{present}: (file): {rule}")
        made_by = {key: value for key, value in provenance.items() if key != "config"}
        header = f"{_HEADER}{json.dumps(made_by, default=str)[1:]}\n"
        try:
            run._clear()
            write_together(path, digests.add_record({"config.yaml": (header + config_yaml).encode()}))
        except OSError as error:
            with contextlib.suppress(OSError):
                run.discard()
            raise InputError(f"{path}: (folder): cannot be written: {error.strerror}") from None
        return run

    def _clear(self) -> None:
        """Make the folders, and remove the files of a run that was killed before its first checkpoint."""
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        self.policy.mkdir(exist_ok=True)
        self.remove_unfinished()
        for name in ("progress.csv", EVALUATION):
            (self.path / name).unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove what `create` made, unless the run has a checkpoint."""
        if self.latest_checkpoint() is not None:
            return
        for name in (digests.NAME, "config.yaml", "progress.csv", EVALUATION):
            (self.path / name).unlink(missing_ok=True)
        for record in self._tracked() - self._tracked_before:
            if record.is_dir() and not record.is_symlink():
                shutil.rmtree(record, ignore_errors=True)
            else:
                record.unlink(missing_ok=True)
        for folder in (
            self.path / "checkpoints" / "replay",
            self.path / "checkpoints",
            self.path / "policy",
            *(self.path / name for name in TRACKED),
            self.path,
        ):
            with contextlib.suppress(OSError):  # the folder holds other files
                folder.rmdir()

    @classmethod
    def open(cls, path: Path, provenance: Mapping[str, Any]) -> RunFolder:
        """Open the run at ``path`` to continue it from its latest checkpoint.

        Raises:
            InputError: the folder has no run or no checkpoint, a file that the run continues from is missing
                or has changed, or the folder cannot be written.
        """
        run = cls(path, provenance)
        require_same_settings(path)
        latest = run.latest_checkpoint()
        if latest is None:
            raise InputError(f"{path}: checkpoints/latest: no checkpoint to resume from")
        if not os.access(path, os.W_OK):
            raise InputError(f"{path}: (folder): cannot be written: Permission denied")
        run.require_whole(latest)
        for folder in run.kept_checkpoints():
            About.read(folder)
        if "summary.json" in digests.changed(path):
            run.remade.append(f"{path / 'summary.json'}: was missing or had changed: made again")
        run._whole = digests.read(path).keys() - set(digests.changed(path))
        run._record("config.yaml", EVALUATION)
        run.remove_unfinished()
        if not (run.checkpoints / "latest").exists():
            write_atomically(run.checkpoints / "latest", f"{latest.name}\n".encode())
            run.remade.append(f"{run.checkpoints / 'latest'}: was missing: made again")
        run.policy.mkdir(exist_ok=True)
        return run

    @classmethod
    def begin_again(cls, path: Path, provenance: Mapping[str, Any]) -> RunFolder:
        """Open the run at ``path``, which has no checkpoint yet, to start it with its settings."""
        require_same_settings(path)
        run = cls(path, provenance)
        run._clear()
        return run

    @classmethod
    def branch(cls, source: Path, path: Path, config_yaml: str) -> None:
        """Copy the run at ``source`` to ``path``, to continue it there with the settings ``config_yaml``."""
        temporary = path.with_name(f".{path.name}.tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.copytree(source, temporary)
        (temporary / "summary.json").unlink(missing_ok=True)
        write_atomically(temporary / "config.yaml", config_yaml.encode())
        cls(temporary, {})._record("config.yaml", "evaluation.csv", changed="config.yaml")
        temporary.rename(path)

    def _record(self, *names: str, changed: str | None = None) -> None:
        """Let the folder's record have the digests of exactly ``names``, and a new one of ``changed``."""
        before = digests.read(self.path)
        recorded = {name: digest for name, digest in before.items() if name in names and name != changed}
        if changed is not None:
            recorded[changed] = digests.sha256(self.path / changed)
        if recorded != before:
            write_atomically(self.path / digests.NAME, digests.as_text(recorded))

    @property
    def policy(self) -> Path:
        """The folder of the exported policy, which is that of the latest checkpoint."""
        return self.path / "policy"

    def policies(self) -> list[Path]:
        """Return the folders of the flows' own policies in their order; empty if all flows share one."""
        return _policies_of(self.path)

    @property
    def tensorboard(self) -> Path:
        """The folder of TensorBoard's event files."""
        return self.path / TRACKED[0]

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
        try:
            self._rewind(path, steps)
        except (ValueError, IndexError):
            raise InputError(
                f"{path}: damaged: must have a column steps and whole numbers in it: restore the file, "
                "or delete it to continue without its earlier rows"
            ) from None

    def _rewind(self, path: Path, steps: int) -> None:
        columns = self._read_columns(path)
        if columns is None:
            return
        lines = path.read_bytes().split(b"\n")[:-1]  # the last item is half a line or empty
        at = columns.index("steps")
        rows = list(csv.reader(line.decode() for line in lines[1:]))
        earlier_rows = [row for row in rows if len(row) == len(columns) and int(row[at]) <= steps]
        write_atomically(path, b"".join(_csv_line(row) for row in [columns, *earlier_rows]))

    def restore_rows(self, steps: int, name: str = "progress.csv", *, finished: bool = False) -> None:
        """Make ``name`` hold the rows that it had at the checkpoint of ``steps``.

        The checkpoint has a copy of them; one of an earlier version has none, so rows after it are dropped.
        A row about the checkpoint itself stays if its digest is recorded: in evaluation.csv, and in the
        progress.csv of a ``finished`` run.
        """
        latest, path = self.latest_checkpoint(), self.path / name
        if latest is None or About.read(latest) is None:
            self.rewind_progress(steps, name)
            return
        copy = (latest / name).read_bytes() if (latest / name).is_file() else b""
        present = path.read_bytes() if path.is_file() else b""
        recorded = name in digests.read(self.path) and name not in digests.changed(self.path)
        has_last_row = (recorded and name == EVALUATION) or (finished and name in self._whole)
        if has_last_row and present.startswith(copy) and _steps(present) == [*_steps(copy), steps]:
            return
        if not present.startswith(copy):
            self.remade.append(f"{path}: was missing or had changed: made again from {latest / name}")
        if copy and present != copy:
            write_atomically(path, copy)
        elif not copy:
            path.unlink(missing_ok=True)

    def row_steps(self) -> int:
        """Return the steps of the last row of progress.csv; 0 without any."""
        path = self.path / "progress.csv"
        return max(_steps(path.read_bytes()), default=0) if path.is_file() else 0

    def record_rows(self, name: str) -> None:
        """Record the digest of a file whose rows are complete for now."""
        self._record("config.yaml", name, changed=name)

    @staticmethod
    def _read_columns(path: Path) -> list[str] | None:
        if not path.is_file():
            return None
        with path.open(newline="", encoding="utf-8") as file:
            return next(csv.reader(file), None)

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
        root = self.filling or self.path
        folder = root / "policy" if name is None else root / "policies" / name
        description = {
            "format": "leogym-policy",
            "version": 1,
            **description,
            **known_ranges(self.provenance.get("config")),
            "provenance": {**self.provenance, **({} if steps is None else {"steps": steps})},
        }
        policy_folder.write(folder, onnx, description)
        return folder

    def publish(self) -> list[Path]:
        """Make ``policy/`` and ``policies/`` hold the policies of the latest checkpoint.

        Returns:
            The folders that held others, or damaged ones.
        """
        latest = self.latest_checkpoint()
        if latest is None:
            return []
        sources = [latest / "policy", *_policies_of(latest)]
        targets = {self.path / source.relative_to(latest): source for source in sources if source.is_dir()}
        return [target for target, source in targets.items() if policy_folder.copy(source, target)]

    def keep_best(self, steps: int) -> list[Path]:
        """Make the checkpoint of ``steps`` the best one, and copy its policy, or policies, to ``best/``.

        Returns:
            The folders of ``best/`` that held other policies, and ``checkpoints/best`` if it named another
            checkpoint.
        """
        checkpoint, best, named = self.checkpoint_path(steps), self.path / "best", self.checkpoints / "best"
        source = checkpoint / "policy"
        pairs = [(source if source.is_dir() else self.policy, best)]
        pairs += [(own, best / "policies" / own.name) for own in _policies_of(checkpoint)]
        changed = []
        for policy, target in pairs:
            # A damaged checkpoint does no harm if its policy was copied before.
            safe = policy_folder.is_whole(target) and not policy_folder.is_whole(policy)
            if not safe and policy_folder.copy(policy, target):
                changed.append(target)
        if self._named("best") != f"{steps:012d}":
            write_atomically(named, f"{steps:012d}\n".encode())
            changed.append(named)
        self.prune()
        return changed

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write summary.json: ``summary``, `notes` and provenance; then record the digests of all files."""
        summary = {**summary, **dict(sorted(self.notes.items())), "provenance": self.provenance}
        data = policy_folder.as_json(summary)
        recorded = {name: digests.sha256(self.path / name) for name in RUN if (self.path / name).is_file()}
        recorded["summary.json"] = digests.sha256_of(data)
        # The record first: until the summary has its name, the run is not finished.
        write_together(self.path, {digests.NAME: digests.as_text(recorded), "summary.json": data})


def require_same_settings(path: Path) -> None:
    """Raise an `InputError` unless ``config.yaml`` of the run at ``path`` is as it was written."""
    if not (path / "config.yaml").is_file():
        raise InputError(f"{path}: config.yaml: no run to resume here")
    require_same(path, "config.yaml", "or use it for a new run by --config and another --out")


def require_same(path: Path, name: str, remedy: str = f"or make it again by {RESUME}") -> None:
    """Raise an `InputError` if the run at ``path`` recorded another digest of its file ``name``."""
    if name in digests.changed(path):
        raise InputError(
            f"{path / name}: is missing or differs from its digest in {digests.NAME}: restore it, {remedy}"
        )


def known_ranges(settings: Any) -> dict[str, Any]:
    """Return the entry ``known_ranges`` of policy.json from a run's settings; empty if they have none."""
    ranges = settings.get("known_ranges") if isinstance(settings, Mapping) else None
    bounds_by_name = {name: list(bounds) for name, bounds in (ranges or {}).items() if bounds is not None}
    return {"known_ranges": bounds_by_name} if bounds_by_name else {}


def _policies_of(folder: Path) -> list[Path]:
    """Return the folders ``policies/flow_0``, ``flow_1``, … in ``folder`` by their number."""
    return sorted((folder / "policies").glob("*"), key=lambda path: (len(path.name), path.name))


def _steps(rows: bytes) -> list[int]:
    """Return the column ``steps`` of a file's bytes, which have their recorded digest."""
    return [int(row["steps"]) for row in csv.DictReader(io.StringIO(rows.decode()))]


def _csv_line(values: list[Any]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue().encode()
