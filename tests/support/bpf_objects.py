"""Find eBPF objects of a process and whether the kernel still has them, to test that none are left behind."""

import ctypes
import errno
import os
import platform
from pathlib import Path
from typing import NamedTuple

_SYSCALL = {"x86_64": 321, "aarch64": 280}
"""bpf(2)."""
_GET_FD_BY_ID = {"prog": 13, "map": 14, "link": 30}
"""enum bpf_cmd of include/uapi/linux/bpf.h."""


class BpfObject(NamedTuple):
    kind: str
    id: int


def held_by(pid: int) -> set[BpfObject]:
    """Return the programs, maps and links that a process has open."""
    objects = set()
    for descriptor in list(Path("/proc", str(pid), "fdinfo").iterdir()):
        try:
            lines = descriptor.read_text().splitlines()
        except FileNotFoundError:  # closed in the meantime
            continue
        for line in lines:
            name, _, value = line.partition(":")
            if (kind := name.removesuffix("_id")) in _GET_FD_BY_ID and name != kind:
                objects.add(BpfObject(kind, int(value)))
    return objects


def still_there(objects: set[BpfObject]) -> set[BpfObject]:
    """Return the objects that the kernel still has; needs root."""
    return {item for item in objects if _exists(item)}


def _exists(item: BpfObject) -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = (ctypes.c_uint32 * 3)(item.id)
    command = _GET_FD_BY_ID[item.kind]
    number = _SYSCALL[platform.machine()]
    descriptor = libc.syscall(number, command, ctypes.byref(attributes), ctypes.sizeof(attributes))
    if descriptor >= 0:
        os.close(descriptor)
        return True
    if (error := ctypes.get_errno()) != errno.ENOENT:
        raise OSError(error, f"bpf: {item}: {os.strerror(error)}")
    return False
