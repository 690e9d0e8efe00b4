"""Report which requirements of runs on real TCP this machine meets."""

from collections.abc import Iterator

from leogym.common.command_line import leogym_command
from leogym.kernel_bridge import clean, tunnel
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.host import schemes
from leogym.kernel_bridge.lab import links as lab
from leogym.kernel_bridge.runner.backends import BACKENDS
from leogym.kernel_bridge.runner.served_flows import bridge_schemes


def check() -> Iterator[str]:
    """Yield a line about each requirement and leftover."""
    for name, backend in BACKENDS.items():
        yield f"backend {_state(name, backend().missing())}"
    yield _state("tunnel", tunnel.missing())
    yield _state("leo-bridge", bridge_process.missing())
    yield f"backend {_state(lab.NAME, lab.missing())}"
    yield f"schemes of this kernel: {', '.join(schemes.available())}"
    yield f"schemes that leo-bridge adds: {', '.join(bridge_schemes()) or 'none'}"
    for path in clean.leftovers():
        yield f"{path}: left by a run that was killed ({leogym_command('bridge', 'clean')} removes it)"


def _state(name: str, lack: str | None) -> str:
    return f"{name}: ready" if lack is None else f"{name}: {lack.removeprefix(f'{name}: ')}"
