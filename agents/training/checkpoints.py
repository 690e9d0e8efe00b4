"""The checkpoints of a run: complete folders, what each of them needs, and which of them are kept."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leogym.common import digests
from leogym.common.atomic import sync_file, sync_folder, write_atomically
from leogym.common.errors import InputError

KEPT_CHECKPOINTS = 2
"""The latest scheduled checkpoint, and one more in case a reader has it open; older ones are removed."""

ALMOST_FULL_BYTES = 1 << 20
"""Free space below which an unexplained write error is taken for a full disk."""

BUFFER_BYTES = 1 << 16
"""Bytes below the limit on file sizes at which a write in blocks may already have failed."""
WRITER = "inline_container"
"""The part of PyTorch that writes files; its errors name it."""

ABOUT = "checkpoint.json"
FORMAT = {"format": "leogym-checkpoint", "version": 1}
ROWS = ("progress.csv", "evaluation.csv")
"""Files of a run of which each checkpoint has a copy: a resumed run restores them."""
FILES = (digests.NAME, "config.yaml", *ROWS, "summary.json")
"""The files of a run beside its folders."""


@dataclass(frozen=True)
class About:
    """``checkpoint.json``: the description of a checkpoint."""

    scheduled: bool = True
    """Whether the run writes it also if nobody stops it. Only such checkpoints are evaluated."""
    shared: Mapping[str, str] = field(default_factory=dict)
    """Digests of the files that it shares with other checkpoints, by path below ``checkpoints/``."""

    @classmethod
    def read(cls, folder: Path) -> About | None:
        """Return what ``folder`` says; None for a checkpoint of an earlier version, which says nothing."""
        path = folder / ABOUT
        if not path.exists():
            if (folder / digests.NAME).exists():
                raise InputError(f"{path}: is missing: restore it, or delete the checkpoint's folder")
            return None
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            scheduled, shared = data.pop("scheduled"), data.pop("shared")
            if data != FORMAT:
                raise ValueError(f"must have {FORMAT}")
            if not isinstance(scheduled, bool) or not isinstance(shared, dict):
                raise ValueError("scheduled must be true or false, and shared digests by file")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            remedy = "restore it, or delete the checkpoint's folder"
            raise InputError(f"{path}: damaged: {error}: {remedy}") from None
        return cls(scheduled, shared)

    def as_json(self) -> bytes:
        """Return the bytes of ``checkpoint.json``."""
        about = {**FORMAT, "scheduled": self.scheduled}
        return (json.dumps({**about, "shared": dict(sorted(self.shared.items()))}, indent=1) + "\n").encode()


class Checkpoints:
    """The folder ``checkpoints/`` of the run at ``path``: a folder for each, ``latest`` and ``best``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.filling: Path | None = None
        """The folder of the checkpoint that is being written; policies exported meanwhile belong to it."""
        self.remade: list[str] = []
        """Lines about files that were missing or damaged and were made again."""

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints and of files that several checkpoints share."""
        return self.path / "checkpoints"

    def save_checkpoint(
        self,
        steps: int,
        write: Callable[[Path], Any],
        *,
        scheduled: bool = True,
        shared: Callable[[], Mapping[str, str]] = dict,
    ) -> Path:
        """Write the checkpoint of ``steps``, make it the latest and return its folder.

        Args:
            steps: environment steps so far.
            write: fills a temporary folder, which is renamed once all files are on disk. The policies that it
                exports become part of the checkpoint, and then the run's.
            scheduled: False for a checkpoint that only a request to stop causes: it is not evaluated, and the
                next scheduled one replaces it.
            shared: returns `About.shared`, after ``write``.
        """
        target = self.checkpoint_path(steps)
        temporary = self.checkpoints / f".{target.name}.tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        self.filling = temporary
        try:
            write(temporary)
            about = About(scheduled, shared())
            self._finish(temporary, about)
        except (OSError, RuntimeError) as error:
            number = getattr(error, "errno", None) or self._why_unwritable(error, temporary)
            shutil.rmtree(temporary, ignore_errors=True)
            if number is None:
                raise
            name = getattr(error, "filename", None) or str(target)
            raise OSError(number, os.strerror(number), name) from error
        finally:
            self.filling = None
        if target.exists():  # these steps have a checkpoint already, with the same state
            shutil.rmtree(temporary)
            before = About.read(target)
            if scheduled and before is not None and not before.scheduled:
                write_atomically(target / ABOUT, about.as_json())
        else:
            os.replace(temporary, target)
        write_atomically(self.checkpoints / "latest", f"{target.name}\n".encode())
        self.prune()
        return target

    def _finish(self, folder: Path, about: About) -> None:
        """Add the copies of rows, the digests and `ABOUT`, and wait until all files are on disk."""
        for name in ROWS:
            if (self.path / name).is_file():
                shutil.copyfile(self.path / name, folder / name)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        digests.write(folder, [path.relative_to(folder).as_posix() for path in files])
        (folder / ABOUT).write_bytes(about.as_json())
        for path in (*files, folder / ABOUT):
            sync_file(path)
        for path in (*(path for path in folder.rglob("*") if path.is_dir()), folder):
            sync_folder(path)

    def _why_unwritable(self, error: OSError | RuntimeError, folder: Path) -> int | None:
        """Return the error that PyTorch and NumPy report without its number; None if it is another one."""
        if isinstance(error, RuntimeError) and WRITER not in str(error):
            return None
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        largest = max((path.stat().st_size for path in folder.rglob("*") if path.is_file()), default=0)
        if limit != resource.RLIM_INFINITY and largest + BUFFER_BYTES >= limit:
            return errno.EFBIG
        return errno.ENOSPC if shutil.disk_usage(self.path).free < ALMOST_FULL_BYTES else None

    def prune(self) -> None:
        """Remove the checkpoints, and the files that they share, which nothing needs any more."""
        checkpoints = self.kept_checkpoints()
        abouts = {folder: About.read(folder) for folder in checkpoints}
        scheduled = [folder for folder, about in abouts.items() if about is None or about.scheduled]
        needed = {*scheduled[-KEPT_CHECKPOINTS:], *checkpoints[-1:], self.best_checkpoint()}
        for old in checkpoints:
            if old not in needed:
                # A kill while the folder is removed must not leave a part of it under its name.
                unwanted = self.checkpoints / f".{old.name}.tmp"
                os.replace(old, unwanted)
                shutil.rmtree(unwanted, ignore_errors=True)
        recent = [abouts[folder] for folder in (*scheduled[-KEPT_CHECKPOINTS:], *checkpoints[-1:])]
        if any(about is None for about in recent):  # of an earlier version, which names no files
            return
        shared = {name for about in recent if about is not None for name in about.shared}
        folders = {(self.checkpoints / name).parent for name in shared}
        for path in sorted(path for folder in folders for path in folder.iterdir()):
            if is_shared(path) and path.relative_to(self.checkpoints).as_posix() not in shared:
                path.unlink(missing_ok=True)

    def best_checkpoint(self) -> Path | None:
        """Return the folder that ``checkpoints/best`` names, or None if no checkpoint was evaluated."""
        name = self._named("best")
        return self.checkpoints / name if name and (self.checkpoints / name).is_dir() else None

    def checkpoint_path(self, steps: int) -> Path:
        """Return the path of the checkpoint of ``steps``, which may not exist."""
        return self.checkpoints / f"{steps:012d}"

    def latest_checkpoint(self) -> Path | None:
        """Return the folder that ``checkpoints/latest`` names, or None before the first checkpoint.

        Raises:
            InputError: ``latest`` is missing or damaged, or names no checkpoint.
        """
        path, checkpoints = self.checkpoints / "latest", self.kept_checkpoints()
        if not path.exists():
            return checkpoints[-1] if checkpoints else None
        name = self._named("latest")
        if name is None or not (self.checkpoints / name).is_dir():
            name_in_file = path.read_bytes()[:40].decode(errors="replace").strip()
            remedy = f": write {checkpoints[-1].name}, the newest one, into it" if checkpoints else ""
            raise InputError(f"{path}: names {name_in_file!r}, which does not exist{remedy}")
        return self.checkpoints / name

    def require_whole(self, folder: Path) -> None:
        """Raise an `InputError` if a file of the checkpoint, or one that it shares, has changed."""
        about = About.read(folder)
        paths = [folder / name for name in digests.changed(folder)]
        if about is not None and not digests.read(folder):
            paths.append(folder / digests.NAME)
        for name, digest in (about.shared if about else {}).items():
            path = self.checkpoints / name
            if not path.is_file() or digests.sha256(path) != digest:
                paths.append(path)
        if paths:
            earlier = [other.name for other in self.kept_checkpoints() if other.name < folder.name]
            latest = self.checkpoints / "latest"
            other = f"write {earlier[-1]} to {latest}" if earlier else "begin a new run"
            differs = (
                "" if paths[0].name == digests.NAME else f" or differs from its digest in {digests.NAME}"
            )
            why = f"is missing{differs}"
            raise InputError(f"{paths[0]}: {why}: restore it, or {other}")

    def is_scheduled(self, steps: int) -> bool:
        """Return whether the latest checkpoint is the scheduled one of ``steps``."""
        latest = self.latest_checkpoint()
        if latest is None or latest != self.checkpoint_path(steps):
            return False
        about = About.read(latest)
        return about is None or about.scheduled

    def kept_checkpoints(self) -> list[Path]:
        """Return the complete checkpoints, oldest first."""
        if not self.checkpoints.is_dir():
            return []
        folders = (path for path in self.checkpoints.iterdir() if path.is_dir())
        return sorted(path for path in folders if path.name.isdigit())

    def remove_unfinished(self) -> None:
        """Remove half-written files of a killed run."""
        for name in FILES:  # others in this folder may be a user's own
            (self.path / f".{name}.tmp").unlink(missing_ok=True)
        for folder in (self.checkpoints, *_shared_folders(self.checkpoints)):
            for path in folder.glob(".*.tmp"):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()

    def _named(self, file: str) -> str | None:
        """Return the checkpoint's name in ``checkpoints/FILE``; None if it is missing or damaged."""
        try:
            name = (self.checkpoints / file).read_bytes().decode("ascii").strip()
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        return name if re.fullmatch(r"\d{12,}", name) else None


def is_shared(path: Path) -> bool:
    """Return whether a file in a shared folder is a run's own: its name begins with digits."""
    return re.match(r"\d{12}", path.name) is not None and path.is_file()


def _shared_folders(checkpoints: Path) -> list[Path]:
    if not checkpoints.is_dir():
        return []
    return [path for path in checkpoints.iterdir() if path.is_dir() and not path.name.isdigit()]
