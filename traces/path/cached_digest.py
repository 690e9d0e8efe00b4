"""The digest of a cached path trace, in a file next to it that also names the trace."""

from pathlib import Path

from leogym.common import digests
from leogym.common.atomic import write_atomically
from leogym.common.errors import InputError

MISSING = "missing"


def write(path: Path) -> None:
    """Write ``FILE.sha256`` next to the trace at ``path``, in ``sha256sum``'s format."""
    write_atomically(_beside(path), _line(path).encode())


def fault(path: Path) -> str | None:
    """Return the fault of the cached trace at ``path``, `MISSING` or a damage; None if it is intact."""
    if not path.is_file():
        return MISSING
    if not _beside(path).is_file():
        return "its digest is missing"
    if _beside(path).read_bytes() != _line(path).encode():
        return "does not have its digest"
    return None


def fault_in(path: Path) -> str | None:
    """Like `fault`, for a trace of a folder with one list of digests.

    A trace that neither the list nor the folder has is intact: its name is wrong.
    """
    folder = path.parent
    if not folder.is_dir():
        return MISSING
    try:
        recorded = digests.read(folder)
    except InputError:
        recorded = {}
    if not recorded:
        return "its digests are missing or damaged"
    digest = recorded.get(path.name)
    if (digests.sha256(path) if path.is_file() else None) != digest:
        return "does not have its digest"
    return None


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _line(path: Path) -> str:
    return f"{digests.sha256(path)}  {path.name}\n"
