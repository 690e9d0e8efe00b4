"""A record of the SHA-256 digests of a folder's files, in ``sha256sum``'s format, to detect changes."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from leogym.common.atomic import write_atomically
from leogym.common.errors import InputError

NAME = "SHA256SUMS"


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(folder: Path, names: Iterable[str]) -> None:
    """Write the digests of the files ``names``, which are relative to ``folder``, to ``folder``."""
    write_atomically(folder / NAME, as_text({name: sha256(folder / name) for name in names}))


def as_text(digests: Mapping[str, str]) -> bytes:
    """Return digests by file name as the bytes of a record."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())).encode()


def add_record(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return ``files``, bytes by name, and the record of their digests."""
    return {**files, NAME: as_text({name: sha256_of(data) for name, data in files.items()})}


def sha256_of(data: bytes) -> str:
    """Return the SHA-256 of ``data``, as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def read(folder: Path) -> dict[str, str]:
    """Return the digests that `write` recorded, by file name; empty if ``folder`` has no record.

    Raises:
        InputError: the record is damaged.
    """
    path = folder / NAME
    if not path.exists():
        return {}
    digests = {}
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1):
        digest, separator, name = line.partition("  ")
        if not separator or len(digest) != 64 or not name:
            raise InputError(f"{path}:{number}: damaged: must be a SHA-256 and a file name")
        digests[name] = digest
    return digests


def changed(folder: Path) -> list[str]:
    """Return the recorded files of ``folder`` that are missing or have other bytes than when recorded."""
    return [
        name
        for name, digest in read(folder).items()
        if not (folder / name).is_file() or sha256(folder / name) != digest
    ]


UNSEALED = hashlib.sha256(b"leogym").hexdigest()
"""Placeholder for the digest in the bytes that `seal` digests; other text is unlikely to equal it."""


def seal(data: bytes) -> bytes:
    """Return a file's bytes with the first `UNSEALED` replaced by the SHA-256 of ``data``.

    The file then holds its own digest, so a kill between two writes cannot leave file and digest apart.
    """
    return data.replace(UNSEALED.encode(), hashlib.sha256(data).hexdigest().encode(), 1)


def is_intact(data: bytes, digest: str) -> bool:
    """Return whether ``data``, in which ``digest`` was read, has the bytes that `seal` returned."""
    return hashlib.sha256(data.replace(digest.encode(), UNSEALED.encode(), 1)).hexdigest() == digest
