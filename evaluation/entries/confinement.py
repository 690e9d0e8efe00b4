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
X32 = 0x40000000
CLONE_THREAD = 0x00010000
EPERM, ENOSYS = 1, 38
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""As seccomp names them, by the machine's name."""
CLONE = {"x86_64": 56, "aarch64": 220}
CLONE3 = 435
TGKILL = {"x86_64": 234, "aarch64": 131}
KILL = {"x86_64": 62, "aarch64": 129}
CAPSET = {"x86_64": 126, "aarch64": 91}
MMAP = {"x86_64": 9, "aarch64": 222}
MAP_SHARED, MAP_ANONYMOUS = 0x01, 0x20
LIBRARIES_BYTES = 32 << 30
"""Address space beside a program's memory: PyTorch's libraries map gigabytes of which they read little."""
DENIED: dict[str, tuple[int | None, int | None]] = {
    # sockets
    "socket": (41, 198),
    "socketpair": (53, 199),
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pidfd_getfd": (438, 438),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    # new processes and programs
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    # attributes of files
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
    # namespaces, mounts, roots
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "mount_setattr": (442, 442),
    # large parts of the kernel that no program needs
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "memfd_create": (319, 279),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # limits
    "setrlimit": (160, 164),
    "prlimit64": (302, 261),
    # memory, semaphores and queues between processes
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    # the machine
    "mknod": (133, None),
    "mknodat": (259, 33),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, None),
    "ioperm": (173, None),
    "acct": (163, 89),
    "syslog": (103, 116),
}
"""System calls that fail with EPERM, with their numbers on x86-64 and on aarch64, which lacks some."""


def missing() -> str | None:
    """Return what this machine lacks for `confine`, or None."""
    if platform.machine() not in ARCHITECTURES:
        machines = " and ".join(ARCHITECTURES)
        return f"the seccomp filter is written for {machines}, not {platform.machine()}"
    if _interface() < 1:
        return "the kernel has no Landlock (Linux 5.13, CONFIG_SECURITY_LANDLOCK, lsm=landlock)"
    return None


def confine(readable: Sequence[str], memory_bytes: int, cpu_s: int) -> None:
    """Confine this process; raise an `OSError` if a part of it fails. There must be no other thread.

    Args:
        readable: files and folders that it may read; all others, and all writing, are denied.
        memory_bytes: limit of what the process can write to: its heap, stacks and private mappings.
        cpu_s: limit of CPU time; SIGXCPU ends the process there.
    """
    for kind, limit in (
        (resource.RLIMIT_DATA, memory_bytes),
        (resource.RLIMIT_AS, memory_bytes + LIBRARIES_BYTES),
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
    _call(CAPSET[platform.machine()], header, bytes(24))


def filter_program(machine: str, pid: int) -> list[tuple[int, int, int, int]]:
    """Return the lines of the seccomp filter for a machine: operation, jumps if true and false, constant."""
    allow, kill = 0x7FFF0000, 0x80000000
    refuse, unknown = 0x00050000 | EPERM, 0x00050000 | ENOSYS
    load, equal, at_least, any_bit, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    lines: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),
        (equal, 1, 0, ARCHITECTURES[machine]),
        (answer, 0, 0, kill),
        (load, 0, 0, 0),
    ]
    if machine == "x86_64":
        lines += [(at_least, 0, 1, X32), (answer, 0, 0, kill)]
    column = list(ARCHITECTURES).index(machine)
    for numbers in DENIED.values():
        if (number := numbers[column]) is not None:
            lines += [(equal, 0, 1, number), (answer, 0, 0, refuse)]
    lines += [(equal, 0, 1, CLONE3), (answer, 0, 0, unknown)]
    # No memory that can be shared, which would not count as the process's.
    lines += [(equal, 0, 5, MMAP[machine]), (load, 0, 0, 40), (any_bit, 0, 2, MAP_SHARED)]
    lines += [(any_bit, 0, 1, MAP_ANONYMOUS), (answer, 0, 0, refuse), (answer, 0, 0, allow)]
    # Threads, but no processes; signals, but to none other.
    lines += [(equal, 0, 4, CLONE[machine]), (load, 0, 0, 16), (any_bit, 1, 0, CLONE_THREAD)]
    lines += [(answer, 0, 0, refuse), (answer, 0, 0, allow)]
    lines += [
        (equal, 1, 0, TGKILL[machine]),
        (equal, 0, 4, KILL[machine]),
        (load, 0, 0, 16),
        (equal, 1, 0, pid),
    ]
    return [*lines, (answer, 0, 0, refuse), (answer, 0, 0, allow), (answer, 0, 0, allow)]


def _seccomp(pid: int) -> None:
    lines = filter_program(platform.machine(), pid)
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(lines), ctypes.addressof(held))
    _prctl(SECCOMP, FILTER, program)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(*arguments: object) -> int:
    result = _libc().syscall(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"system call {arguments[0]}: {os.strerror(number)}")
    return result


def _prctl(*arguments: object) -> None:
    padded = [
        argument if isinstance(argument, bytes) else ctypes.c_ulong(int(str(argument)))
        for argument in arguments
    ]
    if _libc().prctl(*padded, *[ctypes.c_ulong(0)] * (5 - len(padded))) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {arguments[0]}: {os.strerror(number)}")
