"""Find and compile the Python modules that the guest's programs import."""

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

import leogym
from leogym.kernel_bridge.inside import guest_boot

PROGRAMS = (guest_boot.__name__, *guest_boot.PROGRAMS)
PROJECT = Path(leogym.__file__).parents[1]  # on the host, `_IN_GUEST` in the guest
_IN_GUEST = Path("/project")
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


def find_modules(programs: Sequence[str] = PROGRAMS) -> tuple[list[Path], list[Path]]:
    """Return the files that a fresh interpreter without site-packages imports for ``programs``.

    Returns:
        Files of Python's library (``.py`` and ``.so``) and files of this project; both sorted.

    Raises:
        RuntimeError: a program imports something else.
    """
    line = _fresh("-c", _IMPORT, str(PROJECT), *programs)
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"lab: the guest's modules: {done.stderr.strip().splitlines()[-1]}")
    paths = sorted({LIBRARY / "site.py", *map(Path, done.stdout.splitlines())})
    project = [path for path in paths if _is_project_file(path)]
    library = [path for path in paths if path.is_relative_to(LIBRARY) and path.suffix in (".py", ".so")]
    return [path for path in library if path not in project], project


def compile_modules(modules: Sequence[Path]) -> dict[Path, bytes]:
    """Return the modules' byte code by the path of the source; the guest does not compare the two.

    A fresh interpreter compiles them, so that the same modules give the same bytes. An interpreter with more
    imports shares more strings and writes them differently.
    """
    with tempfile.TemporaryDirectory() as folder:
        named = {path: Path(folder) / str(number) for number, path in enumerate(modules)}
        request = json.dumps([(str(path), str(_in_guest(path)), str(out)) for path, out in named.items()])
        subprocess.run(_fresh("-c", _COMPILE), input=request.encode(), check=True)
        return {path: out.read_bytes() for path, out in named.items()}


def name(path: Path) -> str:
    """Return the path of a module's byte code in the image."""
    return str(_in_guest(path).with_suffix(".pyc")).lstrip("/")


def is_project(name: str) -> bool:
    """Return whether a file of the image is a module of this project."""
    return Path("/", name).is_relative_to(_IN_GUEST)


def source(name: str) -> Path:
    """Return the source of this project's module with that name in an image."""
    return PROJECT / Path("/", name).relative_to(_IN_GUEST).with_suffix(".py")


def _in_guest(path: Path) -> Path:
    """Return a module's path in the guest, whose interpreter expects its library at the path on the host."""
    return _IN_GUEST / path.relative_to(PROJECT) if _is_project_file(path) else path


def _is_project_file(path: Path) -> bool:
    """Return whether a module belongs to this project; its wheel may lie within Python's library."""
    return path.is_relative_to(PROJECT / "leogym")


def _fresh(*arguments: str) -> list[str]:
    """Return the command line of an interpreter that ignores environment and site-packages."""
    return [os.path.realpath(sys.executable), "-I", "-S", *arguments]
