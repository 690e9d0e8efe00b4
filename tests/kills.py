"""Kill a program at its writes to a folder, so that tests can resume its work.

The program is a function that runs in a forked process, so its imports are paid once. A second forked process
traces it and its threads and children (Linux's ptrace and seccomp) and stops each at every system call that
changes a file system, also in C++ and Rust. `stopped_at` kills the program instead of a write. `snapshots`
copies the folder before each write: the copy has the files that a kill at that write would leave.
"""

import csv
import ctypes
import io
import json
import os
import pickle
import re
import shutil
import signal
import struct
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.system_calls import CALLS, LOADS_OF_FLAGS, WRITE_FLAGS, Call

Work = Callable[[], Any]

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.ptrace.restype = ctypes.c_long
_LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_CONT, _SEIZE, _SYSCALL_INFO = 7, 0x4206, 0x420E
_EVENT_SECCOMP, _EVENT_STOP = 7, 128
_OPTIONS = 0x100080 | 0x2 | 0x4 | 0x8 | 0x10  # kill with the tracer; seccomp, fork, vfork, clone, exec
_WALL = 0x40000000  # threads, too
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


@dataclass(frozen=True)
class Write:
    """One change of the folder: a system call, such as ``rename``, and the path within the folder."""

    call: str
    path: str

    @property
    def kind(self) -> tuple[str, str]:
        """The call and the path without digits: checkpoints of all steps are of one kind."""
        return self.call, re.sub(r"\d+", "#", self.path)


@dataclass(frozen=True)
class Ended:
    """How a traced program ended: its exit status, -9 after a kill, and its writes in order."""

    status: int
    writes: list[Write]


def writes(work: Work, folder: Path) -> list[Write]:
    """Run ``work`` to its end in another process; return its writes beneath ``folder``, in order."""
    ended = _traced(work, folder, lambda number: None)
    assert ended.status == 0, f"the program ended with status {ended.status}"
    return ended.writes


def stopped_at(work: Work, folder: Path, number: int, by: int = signal.SIGKILL) -> Ended:
    """Run ``work`` in another process, and send it the signal ``by`` before its write ``number``, from 0.

    SIGKILL also kills its children, and the write does not happen. After another signal, the program
    continues.
    """

    def act(at: int) -> int | None:
        return by if at == number else None

    return _traced(work, folder, act)


def snapshots(work: Work, folder: Path, into: Path, chosen: Collection[int] | None = None) -> list[Write]:
    """Run ``work`` to its end in another process; copy ``folder`` to ``into/NUMBER`` before each write.

    The writes must come from one process and thread. Copies with equal content are left out, as are those
    before the folder exists.

    Args:
        work: the program.
        folder: the folder to which it writes.
        into: the folder of the copies.
        chosen: the numbers of the writes; None copies before all of them.

    Returns:
        All writes, in order.
    """
    before: dict[str, bytes] | None = None

    def copy(number: int) -> None:
        nonlocal before
        if folder.exists() and (chosen is None or number in chosen):
            content = contents(folder)
            if content != before:
                shutil.copytree(folder, into / str(number), symlinks=True)
                before = content

    ended = _traced(work, folder, copy)
    assert ended.status == 0, f"the program ended with status {ended.status}"
    return ended.writes


def of_each_kind(writes: list[Write], most: int, which: str = ".*") -> list[int]:
    """Return the numbers of at most ``most`` writes: the last one of each kind, then evenly spaced ones.

    ``which`` is a regular expression: it leaves out kinds of other paths, which other tests cover.
    """
    last = {write.kind: number for number, write in enumerate(writes) if re.fullmatch(which, write.path)}
    assert len(last) <= most, f"{len(last)} kinds of writes, but at most {most} points"
    remaining = most - len(last)
    spaced = {round((part + 0.5) * len(writes) / remaining - 0.5) for part in range(remaining)}
    return sorted(spaced | set(last.values()))


def put_back(copy: Path, folder: Path) -> None:
    """Replace ``folder`` by ``copy``."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(copy, folder, symlinks=True)


Mask = Callable[[bytes], bytes]


def contents(folder: Path, masks: Mapping[str, Mask] | None = None) -> dict[str, bytes]:
    """Return the bytes of every file beneath ``folder`` by relative path; folders have no bytes.

    ``masks`` has functions by a regular expression of the path: each maps the bytes of such files to what
    must be equal, and so leaves out wall times and dates.
    """
    contents = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        data = path.read_bytes() if path.is_file() else b""
        for pattern, mask in (masks or {}).items():
            if re.fullmatch(pattern, name):
                data = mask(data)
        contents[name] = data
    return contents


def differences(first: Mapping[str, bytes], second: Mapping[str, bytes]) -> list[str]:
    """Return the names of the files that differ or that only one side has."""
    return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))


def in_child(work: Work) -> int:
    """Run ``work`` in a forked process; return its exit status."""
    pid = os.fork()
    if not pid:
        _run(work)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _traced(work: Work, folder: Path, act: Callable[[int], int | None]) -> Ended:
    """Run ``work``; before each write call ``act(number)``, which may return a signal to send."""
    if sys.platform != "linux" or not CALLS:
        pytest.skip("system calls are traced on Linux, x86-64 and aarch64 only")
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        code = 1
        try:
            result = pickle.dumps(_Tracer(work, folder.resolve(), act).ended())
            with open(writer, "wb") as pipe:
                pipe.write(result)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader, "rb") as pipe:
        result = pipe.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0, "the tracer failed: see its traceback in stderr"
    return pickle.loads(result)


def _run(work: Work) -> None:
    """Run ``work`` as the program of this forked process, and end it."""
    code = 1
    try:
        result = work()
        code = result if isinstance(result, int) else 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


class _Tracer:
    """Traces ``work``, which it starts in a child of this process."""

    def __init__(self, work: Work, folder: Path, act: Callable[[int], int | None]) -> None:
        self._work, self._folder, self._act = work, folder, act
        self._writes: list[Write] = []

    def ended(self) -> Ended:
        """Return how the program ended."""
        reader, writer = os.pipe()
        self._program = os.fork()
        if not self._program:
            os.close(writer)
            os.read(reader, 1)  # wait until the tracer is attached
            os.close(reader)
            _install_filter()
            _run(self._work)
        if _ptrace(_SEIZE, self._program, _OPTIONS):
            raise OSError(ctypes.get_errno(), "cannot trace a child")
        os.write(writer, b".")
        while True:
            pid, status = os.waitpid(-1, _WALL)
            if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                if pid == self._program:
                    return Ended(os.waitstatus_to_exitcode(status), self._writes)
                continue
            event, stopped_by = status >> 16, os.WSTOPSIG(status)
            sent = 0
            if event == _EVENT_SECCOMP:
                if self._killed(pid):
                    return Ended(-signal.SIGKILL, self._writes)  # the children die with this process
            elif event == 0:
                sent = stopped_by
            _ptrace(_CONT, pid, sent)

    def _killed(self, pid: int) -> bool:
        write = self._write(pid)
        if write is None:
            return False
        number = len(self._writes)
        sent = self._act(number)
        self._writes.append(write)
        if sent == signal.SIGKILL:
            with suppress(ProcessLookupError):
                os.kill(self._program, signal.SIGKILL)
            return True
        if sent is not None:
            os.kill(self._program, sent)
        return False

    def _write(self, pid: int) -> Write | None:
        """Return the write that ``pid`` is about to make in the folder; None for other system calls."""
        info = ctypes.create_string_buffer(88)
        _LIBC.ptrace(_SYSCALL_INFO, pid, len(info), ctypes.addressof(info))
        number, *arguments = struct.unpack_from("<Q6Q", info.raw, 24)
        call = CALLS[number]
        for path in _paths(pid, call, arguments):
            with suppress(ValueError):
                return Write(call.name, str(path.relative_to(self._folder)))
        return None


def _paths(pid: int, call: Call, arguments: list[int]) -> Iterator[Path]:
    """Yield the absolute paths of a system call's files."""
    for place in call.descriptors:
        with suppress(OSError):
            yield Path(os.readlink(f"/proc/{pid}/fd/{_signed(arguments[place])}"))
    for folder, place in call.paths:
        with suppress(OSError):
            at = -100 if folder is None else _signed(arguments[folder])
            base = os.readlink(f"/proc/{pid}/cwd" if at == -100 else f"/proc/{pid}/fd/{at}")
            yield Path(os.path.normpath(os.path.join(base, _text(pid, arguments[place]))))


def _signed(value: int) -> int:
    return ctypes.c_int(value & 0xFFFFFFFF).value


def _text(pid: int, address: int) -> str:
    """Read a path from the memory of ``pid``."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        data = memory.read(4096 - address % 4096)
        if b"\0" not in data:
            data += memory.read(4096)
    return os.fsdecode(data.partition(b"\0")[0])


def _ptrace(request: int, pid: int, data: int) -> int:
    return _LIBC.ptrace(request, pid, None, data)


def _install_filter() -> None:
    """Make this process and its children stop at the calls in `CALLS`."""
    load, equal, common, returns = 0x20, 0x15, 0x45, 0x06
    program: list[tuple[int, int, int, int]] = []
    for number, call in CALLS.items():
        program.append((load, 0, 0, 0))  # the call's number
        if call.flags is None:
            program += [(equal, 0, 1, number), (returns, 0, 0, 0x7FF00000)]
        else:
            program += [
                (equal, 0, 3, number),
                (load, 0, 0, LOADS_OF_FLAGS + 8 * call.flags),
                (common, 0, 1, WRITE_FLAGS),
                (returns, 0, 0, 0x7FF00000),
            ]
    program.append((returns, 0, 0, 0x7FFF0000))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    described = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code)))
    _LIBC.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if _LIBC.prctl(_SECCOMP, _FILTER, ctypes.c_void_p(ctypes.addressof(described)), 0, 0):
        raise OSError(ctypes.get_errno(), "cannot filter system calls")


def without(*columns: str) -> Mask:
    """Return a mask that leaves ``columns`` out of a CSV file."""

    def mask(data: bytes) -> bytes:
        rows = list(csv.reader(io.StringIO(data.decode())))
        compared = [place for place, name in enumerate(rows[0]) if name not in columns] if rows else []
        return "\n".join(
            ",".join(row[place] for place in compared if place < len(row)) for row in rows
        ).encode()

    return mask


def without_keys(*keys: str) -> Mask:
    """Return a mask that leaves ``keys`` out of a JSON file, at any depth."""

    def leave_out(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: leave_out(item) for key, item in value.items() if key not in keys}
        return [leave_out(item) for item in value] if isinstance(value, list) else value

    return lambda data: json.dumps(leave_out(json.loads(data))).encode() if data else data


def ignore(data: bytes) -> bytes:
    """Mask a whole file."""
    return b""
