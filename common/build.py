"""The build that computes results, to compare two machines' or two evaluations'."""

import functools
import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import leosim

import leogym

FILES = (".py", ".yaml", ".onnx")
"""Suffixes of leogym's files that determine results."""
NOT_INSTALLED = "not installed"
REMEDY = "install the same wheels there"
_SHOWN = 12
"""Digits of a digest in a message."""


def core() -> str:
    """Return the digest of the simulator's sources, compiler and flags, and of this machine's arithmetic."""
    return f"{leosim.BUILD}-{arithmetic()}"


@functools.cache
def arithmetic() -> str:
    """Return a digest of what the C library computes: logarithms and powers differ between some of them."""
    points = [1.0 + index / 7.0 for index in range(2000)]
    values = [function(x) for x in points for function in (math.log, math.sin, math.cos, math.exp2)]
    values += [math.pow(x, 0.8) for x in points] + [math.atan2(x, 3.0) for x in points]
    return hashlib.sha256(" ".join(map(float.hex, values)).encode()).hexdigest()[:_SHOWN]


@functools.cache
def files() -> str:
    """Return the digest of leogym's own files but its tests: the same in a checkout and from a wheel."""
    root = Path(leogym.__file__).parent
    parts = []
    for folder, folders, names in os.walk(root, followlinks=True):  # rooms are links in a checkout
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            if name.endswith(FILES) and not name.startswith("test_") and name != "conftest.py":
                path = Path(folder) / name
                parts.append((path.relative_to(root).as_posix(), hashlib.sha256(path.read_bytes()).digest()))
    digest = hashlib.sha256()
    for name, content in sorted(parts):
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()


def here(packages: Sequence[str] = ()) -> dict[str, str]:
    """Return what determines this process's results, by name; ``packages`` adds versions of distributions."""
    found = {
        "leosim": getattr(leosim, "BUILD", "unknown"),
        "leogym": files(),
        "C library": arithmetic(),
    }
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = NOT_INSTALLED
    return found


def refusal(ours: Mapping[str, str], theirs: object) -> str | None:
    """Return why a node's results are refused, given its ``node`` (address) and `here`, or None."""
    if not isinstance(theirs, dict) or "node" not in theirs:
        return f"a node of the cluster has another leogym: {REMEDY}"
    why = difference(ours, theirs)
    return f"node {theirs['node']}: {why}" if why is not None else None


def difference(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str | None:
    """Return how another machine's `here` differs from ours, and the remedy; None: it does not."""
    for name, own in ours.items():
        other = theirs.get(name, "unknown")
        if other == own:
            continue
        if name == "leosim":
            return f"leosim is build {other[:_SHOWN]}, here {own[:_SHOWN]}: {REMEDY}"
        if name == "leogym":
            return f"leogym has other files ({other[:_SHOWN]}, here {own[:_SHOWN]}): {REMEDY}"
        if name == "C library":
            return "its C library rounds logarithms or powers otherwise: use the same system as here"
        return f"{name} is {other}, here {own}: install the same version there"
    return None
