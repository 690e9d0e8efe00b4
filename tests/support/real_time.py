"""What tests of real runs share: the machine before and after, and skips where it is too busy."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leogym.common.processes import descendants
from leogym.kernel_bridge.host import schemes
from leogym.kernel_bridge.runner.run_folder import TooSlowError


def machine_state(pid: int | None = None) -> dict[str, Any]:
    """Return what a run could leave behind, except other tests' parts; folders may be another process's."""
    rules = subprocess.run(["iptables-save"], capture_output=True, text=True, check=True).stdout
    settings = [path for path in Path("/proc/sys/net/ipv4").glob("*") if path.is_file()]
    return {
        "interfaces": sorted(path.name for path in Path("/sys/class/net").iterdir()),
        "rules": [line.split("[")[0] for line in rules.splitlines() if not line.startswith("#")],
        "mounts": Path("/proc/self/mounts").read_text(),
        "routes": Path("/proc/net/route").read_text().splitlines()[1:],
        "schemes": registered_schemes(),
        "folders": sorted(Path("/tmp").glob(f"leogym-*-{pid or os.getpid()}-*")),
        "processes": sorted(descendants(os.getpid()).values()),
        "settings": {
            path.name: path.read_text()
            for path in settings
            # Parallel tests may change these.
            if path.stat().st_mode & 0o400 and not path.name.endswith("_congestion_control")
        },
    }


def registered_schemes() -> list[str]:
    """Return the schemes that this process's runs registered with the kernel."""
    names = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    return [name for name in names if name.startswith(f"{schemes.NAME_PREFIX}{os.getpid():x}.")]


@contextlib.contextmanager
def on_a_quiet_machine() -> Iterator[None]:
    """Skip the test if the machine cannot keep up."""
    try:
        yield
    except TooSlowError as error:
        skip_if_invalid(str(error))


def skip_if_invalid(reason: str | None) -> None:
    """Skip the test if a run in real time does not count, for this reason."""
    if reason:
        pytest.skip(f"this machine is too busy for a run in real time: {reason}")
