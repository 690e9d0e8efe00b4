"""Linux's system calls that change a file system, by number."""

import platform
from dataclasses import dataclass


@dataclass(frozen=True)
class Call:
    """A system call and the places of its files among its arguments."""

    name: str
    descriptors: tuple[int, ...] = ()
    """Places of open files."""
    paths: tuple[tuple[int | None, int], ...] = ()
    """Places of paths, each with that of the folder that relative ones start in; None: the process's."""
    flags: int | None = None
    """Place of the flags of an ``open``, which changes nothing without one of `WRITE_FLAGS`."""


WRITE_FLAGS = 0o1 | 0o2 | 0o100 | 0o1000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC
LOADS_OF_FLAGS = 16  # offset of the first argument in seccomp's data

_PLAIN = {
    85: Call("open", paths=((None, 0),)),  # creat
    2: Call("open", paths=((None, 0),), flags=1),
    82: Call("rename", paths=((None, 0), (None, 1))),
    87: Call("unlink", paths=((None, 0),)),
    83: Call("mkdir", paths=((None, 0),)),
    84: Call("rmdir", paths=((None, 0),)),
    76: Call("truncate", paths=((None, 0),)),
    86: Call("link", paths=((None, 0), (None, 1))),
    88: Call("symlink", paths=((None, 1),)),
}
"""Calls that only x86-64 has."""
_ON_DESCRIPTORS = {  # x86-64, aarch64: name
    (1, 64): "write",
    (18, 68): "write",
    (20, 66): "write",
    (296, 70): "write",
    (328, 287): "write",
    (77, 46): "truncate",
    (74, 82): "fsync",
    (75, 83): "fsync",
    (285, 47): "write",  # fallocate
    (40, 71): "write",  # sendfile
}
_AT = {
    (257, 56): Call("open", paths=((0, 1),), flags=2),
    (264, 38): Call("rename", paths=((0, 1), (2, 3))),
    (316, 276): Call("rename", paths=((0, 1), (2, 3))),
    (263, 35): Call("unlink", paths=((0, 1),)),
    (258, 34): Call("mkdir", paths=((0, 1),)),
    (265, 37): Call("link", paths=((0, 1), (2, 3))),
    (266, 36): Call("symlink", paths=((1, 2),)),
    (326, 285): Call("write", descriptors=(2,)),  # copy_file_range
}


def _calls() -> dict[int, Call]:
    column = {"x86_64": 0, "aarch64": 1}.get(platform.machine())
    if column is None:
        return {}
    calls = {numbers[column]: Call(name, descriptors=(0,)) for numbers, name in _ON_DESCRIPTORS.items()}
    calls |= {numbers[column]: call for numbers, call in _AT.items()}
    return calls | (_PLAIN if column == 0 else {})


CALLS = _calls()
"""By number on this machine; none on other kinds of machines."""
