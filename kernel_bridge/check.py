"""Report what this machine has and lacks for runs on real TCP."""

from collections.abc import Iterator

from leogym.kernel_bridge import clean, tunnel
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.host import schemes
from leogym.kernel_bridge.lab import links as lab
from leogym.kernel_bridge.runner.backends import BACKENDS
from leogym.kernel_bridge.runner.served_flows import served


def check() -> Iterator[str]:
    """Yield a line about each requirement and leftover."""
    for name, backend in BACKENDS.items():
        yield f"backend {name}: {backend().missing() or 'ready'}"
    yield f"tunnel: {(tunnel.missing() or 'tunnel: ready').removeprefix('tunnel: ')}"
    lack = bridge_process.missing()
    yield f"leo-bridge: {(lack or 'leo-bridge: ready').removeprefix('leo-bridge: ')}"
    yield f"backend lab: {lab.missing() or 'ready'}"
    yield f"schemes of this kernel: {', '.join(schemes.available())}"
    yield f"schemes that leo-bridge adds: {', '.join(served()) or 'none'}"
    for path in clean.leftovers():
        yield f"{path}: left by a run that was killed (python -m kernel_bridge clean removes it)"
