"""Write requirements.lock with hashes, for all supported Python versions, without registry addresses."""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Resolve the dependencies and dev group of pyproject.toml, except leosim, which is built locally."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = project["project"]["dependencies"] + project["dependency-groups"]["dev"]
    with tempfile.NamedTemporaryFile("w", suffix=".in") as file:
        file.write("\n".join(name for name in wanted if name != "leosim"))
        file.flush()
        command = [Path(sys.executable).with_name("uv"), "pip", "compile", "--quiet", "--universal"]
        command += ["--python-version", "3.11", "--generate-hashes", "--no-header", "--no-annotate"]
        command += ["--no-emit-index-url", "--output-file", ROOT / "requirements.lock", file.name]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
