"""Numbers of jobs that a machine can run at a time."""

import os
from pathlib import Path

from leogym.common.errors import InputError

MAX_JOBS_PER_CORE = 32
"""Most threads or processes per core: with more, the machine mostly changes between them."""
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def memory_bytes() -> int:
    """Return the memory that this process may use: the machine's or its control group's, the smaller."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in map(Path, _CGROUP_LIMITS):
        if path.is_file() and (text := path.read_text().strip()).isdecimal():
            limits.append(int(text))
    return min(limits)


def most_at_a_time(each_bytes: int) -> int:
    """Return how many jobs that need ``each_bytes`` of memory the machine can run at a time, at least 1."""
    return max(1, min(MAX_JOBS_PER_CORE * cores(), memory_bytes() // each_bytes))


def require_at_a_time(count: int, source: str, each_bytes: int) -> None:
    """Raise an `InputError` if the machine cannot run ``count`` jobs at a time that need ``each_bytes``."""
    most = most_at_a_time(each_bytes)
    if count > most:
        raise InputError(
            f"{source}: {count}: this machine can run at most {most} at a time "
            f"({cores()} cores, {memory_bytes() / 1e9:.0f} GB of memory, {each_bytes / 1e6:,.0f} MB each)"
        )
