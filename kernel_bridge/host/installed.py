"""Find the project's own programs, which a wheel or a build in a clone has installed."""

import shutil
import sys
import sysconfig
from pathlib import Path


def installed(name: str) -> Path | None:
    """Return the path of a program: in this Python's folder, where pip installs programs, or on the PATH."""
    folders = [
        Path(sys.executable).parent,
        Path(sysconfig.get_path("scripts")),
        Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))),
    ]
    for folder in folders:
        if (program := folder / name).is_file():
            return program
    on_path = shutil.which(name)
    return Path(on_path) if on_path else None
