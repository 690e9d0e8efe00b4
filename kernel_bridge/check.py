"""What this machine has and lacks for runs on real TCP."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_bridge import clean
from kernel_bridge.run import schemes
from kernel_bridge.run.backends import BACKENDS


def check() -> Iterator[str]:
    """Yield a line about each thing."""
    for name, backend in BACKENDS.items():
        yield f"backend {name}: {backend().missing() or 'ready'}"
    yield f"schemes of this kernel: {', '.join(schemes.available())}"
    for path in clean.leftovers():
        yield f"{path}: left by a run that was killed (python -m kernel_bridge clean removes it)"
