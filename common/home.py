"""The user's home folder. In some containers a user has none, or cannot write to it."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path


def folder() -> Path | None:
    """Return the home folder; None if the user has none."""
    try:
        return Path.home()
    except (RuntimeError, KeyError):
        return None


def caches() -> Path:
    """Return ``~/.cache/leogym``; raise an `InputError` if the user has no home folder."""
    home = folder()
    if home is None:
        from leogym.common.errors import InputError  # here, as its import takes time

        raise InputError("LEOGYM_CACHE: name a folder for caches: this user has no home folder")
    return home / ".cache" / "leogym"


def prepare() -> None:
    """Give Matplotlib and PyTorch the name and the folders that they need where the user has none."""
    home = folder()
    if home is not None and os.access(home, os.W_OK):
        return
    os.environ.setdefault("USER", f"user-{os.getuid()}")
    root = os.environ.get("LEOGYM_CACHE")
    if root is None:
        root = tempfile.mkdtemp(prefix="leogym-home-")
        atexit.register(shutil.rmtree, root, ignore_errors=True)
    os.environ.setdefault("MPLCONFIGDIR", str(Path(root) / "matplotlib"))
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(root) / "torch"))
