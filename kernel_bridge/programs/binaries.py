"""Find the files that a program of this machine needs: libraries, interpreters, Python's library."""

import json
import os
import platform
import re
import shutil
import struct
import subprocess
from pathlib import Path

from leogym.common.errors import InputError
from leogym.kernel_bridge.host.namespaces import PATH

_ELF, _SCRIPT = b"\x7fELF", b"#!"
_MACHINES = {3: "i386", 40: "ARM", 62: "x86_64", 183: "aarch64", 243: "RISC-V"}
_PROGRAM_INTERPRETER, _DYNAMIC = 3, 2  # PT_INTERP and PT_DYNAMIC of <elf.h>
_ENV = "env"
_OPENED_AT_RUN_TIME = ("libgcc_s.so.1", "libnss_files.so.2")
"""Libraries that glibc opens by name: to cancel threads, and (before 2.34) to read /etc/hosts."""
_PYTHON = """
import json, sys, sysconfig
paths = sysconfig.get_paths(vars={"base": sys.base_prefix, "platbase": sys.base_exec_prefix})
print(json.dumps([sys.version_info[:2], sys.implementation.cache_tag, paths["stdlib"], paths["platstdlib"]]))
"""
_UNUSED_IN_PYTHON = (
    *("test", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "pydoc_data"),
    *("site-packages", "dist-packages"),
)


def opened_at_run_time(folder: Path) -> list[Path]:
    """Return the libraries in ``folder``, that of libc, which glibc opens by name."""
    return [path for library in _OPENED_AT_RUN_TIME if (path := folder / library).exists()]


class Binaries:
    """Files of programs by their path on a host, which is their path on this machine."""

    def __init__(self) -> None:
        self.files: dict[str, Path] = {}

    def add(self, program: Path, place: str, name: str) -> None:
        """Add a program or library at a place, and all that it needs.

        Args:
            program: its file on this machine.
            place: its absolute path on the host.
            name: the beginning of error messages.

        Raises:
            InputError: it cannot run on a host.
        """
        if place in self.files:
            return
        try:
            with program.open("rb") as file:
                head = file.read(256)
        except OSError as error:
            raise InputError(f"{name}: {program}: cannot be read: {error.strerror}") from None
        if head.startswith(_ELF):
            self.files[place] = program
            self._add_libraries(program, head, name)
            if program.name.startswith(("python3", "pypy3")) or place.rsplit("/", 1)[-1] == "python":
                self._add_python(program, place, name)
        elif head.startswith(_SCRIPT):
            self.files[place] = program
            self._add_interpreter(head, program, name)
        else:
            raise InputError(f"{name}: {program}: neither a program (ELF) nor a script (#!)")

    def add_command(self, word: str, folder: Path, name: str) -> str:
        """Add the program that a command's first word names; return the word for the host.

        Args:
            word: a name that is looked up on ``PATH``, or a path relative to ``folder``.
            folder: this machine's folder for relative paths.
            name: the beginning of error messages.
        """
        program, place = find_program(word, folder, name)
        self.add(program, place, name)
        return word if str(Path(place).parent) in PATH.split(":") else place

    def _add_libraries(self, program: Path, head: bytes, name: str) -> None:
        machine = struct.unpack_from("<H", head, 18)[0]
        here = platform.machine()
        if _MACHINES.get(machine) != here or head[4] != 2:
            raise InputError(
                f"{name}: {program}: a program for {_MACHINES.get(machine, f'machine {machine}')}, "
                f"but the hosts are {here}"
            )
        interpreter, is_dynamic = _read_segments(program)
        if interpreter is not None:
            loader = Path(interpreter)
            if not loader.exists():
                raise InputError(f"{name}: {program}: its loader {loader} is not on this machine")
            self.files[str(loader)] = loader
        elif is_dynamic:
            loader = Path("/lib64/ld-linux-x86-64.so.2")  # a library, or a static program at any address
        else:
            return
        done = subprocess.run([loader, "--list", program], capture_output=True, text=True, check=False)
        if done.returncode and interpreter is None:
            return
        if (missing := re.search(r"loading shared libraries: (\S+): cannot open", done.stderr)) is not None:
            raise InputError(f"{name}: {program}: its library {missing[1]} is not on this machine")
        for line in done.stdout.splitlines():
            _, _, target = line.strip().partition(" => ")
            if target.startswith("/"):
                path = Path(target.rsplit(" (", 1)[0])
                self.files[str(path)] = path
                self._add_opened(path.parent)
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["the loader fails"])[-1]
            raise InputError(f"{name}: {program}: {why}")

    def _add_opened(self, folder: Path) -> None:
        self.files |= {str(path): path for path in opened_at_run_time(folder)}

    def _add_interpreter(self, head: bytes, script: Path, name: str) -> None:
        words = head.split(b"\n", 1)[0].removeprefix(_SCRIPT).decode(errors="replace").split()
        if not words or not Path(words[0]).exists():
            raise InputError(
                f"{name}: {script}: its interpreter {' '.join(words[:1])} is not on this machine"
            )
        self.add(Path(words[0]), words[0], name)
        if Path(words[0]).name == _ENV:
            named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
            if named:
                self.add(*_on_path(named[0], f"{name}: {script}: its interpreter"), name)

    def _add_python(self, program: Path, place: str, name: str) -> None:
        """Add the standard library of a Python interpreter, without tests and graphical programs."""
        done = subprocess.run([program, "-I", "-c", _PYTHON], capture_output=True, text=True, check=False)
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["no answer"])[-1]
            raise InputError(f"{name}: {program}: {why}")
        _, tag, *folders = json.loads(done.stdout)
        settings = Path(place).parent.parent / "pyvenv.cfg"
        if settings.exists():
            self.files[str(settings)] = settings
        for folder in sorted(set(folders)):
            self.files |= {str(path): path for path in _used_in_python(folder, tag)}
        for path in [path for path in self.files.values() if path.suffix == ".so"]:
            if "lib-dynload" in path.parts:
                self._add_libraries(path, path.read_bytes()[:64], name)

    def add_folder(self, folder: Path, place: str) -> None:
        """Add all files below a folder."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.files[f"{place}/{path.relative_to(folder)}"] = path


def find_program(word: str, folder: Path, name: str) -> tuple[Path, str]:
    """Return the program that a command's first word names, and its absolute path.

    Raises:
        InputError: there is none; ``name`` begins the message.
    """
    if "/" in word:
        program = folder / word
        if not program.is_file():
            raise InputError(f"{name}: {word}: no such program")
        return program, str(program.absolute())
    return _on_path(word, name)


def _on_path(word: str, name: str) -> tuple[Path, str]:
    # A shim of pyenv, asdf and their like starts its manager, which a host lacks.
    folders = [folder for folder in os.get_exec_path() if Path(folder).name != "shims"]
    program = shutil.which(word, path=os.pathsep.join(folders)) or shutil.which(word, path=PATH)
    if program is None:
        reason = (
            "only a version manager's shim is on this machine's PATH"
            if shutil.which(word)
            else "not on this machine's PATH"
        )
        raise InputError(f"{name}: {word}: {reason}")
    return Path(program), str(Path(program).absolute())


def _used_in_python(library: str, tag: str) -> list[Path]:
    """Return the files of a standard library that a program may use, without entering unused folders."""

    def is_used(name: str) -> bool:
        return name not in _UNUSED_IN_PYTHON and not name.startswith(("config-", "_tkinter."))

    used = []
    for folder, folders, names in os.walk(library):
        folders[:] = filter(is_used, folders)
        compiled_for_others = [
            name for name in names if name.endswith(".pyc") and not name.endswith(f".{tag}.pyc")
        ]
        for name in filter(is_used, set(names).difference(compiled_for_others)):
            path = Path(folder, name)
            if path.is_file():
                used.append(path)
    return sorted(used)


def _read_segments(program: Path) -> tuple[str | None, bool]:
    """Return the loader that an ELF file asks for, and whether it has a dynamic section (elf(5))."""
    data = program.read_bytes()
    offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    interpreter, is_dynamic = None, False
    for number in range(count):
        kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", data, offset + number * size)
        if kind == _PROGRAM_INTERPRETER:
            interpreter = data[start : start + length].rstrip(b"\0").decode()
        is_dynamic |= kind == _DYNAMIC
    return interpreter, is_dynamic
