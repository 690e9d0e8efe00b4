"""Confine the calling process, for good: `worker.py` loads this file and no other of the judge's.

Landlock (Linux 5.13) leaves it the files that Python needs, for reading. A seccomp filter takes away what
Landlock does not cover: sockets, other processes, new ones, programs, changes of files' attributes. All
capabilities go, too. Resource limits bound memory and CPU. Only the standard library is imported.
"""

import ctypes
import os
import platform
import resource
import struct
from collections.abc import Sequence

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on all machines
NO_NEW_PRIVS, SECCOMP, FILTER, DEATH_SIGNAL = 38, 22, 2, 1  # of prctl(2)
EXECUTE, READ_FILE, READ_DIR = 1 << 0, 1 << 2, 1 << 3
FILE_RIGHTS = (13, 13, 14, 15, 15, 16)
"""Number of Landlock's rights to files by version of its interface, from 1."""
ARCH = 0xC000003E
X32 = 0x40000000
CLONE, CLONE3, TGKILL, KILL = 56, 435, 234, 62
CLONE_THREAD = 0x00010000
EPERM, ENOSYS = 1, 38
DENIED = (
    *(41, 53),  # socket, socketpair
    *(101, 310, 311, 434, 424, 438, 200, 129, 297),  # ptrace, process_vm_*, pidfd_*, tkill, *sigqueueinfo
    *(57, 58, 59, 322),  # fork, vfork, execve, execveat
    *(90, 91, 268, 452, 92, 93, 94, 260),  # chmod and chown, all forms
    *(132, 235, 261, 280, 188, 189, 190, 197, 198, 199),  # times and extended attributes
    *(272, 308, 165, 166, 155, 161, 428, 429, 430, 442),  # unshare, setns, mounts, chroot
    *(321, 298, 323, 425, 426, 427, 319),  # bpf, perf_event_open, userfaultfd, io_uring, memfd_create
    *(248, 249, 250, 303, 304, 160, 302),  # keys, file handles, setrlimit, prlimit64
    *(29, 30, 31, 64, 68, 240),  # shared memory, semaphores and queues between processes
    *(
        133,
        259,
        175,
        313,
        176,
        246,
        169,
        167,
        168,
        164,
        227,
        159,
        170,
        171,
        172,
        173,
        163,
        103,
    ),  # the machine
)
"""System calls of x86-64 that fail with EPERM."""


def missing() -> str | None:
    """Return what this machine lacks for `confine`, or None."""
    if platform.machine() != "x86_64":
        return f"the seccomp filter is written for x86_64, not {platform.machine()}"
    if _interface() < 1:
        return "the kernel has no Landlock (Linux 5.13, CONFIG_SECURITY_LANDLOCK, lsm=landlock)"
    return None


def confine(readable: Sequence[str], memory_bytes: int, cpu_s: int) -> None:
    """Confine this process; raise an `OSError` if a part of it fails. There must be no other thread.

    Args:
        readable: files and folders that it may read; all others, and all writing, are denied.
        memory_bytes: limit of the address space.
        cpu_s: limit of CPU time; SIGXCPU ends the process there.
    """
    for kind, limit in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        resource.setrlimit(kind, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    _prctl(DEATH_SIGNAL, 9)
    _prctl(NO_NEW_PRIVS, 1)
    _landlock(readable)
    _no_capabilities()
    _seccomp(os.getpid())


def _interface() -> int:
    """Return the version of Landlock's interface; 0 without Landlock."""
    return max(0, _libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def _landlock(readable: Sequence[str]) -> None:
    version = _interface()
    if version < 1:
        raise OSError(ENOSYS, "no Landlock")
    everything = (1 << FILE_RIGHTS[min(version, len(FILE_RIGHTS)) - 1]) - 1
    attributes = struct.pack("=Q", everything)
    if version >= 4:
        attributes += struct.pack("=Q", 3)  # TCP: neither bind nor connect
    if version >= 6:
        attributes += struct.pack("=Q", 3)  # neither abstract sockets nor signals to others
    ruleset = _call(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    for path in readable:
        if not os.path.exists(path):
            continue
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rights = EXECUTE | READ_FILE | (READ_DIR if os.path.isdir(path) else 0)
        _call(ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, opened), 0)
        os.close(opened)
    _call(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _no_capabilities() -> None:
    header = struct.pack("=Ii", 0x20080522, 0)
    _call(126, header, bytes(24))


def _seccomp(pid: int) -> None:
    allow, kill = 0x7FFF0000, 0x80000000
    refuse, unknown = 0x00050000 | EPERM, 0x00050000 | ENOSYS
    load, equal, at_least, any_bit, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    lines: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),
        (equal, 1, 0, ARCH),
        (answer, 0, 0, kill),
        (load, 0, 0, 0),
        (at_least, 0, 1, X32),
        (answer, 0, 0, kill),
    ]
    for number in DENIED:
        lines += [(equal, 0, 1, number), (answer, 0, 0, refuse)]
    lines += [(equal, 0, 1, CLONE3), (answer, 0, 0, unknown)]
    # Threads, but no processes; signals, but to none other.
    lines += [(equal, 0, 4, CLONE), (load, 0, 0, 16), (any_bit, 1, 0, CLONE_THREAD), (answer, 0, 0, refuse)]
    lines += [(answer, 0, 0, allow)]
    lines += [(equal, 1, 0, TGKILL), (equal, 0, 4, KILL), (load, 0, 0, 16), (equal, 1, 0, pid)]
    lines += [(answer, 0, 0, refuse), (answer, 0, 0, allow), (answer, 0, 0, allow)]
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(lines), ctypes.addressof(held))
    _prctl(SECCOMP, FILTER, program)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(*arguments: object) -> int:
    found = _libc().syscall(*arguments)
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"system call {arguments[0]}: {os.strerror(number)}")
    return found


def _prctl(*arguments: object) -> None:
    padded = [one if isinstance(one, bytes) else ctypes.c_ulong(int(str(one))) for one in arguments]
    if _libc().prctl(*padded, *[ctypes.c_ulong(0)] * (5 - len(padded))) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {arguments[0]}: {os.strerror(number)}")
