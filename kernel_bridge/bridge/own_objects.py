"""The user's BPF objects: each is the scheme ``linux:NAME`` of the backends lab and kernel.

``leogym lab module`` registers them; leo-bridge loads them in each run that uses them.
"""

import hashlib
import os
import re
from pathlib import Path

from leogym.common import home
from leogym.common.errors import InputError

PREFIX = "linux:"
"""Prefix of the user's own kernel schemes: modules (`kernel_bridge.lab.own_modules`) and BPF objects."""
SUFFIX = ".bpf.o"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


def folder() -> Path:
    """Return the folder of registered objects: ``$LEOGYM_CACHE/bpf``, or ``~/.cache/leogym/bpf``."""
    root = os.environ.get("LEOGYM_CACHE")
    return (Path(root) if root else home.caches()) / "bpf"


def registered() -> dict[str, Path]:
    """Return the files of the registered objects, by scheme (``linux:NAME``)."""
    if home.folder() is None and not os.environ.get("LEOGYM_CACHE"):
        return {}  # a user without a home folder has none
    return {PREFIX + file.name.removesuffix(SUFFIX): file for file in sorted(folder().glob(f"*{SUFFIX}"))}


def digests() -> list[str]:
    """Return the hashes of the registered objects."""
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in registered().values()]


def require_name(name: str) -> None:
    """Raise an InputError if a name cannot follow `PREFIX`."""
    if _NAME.fullmatch(name) is None:
        raise InputError(f"lab module: --name {name}: must be of lower-case letters, digits, - and _")
