"""The user's home folder, which a user without a passwd entry and HOME, as in some containers, lacks."""

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
    """Give libraries a name and folders where the user has none: Matplotlib and PyTorch need them."""
    if folder() is not None:
        return
    os.environ.setdefault("USER", f"user-{os.getuid()}")
    root = os.environ.get("LEOGYM_CACHE")
    if root is None:
        root = tempfile.mkdtemp(prefix="leogym-home-")
        atexit.register(shutil.rmtree, root, ignore_errors=True)
    os.environ.setdefault("MPLCONFIGDIR", str(Path(root) / "matplotlib"))
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(root) / "torch"))
