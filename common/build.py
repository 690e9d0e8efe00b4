"""Digests of the software that computes results, to compare two machines or two evaluations."""

import functools
import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import leosim

import leogym

FILES = (".py", ".yaml", ".json", ".csv", ".onnx")
"""Suffixes of the leogym files that determine results."""
_TRAINED = Path("agents", "trained")
"""Its CSV files are the courses of trainings, which wheels do not have."""
NOT_INSTALLED = "not installed"
REMEDY = "install the same wheels there"
_DIGEST_DIGITS = 12
"""Digits of a digest in a message."""


def core() -> str:
    """Return the digest of the simulator's sources, compiler and flags, and of this machine's arithmetic."""
    return f"{leosim.BUILD}-{arithmetic()}"


@functools.cache
def arithmetic() -> str:
    """Return a digest of the C library's arithmetic: logarithms and powers differ between C libraries."""
    points = [1.0 + index / 7.0 for index in range(2000)]
    values = [function(x) for x in points for function in (math.log, math.sin, math.cos, math.exp2)]
    values += [math.pow(x, 0.8) for x in points] + [math.atan2(x, 3.0) for x in points]
    return hashlib.sha256(" ".join(map(float.hex, values)).encode()).hexdigest()[:_DIGEST_DIGITS]


@functools.cache
def files() -> str:
    """Return the digest of leogym's files without tests; a checkout and its wheel have the same digest."""
    root = Path(leogym.__file__).parent
    parts = []
    for folder, folders, names in os.walk(root, followlinks=True):  # rooms are links in a checkout
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            if name.endswith(FILES) and not name.startswith("test_") and name != "conftest.py":
                path = Path(folder) / name
                if path.suffix == ".csv" and path.relative_to(root).is_relative_to(_TRAINED):
                    continue
                parts.append((path.relative_to(root).as_posix(), hashlib.sha256(path.read_bytes()).digest()))
    digest = hashlib.sha256()
    for name, content in sorted(parts):
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()


def describe(packages: Sequence[str] = ()) -> dict[str, str]:
    """Return the versions and digests that determine results; ``packages`` adds versions of distributions."""
    versions = {
        "leosim": getattr(leosim, "BUILD", "unknown"),
        "leogym": files(),
        "C library": arithmetic(),
    }
    for name in packages:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = NOT_INSTALLED
    return versions


def refusal(here: Mapping[str, str], there: object) -> str | None:
    """Return why a node's results are refused, from its ``node`` (address) and build, or None."""
    if not isinstance(there, dict) or "node" not in there:
        return f"a node of the cluster has another leogym: {REMEDY}"
    why = difference(here, there)
    return f"node {there['node']}: {why}" if why is not None else None


def difference(here: Mapping[str, str], there: Mapping[str, str]) -> str | None:
    """Return how the build ``there`` differs from the build ``here``, and the remedy; None if equal."""
    for name, own in here.items():
        other = there.get(name, "unknown")
        if other == own:
            continue
        if name == "leosim":
            return f"leosim is build {other[:_DIGEST_DIGITS]}, here {own[:_DIGEST_DIGITS]}: {REMEDY}"
        if name == "leogym":
            return f"leogym has other files ({other[:_DIGEST_DIGITS]}, here {own[:_DIGEST_DIGITS]}): {REMEDY}"
        if name == "C library":
            return "its C library rounds logarithms or powers otherwise: use the same system as here"
        return f"{name} is {other}, here {own}: install the same version there"
    return None
