"""A Python environment of a client's own above the project's packages."""

import subprocess
import sys
import sysconfig
from pathlib import Path

SHARED = ("torch", "numpy", "gymnasium", "pettingzoo", "ray", "stable-baselines3", "sb3-contrib")
"""Packages that a client shares with the project: large ones, and those whose objects both exchange."""


class IndexUnreachable(Exception):
    """The package index cannot be reached."""


def python(folder: Path, *requirements: str) -> Path:
    """Return the interpreter of a new environment in ``folder`` with ``requirements``.

    It also has the project's packages. Other versions that a client needs go before them.

    Raises:
        IndexUnreachable: the package index cannot be reached.
    """
    _uv("venv", "--quiet", "--python", sys.executable, str(folder))
    packages = next(folder.glob("lib/python*/site-packages"))
    project = sysconfig.get_path("purelib")
    (packages / "project.pth").write_text(f"import site; site.addsitedir({project!r})\n")
    interpreter = folder / "bin" / "python"
    if not requirements:
        return interpreter
    installed = _uv("pip", "freeze", "--python", sys.executable).splitlines()
    shared = folder / "shared.txt"
    shared.write_text("\n".join(line for line in installed if line.partition("==")[0] in SHARED))
    resolved = _uv(
        "pip", "compile", "--quiet", "--no-annotate", "--no-header", "--python", sys.executable,
        "--override", str(shared), "-", stdin="\n".join(requirements),
    ).splitlines()  # fmt: skip
    missing = [line for line in resolved if line not in installed]
    _uv("pip", "install", "--quiet", "--no-deps", "--python", str(interpreter), *missing)
    return interpreter


def _uv(*arguments: str, stdin: str = "") -> str:
    uv = Path(sys.executable).with_name("uv")
    done = subprocess.run([uv, *arguments], input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        if any(sign in done.stderr for sign in ("error sending request", "Could not connect", "dns error")):
            raise IndexUnreachable(done.stderr.strip().splitlines()[-1])
        raise AssertionError(done.stderr)
    return done.stdout
