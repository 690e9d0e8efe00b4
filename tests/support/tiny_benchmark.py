"""A tiny version for tests: three suites of seconds, in ``tiny_benchmark/``."""

import shutil
from pathlib import Path


def write(folder: Path) -> Path:
    """Write the version's files to a folder; return it."""
    return shutil.copytree(Path(__file__).with_suffix(""), folder, dirs_exist_ok=True)
