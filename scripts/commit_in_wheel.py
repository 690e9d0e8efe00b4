"""Hatch's build hook: the commit that a wheel was built from, in `leogym/commit`."""

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitInWheel(BuildHookInterface[Any]):
    """Adds a file with git's commit, ``-dirty`` if tracked files differ; none without a checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file and include it. An editable install asks git itself."""
        if version == "editable":
            return
        describe = ["git", "-C", self.root, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        done = subprocess.run(describe, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            self._folder = tempfile.TemporaryDirectory()
            file = Path(self._folder.name) / "commit"
            file.write_text(done.stdout)
            build_data["force_include"][str(file)] = "leogym/commit"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
