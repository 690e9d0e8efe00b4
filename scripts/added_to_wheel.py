"""Hatch's build hook: files of the wheel that are not in the repository.

`leogym/commit` names the commit that the wheel was built from. The report's package gets plotly.js from the
package plotly, which is much larger and has nothing else that LeoGym uses.
"""

import subprocess
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class AddedToWheel(BuildHookInterface[Any]):
    """Adds plotly.js and a file with git's commit, ``-dirty`` if tracked files differ; none without git."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Include the files. An editable install asks git and the package plotly itself."""
        if version == "editable":
            return
        added = build_data["force_include"]
        script = resources.files("plotly") / "package_data/plotly.min.js"
        added[str(script)] = "leogym/evaluation/report/plotly.min.js"
        describe = ["git", "-C", self.root, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        done = subprocess.run(describe, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            self._folder = tempfile.TemporaryDirectory()
            file = Path(self._folder.name) / "commit"
            file.write_text(done.stdout)
            added[str(file)] = "leogym/commit"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the commit's file."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
