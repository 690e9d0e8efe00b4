"""Remove leftovers of killed runs.

Interfaces, routes, iptables rules, mounts and processes live in private namespaces and end with them. Only
two things can stay. One is a session's folder, named after its process. The other is the congestion controls
of a bridge that was killed together with its guardian, on kernels before 6.4.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.host.namespaces import FOLDERS, PREFIX

_NAME = re.compile(re.escape(PREFIX) + r"(?:mahimahi|tunnel|run-\w+)-(\d+)-\w+")


def leftovers(folder: Path = FOLDERS) -> Iterator[Path]:
    """Yield the folders of sessions whose process has ended."""
    for path in sorted(folder.glob(f"{PREFIX}*")):
        named = _NAME.fullmatch(path.name)
        if named and path.is_dir() and not path.is_symlink() and not Path("/proc", named[1]).exists():
            yield path


def clean(folder: Path = FOLDERS) -> Iterator[str]:
    """Remove leftovers of killed runs; yield a line about each item."""
    for path in list(leftovers(folder)):
        try:
            shutil.rmtree(path)
        except OSError as error:
            yield f"{path}: cannot be removed: {error.strerror}"
        else:
            yield f"removed {path}, the folder of a run that was killed"
    yield from bridge_process.clean()
