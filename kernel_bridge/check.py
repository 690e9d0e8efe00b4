"""Check this machine for runs on real TCP, and remove what killed runs left.

Interfaces, routes, iptables rules, mounts and processes live in private namespaces and end with them. Only
two things can stay. One is a session's folder, named after its process. The other is the congestion controls
of a bridge that was killed together with its guardian, on kernels before 6.4.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from leogym.common.command_line import leogym_command
from leogym.kernel_bridge import tunnel
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.host import schemes
from leogym.kernel_bridge.host.namespaces import FOLDERS, PREFIX
from leogym.kernel_bridge.lab import links as lab
from leogym.kernel_bridge.runner.backends import BACKENDS
from leogym.kernel_bridge.runner.served_flows import bridge_schemes
from leogym.kernel_bridge.workloads import app


def check() -> Iterator[str]:
    """Yield a line about each requirement and leftover."""
    for name, backend in BACKENDS.items():
        yield f"backend {_state(name, backend().missing())}"
    yield _state("tunnel", tunnel.missing())
    yield _state("leo-bridge", bridge_process.missing())
    yield _state(app.NAME, app.missing())
    yield f"backend {_state(lab.NAME, lab.missing())}"
    yield f"schemes of this kernel: {', '.join(schemes.available())}"
    yield f"schemes that leo-bridge adds: {', '.join(bridge_schemes()) or 'none'}"
    for path in leftovers():
        yield f"{path}: left by a run that was killed ({leogym_command('bridge', 'clean')} removes it)"


def _state(name: str, lack: str | None) -> str:
    return f"{name}: ready" if lack is None else f"{name}: {lack.removeprefix(f'{name}: ')}"


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
