"""Find QUIC stacks, by the names of their schemes: ``quic:STACK-SCHEME``.

Those that come with this package are in ``stacks/``; `register` adds the user's.
"""

import hashlib
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
_OURS = Path(__file__).parent / "stacks"


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
    """Return one line about the first program that this machine lacks, or None."""
    for command in (stack.sender, stack.receiver):
        try:
            program(command[0])
        except InputError as error:
            return f"{str(error).removeprefix('quic: ')}: {stack.install}"
    return None


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
    """Return a hash of the stacks that this machine has: their descriptions and programs."""
    parts = []
    for stack in {scheme.stack.name: scheme.stack for scheme in registered().values()}.values():
        if missing(stack) is None:
            programs = [Path(program(command[0])).read_bytes() for command in (stack.sender, stack.receiver)]
            parts += [stack.model_dump_json().encode(), version(stack).encode(), *programs]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _folder() -> Path | None:
    """Return the folder of registered stacks; None for a user without a home folder."""
    if root := os.environ.get("LEOGYM_CACHE"):
        return Path(root) / "quic"
    return None if home.folder() is None else home.caches() / "quic"
