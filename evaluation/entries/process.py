"""A program as a running, confined process, and the plain binary protocol that the judge speaks with it.

All numbers are little-endian. The process first says hello. Then each request has one answer::

    message   u8 kind, u32 bytes, data          from the process
    hello     kind 1, JSON: interval_ms, knows_path
    request   u32 flows, u32 width, u32 slot per flow, f64 report per flow and field
    commands  kind 2, f64 window in packets and f64 pacing rate in Mbit/s per flow; NaN: not named
    error     kind 3, one line of UTF-8; the process ends
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import select
import signal
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from leogym.common.errors import InputError, printable
from leogym.evaluation.entries import confinement
from leogym.results.flow_report import PATH_FIELDS, FlowReport

WORKER = Path(__file__).with_name("worker.py")
HELLO, COMMANDS, ERROR = 1, 2, 3
MOST_ANSWER = 1 << 20
MOST_FILE = 64 << 20
START_S = 60.0
"""Time in which a process must say hello: it may import a large library on a busy machine."""
START_CPU_S = 20


class ProgramError(Exception):
    """A program failed: one line that says how."""


@dataclass(frozen=True)
class Limits:
    """What a program may use."""

    memory_mb: int = 2048
    """What its process may write to, whatever its libraries map."""
    answer_s: float = 5.0
    """Wall time until an answer: a program that is silent for longer hangs."""
    decision_cpu_ms: float = 2.0
    """CPU time per decision of a flow, on average over a run, beside `START_CPU_S` for its start."""


@dataclass(frozen=True)
class Program:
    """A program: its file as bytes, so that it can be sent to other machines, and what it says of itself."""

    kind: Literal["class", "library"]
    """``class``: a class of a Python file; ``library``: a shared library with a C interface."""
    name: str
    """The class's name; empty for a library."""
    data: bytes = field(repr=False)
    interval_ms: float = 0.0
    knows_path: bool = False
    """Whether its reports have `PATH_FIELDS`, which no sender measures."""
    limits: Limits = Limits()
    file: str = ""
    """The file's name, for messages."""

    @property
    def sha256(self) -> str:
        """The hash of all that determines its commands."""
        words = f"{self.kind}\0{self.name}\0{self.interval_ms!r}\0{self.knows_path}\0".encode()
        return hashlib.sha256(words + self.data).hexdigest()


def is_program(text: str) -> bool:
    """Return whether an entry's text is one of a program: ``FILE.py:Class`` or ``FILE.so``."""
    return text.partition(":")[0].endswith(".py") or text.endswith(".so")


def load(text: str, limits: Limits | None = None) -> Program:
    """Read a program and its attributes, which its process reports.

    Raises:
        InputError: the file cannot be read, this machine cannot confine it, or it does not start.
    """
    path, _, name = text.partition(":")
    library = path.endswith(".so")
    if library == bool(name):
        raise InputError(f"{text}: must be FILE.py:Class or FILE.so")
    if (lacking := confinement.missing()) is not None:
        raise InputError(f"{text}: no program is run here: {lacking}")
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > MOST_FILE:
        raise InputError(f"{path}: has {len(data)} bytes, at most {MOST_FILE} may be")
    program = Program(
        "library" if library else "class", name, data, limits=limits or Limits(), file=Path(path).name[-80:]
    )
    try:
        with Running(program, decisions=0) as running:
            return replace(program, interval_ms=running.interval_ms, knows_path=running.knows_path)
    except ProgramError as error:
        raise InputError(f"{text}: {error}") from None


class Running:
    """A program's process, as a context; its end takes everything with it.

    Args:
        program: the program; if it has an ``interval_ms``, the process must report the same attributes.
        decisions: how many decisions of flows it may be asked for; bounds its CPU time.

    Raises:
        ProgramError: the program failed; `act` raises it, too.
    """

    def __init__(self, program: Program, decisions: int) -> None:
        self._limits = limits = program.limits
        self._cpu_s = START_CPU_S + math.ceil(decisions * limits.decision_cpu_ms / 1000)
        self._folder = tempfile.TemporaryDirectory(prefix="leogym-entry-")
        file = Path(self._folder.name) / ("entry.so" if program.kind == "library" else "entry.py")
        file.write_bytes(program.data)
        config = {
            "kind": program.kind,
            "name": program.name,
            "file": str(file),
            "shown": program.file or file.name,
            "path": _python_path(),
            "readable": [*_readable(), str(file)],
            "memory_bytes": limits.memory_mb << 20,
            "cpu_s": self._cpu_s,
            "fields": [*FlowReport._fields, *PATH_FIELDS],
        }
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", str(WORKER), json.dumps(config)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,
            env=_environment(self._folder.name),
            start_new_session=True,
        )
        try:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._requests, self._answers = self._process.stdin.fileno(), self._process.stdout.fileno()
            os.set_blocking(self._answers, False)
            os.set_blocking(self._requests, False)
            self.interval_ms, self.knows_path = self._hello(program)
            self._folder.cleanup()  # it is loaded; a judge that is killed later leaves nothing behind
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def act(
        self, slots: Sequence[int], reports: Sequence[Sequence[float]]
    ) -> list[tuple[float | None, float | None]]:
        """Return window in packets and pacing rate in Mbit/s, if named, for a report of each of ``slots``.

        A report has the values of a `FlowReport` and, for a program that knows the path, of `PATH_FIELDS`.
        """
        width = len(reports[0])
        values = [value for report in reports for value in report]
        request = struct.pack(f"<II{len(slots)}I{len(values)}d", len(slots), width, *slots, *values)
        self._require_silence()
        end_s = time.monotonic() + self._limits.answer_s
        self._write(request, end_s)
        data = self._message(COMMANDS, self._limits.answer_s, end_s)
        if len(data) != 16 * len(slots):
            raise ProgramError(f"answer: garbage: {len(data)} bytes for {len(slots)} commands")
        named = [None if math.isnan(value) else value for (value,) in struct.iter_unpack("<d", data)]
        return list(zip(named[::2], named[1::2], strict=True))

    def close(self) -> None:
        """End the process and remove its folder."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def _hello(self, program: Program) -> tuple[float, bool]:
        try:
            hello: Any = json.loads(self._message(HELLO, START_S, time.monotonic() + START_S))
            interval_ms, knows_path = float(hello["interval_ms"]), bool(hello["knows_path"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ProgramError("hello: garbage") from None
        if program.interval_ms and (interval_ms, knows_path) != (program.interval_ms, program.knows_path):
            raise ProgramError("hello: differs from that of its first start")
        if not 0.1 <= interval_ms <= 10_000:
            raise ProgramError(f"interval_ms: {interval_ms:g}: must be from 0.1 to 10000")
        return interval_ms, knows_path

    def _require_silence(self) -> None:
        if select.select([self._answers], [], [], 0)[0]:
            raise ProgramError("answer: garbage: it wrote without being asked" + self._ended(": "))

    def _message(self, expected: int, wait_s: float, end_s: float) -> bytes:
        """Return the content of the next message, which must come by ``end_s``, after ``wait_s`` in all."""
        kind, size = struct.unpack("<BI", self._exactly(5, wait_s, end_s))
        if kind not in (expected, ERROR) or size > MOST_ANSWER:
            raise ProgramError("answer: garbage")
        data = self._exactly(size, wait_s, end_s)
        if kind == ERROR:
            raise ProgramError(_shown(data.decode("utf-8", "replace")))
        return data

    def _exactly(self, size: int, wait_s: float, end_s: float) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            if not select.select([self._answers], [], [], max(0.0, end_s - time.monotonic()))[0]:
                raise ProgramError(f"hangs: no answer within {wait_s:g} s")
            part = os.read(self._answers, size - len(parts))
            if not part:
                raise ProgramError(self._ended("") or "ended")
            parts += part
        return bytes(parts)

    def _write(self, data: bytes, end_s: float) -> None:
        while data:
            if not select.select([], [self._requests], [], max(0.0, end_s - time.monotonic()))[1]:
                raise ProgramError(f"hangs: no answer within {self._limits.answer_s:g} s")
            try:
                data = data[os.write(self._requests, data) :]
            except BrokenPipeError:
                raise ProgramError(self._ended("") or "ended") from None

    def _ended(self, before: str) -> str:
        """Return how the process ended; nothing if it does not within a second."""
        try:
            status = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return ""
        if status == -signal.SIGXCPU:
            return f"{before}used more than {self._cpu_s} s of CPU"
        if status < 0:
            return f"{before}ended by {signal.Signals(-status).name}"
        return f"{before}ended with status {status}"


def _readable() -> list[str]:
    """Return what a program may read: Python, its packages, the system's libraries, and two devices."""
    paths = sysconfig.get_paths()
    python = [sys.base_prefix, *(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))]
    system = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/dev/null", "/dev/urandom"]
    return [os.path.realpath(path) for path in dict.fromkeys([*python, *system])]


def _python_path() -> list[str]:
    paths = sysconfig.get_paths()
    standard = [path for path in sys.path if path.startswith(sys.base_prefix + os.sep)]
    return list(dict.fromkeys([*standard, paths["purelib"], paths["platlib"]]))


def _environment(folder: str) -> dict[str, str]:
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    # Python looks for a library with the compiler, in a temporary file, if it finds one: no program is found.
    return {
        "PATH": folder,
        "HOME": folder,
        "TMPDIR": folder,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        **one_thread,
    }


def _shown(text: str) -> str:
    return printable(" ".join(text.split()))
