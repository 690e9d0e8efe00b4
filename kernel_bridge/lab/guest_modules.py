"""The Python modules of the guest: what a fresh interpreter imports with the programs that run there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

PROGRAMS = tuple(f"kernel_bridge.inside.{name}" for name in ("guest_boot", "guest_scenario", "guest_bridge"))
"""What the guest runs with ``python -m``, and what it imports only where a flow needs leo-bridge."""
PROJECT = Path(__file__).parents[2]
"""Where this project's packages are."""
_IN_GUEST = Path("/project")
"""Where they are in the guest."""
LIBRARY = Path(sysconfig.get_path("stdlib"))

_IMPORT = """
import encodings.ascii, encodings.latin_1, grp, importlib, os, pwd, runpy, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module(name)
files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
print(*filter(None, files), sep="\\n")
"""
_COMPILE = """
import json, py_compile, sys
for source, name, out in json.load(sys.stdin):
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(source, out, dfile=name, doraise=True, invalidation_mode=mode)
"""


def imported(programs: Sequence[str] = PROGRAMS) -> tuple[list[Path], list[Path]]:
    """Return the files of all modules that a fresh interpreter without site-packages imports.

    Args:
        programs: the modules that it is told to import.

    Returns:
        Those of Python's library, ``.py`` and ``.so``, and those of this project; both sorted.

    Raises:
        RuntimeError: a program imports what is in neither.
    """
    line = _fresh("-c", _IMPORT, str(PROJECT), *programs)
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"lab: the guest's modules: {done.stderr.strip().splitlines()[-1]}")
    paths = sorted({LIBRARY / "site.py", *map(Path, done.stdout.splitlines())})
    library = [path for path in paths if path.is_relative_to(LIBRARY) and path.suffix in (".py", ".so")]
    return library, [path for path in paths if path.is_relative_to(PROJECT / "kernel_bridge")]


def compiled(modules: Sequence[Path]) -> dict[Path, bytes]:
    """Return modules' byte code, which need not be compared with its source, by the path of its file.

    The same modules give the same bytes: the interpreter that compiles them does nothing else. One that has
    imported more shares more strings, and writes them differently.
    """
    with tempfile.TemporaryDirectory() as folder:
        named = {path: Path(folder) / str(number) for number, path in enumerate(modules)}
        told = json.dumps([(str(path), str(_in_guest(path)), str(out)) for path, out in named.items()])
        subprocess.run(_fresh("-c", _COMPILE), input=told.encode(), check=True)
        return {path: out.read_bytes() for path, out in named.items()}


def name(path: Path) -> str:
    """Return the name that a module's byte code has in the image."""
    return str(_in_guest(path).with_suffix(".pyc")).lstrip("/")


def is_project(name: str) -> bool:
    """Return whether a file of the image is a module of this project."""
    return Path("/", name).is_relative_to(_IN_GUEST)


def source(name: str) -> Path:
    """Return the source of a module of this project that has that name in an image."""
    return PROJECT / Path("/", name).relative_to(_IN_GUEST).with_suffix(".py")


def _in_guest(path: Path) -> Path:
    """Return where a module is in the guest: its interpreter looks for its library where it was built for."""
    return path if path.is_relative_to(LIBRARY) else _IN_GUEST / path.relative_to(PROJECT)


def _fresh(*arguments: str) -> list[str]:
    """Return the command line of an interpreter that is told nothing but its arguments."""
    return [os.path.realpath(sys.executable), "-I", "-S", *arguments]
