"""The user's home folder, which a user without a passwd entry and HOME, as in some containers, lacks."""

from pathlib import Path

from leogym.configs.errors import InputError


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
        raise InputError("LEOGYM_CACHE: name a folder for caches: this user has no home folder")
    return home / ".cache" / "leogym"
