"""The provenance in every output: command line, configuration, commit, seed, traces, versions."""

import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import leosim

import leogym
from leogym.common import home
from leogym.common.errors import printable

PACKAGES = ("leogym", "leosim", "numpy", "scipy", "polars", "torch", "gymnasium", "pydantic")
"""Distributions whose versions can change a result; missing ones are reported as absent."""

_REPOSITORY = Path(__file__).resolve().parents[1]
_WHEELS_COMMIT = Path(leogym.__file__).with_name("commit")
"""Written by ``scripts/added_to_wheel.py``; a checkout has none."""


def describe(
    config: dict[str, Any] | None = None,
    seed: int | None = None,
    traces: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Return the provenance of an output as JSON types.

    Args:
        config: the resolved configuration, with defaults.
        seed: the root seed.
        traces: path trace name to the SHA-256 of its CSV bytes.

    Returns:
        ``command``, ``commit`` (see `commit`), ``build`` (`leosim.BUILD`), ``date``
            (UTC, ISO 8601, whole seconds), ``versions``, ``platform``, ``seed``, ``config`` and ``traces``.
    """
    return {
        "command": command_line(),
        "commit": commit(),
        "build": leosim.BUILD,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "seed": seed,
        "config": config or {},
        "traces": dict(sorted((traces or {}).items())),
    }


def command_line(argv: list[str] | None = None, orig_argv: list[str] | None = None) -> str:
    """Return the command to repeat a run, quoted for a shell, without the user's folders.

    ``leogym COMMAND`` and ``python -m package`` are kept; a script's path is relative to the working folder
    if possible.
    """
    argv = sys.argv if argv is None else argv
    orig_argv = sys.orig_argv if orig_argv is None else orig_argv
    head, *arguments = argv or [""]
    if head.startswith("leogym "):  # as `common.entry_point` and the commands set it
        program = head.split()
    elif "-m" in orig_argv[: len(orig_argv) - len(arguments)]:
        program = ["python", "-m", orig_argv[orig_argv.index("-m") + 1]]
    elif head.endswith(".py"):
        program = ["python", anonymous(head)]
    else:
        program = [Path(head).name or "python"]
    return printable(shlex.join(program + [anonymous(argument) for argument in arguments]))


def anonymous(text: str) -> str:
    """Return ``text`` with the working folder relative and the home folder as ``~``."""
    for folder, short in ((os.getcwd(), ""), (str(home.folder() or ""), "~/")):
        if folder not in ("", "/"):
            text = text.replace(folder + "/", short)
            text = (short.rstrip("/") or ".") if text == folder else text
    return text


def commit() -> str | None:
    """Return the commit of this package's checkout, or the one that its wheel was built from.

    ``-dirty`` follows if tracked files differed. None: the wheel was built without git.
    """
    if _WHEELS_COMMIT.exists():
        return _WHEELS_COMMIT.read_text().strip()
    head = _git("rev-parse", "HEAD")
    if not head or _git("rev-parse", "--show-toplevel") != str(_REPOSITORY):
        return None
    return f"{head}-dirty" if _git("status", "--porcelain", "--untracked-files=no") else head


def versions() -> dict[str, str]:
    """Return the versions of Python and of all distributions in `PACKAGES`."""
    installed = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed[name] = "absent"
    return installed


def _git(*arguments: str) -> str | None:
    """Return git's stripped output, or None if git or the checkout is missing."""
    try:
        done = subprocess.run(
            ["git", "-C", str(_REPOSITORY), *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
