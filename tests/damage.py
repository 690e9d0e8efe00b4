"""Damage the files of a folder in turn, so that tests can read the damaged folder.

A file is deleted, or one bit of its first, middle or last byte is flipped. `damaged` restores the folder
afterwards and removes files that a command wrote to it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PLACES = ("first", "middle", "last")
"""Bytes of a file that are flipped."""


@dataclass(frozen=True)
class Damage:
    """One change of one file."""

    file: str
    """Relative to the folder."""
    kind: str
    """``deleted``, ``empty``, or which byte is flipped, of `PLACES`."""

    def __str__(self) -> str:
        """Return the file and the kind."""
        return f"{self.file}: {self.kind}"

    def apply(self, folder: Path) -> None:
        """Change the file in ``folder``."""
        path = folder / self.file
        if self.kind == "deleted":
            path.unlink()
            return
        data = bytearray(path.read_bytes())
        if self.kind == "empty":
            data.clear()
        else:
            place = {"first": 0, "middle": len(data) // 2, "last": len(data) - 1}[self.kind]
            data[place] ^= 1
        path.unlink()  # other names of the same file keep their bytes
        path.write_bytes(data)


def damages(folder: Path, skip: Callable[[str], bool] = lambda name: False) -> list[Damage]:
    """Return every damage to each file beneath ``folder``; ``skip`` leaves files out by relative path."""
    damages = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or skip(name):
            continue
        damages.append(Damage(name, "deleted"))
        if path.stat().st_size:
            damages += [Damage(name, kind) for kind in ("empty", *PLACES)]
    return damages


@contextmanager
def damaged(folder: Path, damage: Damage) -> Iterator[None]:
    """Damage ``folder`` for the ``with`` block; afterwards the folder has its earlier files and bytes."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    damage.apply(folder)
    try:
        yield
    finally:
        for path in folder.rglob("*"):
            if path.is_file() and path not in before:
                path.unlink()
        for path, data in before.items():
            if not path.is_file() or path.read_bytes() != data:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
