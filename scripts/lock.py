"""Write requirements.lock with hashes, for all supported Python versions, without registry addresses."""

import subprocess
import sys
import tempfile
import tomllib
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILT_HERE = ("leo-app==", "leo-bridge==", "leogym[", "leosim==", "mm-leo==")


def main() -> int:
    """Resolve dependencies, extras and dev group of pyproject.toml, without packages that are built here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"].values()
    requirements = list(
        chain(project["project"]["dependencies"], *extras, project["dependency-groups"]["dev"])
    )
    with tempfile.NamedTemporaryFile("w", suffix=".in") as file:
        file.write("\n".join(line for line in requirements if not line.startswith(BUILT_HERE)))
        file.flush()
        command = [Path(sys.executable).with_name("uv"), "pip", "compile", "--quiet", "--universal"]
        command += ["--python-version", "3.11", "--generate-hashes", "--no-header", "--no-annotate"]
        command += ["--no-emit-index-url", "--output-file", ROOT / "requirements.lock", file.name]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
