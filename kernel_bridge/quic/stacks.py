"""Find QUIC stacks, by the names of their schemes: ``quic:STACK-SCHEME``.

Those that come with this package are in ``stacks/``; `register` adds the user's.
"""

import hashlib
import importlib.util
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from leogym.common import home
from leogym.common.atomic import write_atomically
from leogym.common.errors import InputError
from leogym.configs import quic_stack
from leogym.configs.quic_stack import QuicStack
from leogym.kernel_bridge.host.installed import installed
from leogym.kernel_bridge.programs.binaries import find_program

PREFIX = "quic:"
PROGRAMS = Path(__file__).parent
"""The folder of this package's own programs in Python."""
_OWN = "$programs/"
_OURS = PROGRAMS / "stacks"
_IMPORT = """
import importlib, os, sys, sysconfig
for name in sys.argv[1:]:
    importlib.import_module(name)
folders = {sysconfig.get_path("purelib") + os.sep, sysconfig.get_path("platlib") + os.sep}
for name, module in list(sys.modules.items()):
    file = getattr(module, "__file__", None) or ""
    if "." not in name and file.startswith(tuple(folders)):
        print(os.path.dirname(file) if hasattr(module, "__path__") else file)
"""
"""Prints the packages (folders) and modules that some modules import, without Python's library."""


@dataclass(frozen=True)
class QuicScheme:
    """A congestion controller of a stack."""

    stack: QuicStack
    scheme: str


def registered() -> dict[str, QuicScheme]:
    """Return the schemes of all stacks, installed or not, by their names in scenarios."""
    schemes = {}
    # A user without a place for caches has registered none.
    own = sorted(folder.glob("*.yaml")) if (folder := _folder()) is not None else []
    for file in (*sorted(_OURS.glob("*.yaml")), *own):
        stack = quic_stack.load(file)
        for scheme in stack.schemes:
            schemes[f"{PREFIX}{stack.name}-{scheme}"] = QuicScheme(stack, scheme)
    return schemes


def register(file: Path) -> QuicStack:
    """Register the stack in a YAML file.

    Raises:
        InputError: the file is wrong, a program is missing, or a scheme of another stack has the same name.
    """
    stack = quic_stack.load(file)
    names = {f"{PREFIX}{stack.name}-{scheme}" for scheme in stack.schemes}
    others = {name for name, scheme in registered().items() if scheme.stack.name != stack.name}
    if (_OURS / f"{stack.name}.yaml").exists() or names & others:
        raise InputError(f"{file}: name: {stack.name}: the name of another stack")
    if (lack := missing(stack)) is not None:
        raise InputError(f"{file}: {lack}")
    version(stack)
    folder = _folder() or home.caches()
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / f"{stack.name}.yaml", file.read_bytes())
    return stack


def missing(stack: QuicStack) -> str | None:
    """Return one line about the first program or Python module that this machine lacks, or None."""
    for command in (stack.sender, stack.receiver):
        try:
            program(command[0])
        except InputError as error:
            return f"{str(error).removeprefix('quic: ')}: {stack.install}"
    for module in stack.modules:
        top = module.partition(".")[0]
        if importlib.util.find_spec(top) is None:
            return f"{top}: this Python has no such module: {stack.install}"
    return None


def module_files(stack: QuicStack) -> list[Path]:
    """Return the files of the stack's Python modules and of the packages that they import.

    Packages are whole, because some modules are imported late. Python's library is left out.

    Raises:
        InputError: they cannot be imported.
    """
    if not stack.modules:
        return []
    command = [program("python3"), "-I", "-c", _IMPORT, *stack.modules]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"quic:{stack.name}: modules: {done.stderr.strip().splitlines()[-1]}")
    files: list[Path] = []
    for path in map(Path, done.stdout.splitlines()):
        files += [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sorted(files)


def program(word: str) -> str:
    """Return the path of the program that a command's first word names.

    Raises:
        InputError: this machine lacks it.
    """
    ours = installed(word) if "/" not in word else None
    return str(ours.absolute()) if ours is not None else find_program(word, Path(), "quic")[1]


def version(stack: QuicStack) -> str:
    """Return what the stack's command for its version prints.

    Raises:
        InputError: it fails.
    """
    command = [program(stack.version[0]), *stack.version[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        why = (done.stderr.strip().splitlines() or ["prints nothing"])[-1]
        raise InputError(f"quic:{stack.name}: version: {command[0]}: {why}")
    return lines[0]


def describe(name: str) -> str | None:
    """Return a report's line about a scheme, with the stack's version; None if it is no stack's."""
    scheme = registered().get(name) if name.startswith(PREFIX) else None
    if scheme is None or missing(scheme.stack) is not None:
        return None
    return f"QUIC stack {scheme.stack.name} {version(scheme.stack)} with its {scheme.scheme}."


def digest() -> str:
    """Return a hash of the stacks that this machine has: their descriptions, programs and Python modules."""
    parts = []
    for stack in {scheme.stack.name: scheme.stack for scheme in registered().values()}.values():
        if missing(stack) is None:
            commands = (stack.sender, stack.receiver)
            files = [Path(program(command[0])) for command in commands]
            words = [word for command in commands for word in command if word.startswith(_OWN)]
            files += [PROGRAMS / word.removeprefix(_OWN) for word in words]
            # Byte code has the times of its sources.
            files += [file for file in module_files(stack) if file.suffix != ".pyc"]
            parts += [stack.model_dump_json().encode(), version(stack).encode()]
            parts += [file.read_bytes() for file in files]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _folder() -> Path | None:
    """Return the folder of registered stacks; None for a user without a home folder."""
    if root := os.environ.get("LEOGYM_CACHE"):
        return Path(root) / "quic"
    return None if home.folder() is None else home.caches() / "quic"
