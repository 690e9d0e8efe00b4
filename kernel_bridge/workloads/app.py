"""Find ``leo-app``, which runs both ends of a flow with a workload."""

from pathlib import Path

from leogym.common.extras import install
from leogym.kernel_bridge.host.installed import installed

NAME = "leo-app"


def program() -> Path | None:
    """Return the program's path, or None."""
    return installed(NAME)


def missing() -> str | None:
    """Return one line if the program is missing, or None."""
    return None if program() else f"leo-app: is not installed: {install('kernel')}, or make setup in a clone"
