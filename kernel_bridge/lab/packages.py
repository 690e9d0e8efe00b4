"""Download and unpack Debian packages without root and without changing the system."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from leogym.common.errors import InputError

KERNEL = "linux-image-amd64"  # depends on the distribution's current kernel for x86-64
SHELL = "busybox-static"
_UPDATE_S = 300.0


class Packages:
    """The machine's package sources, read through package lists in a separate folder."""

    def __init__(self, folder: Path) -> None:
        """Read the package lists into ``folder``, which also gets the packages.

        Raises:
            InputError: the machine has no apt, or its sources do not answer.
        """
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise InputError(
                "lab: no apt-get: give a kernel with --kernel FILE --modules DIR --shell BUSYBOX"
            )
        self.folder = folder
        lists = folder / "lists"
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        self._options = [
            *("-o", f"Dir::State::lists={lists}"),
            *("-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="),
            *("-o", "Acquire::Languages=none", "-o", "APT::Sandbox::User=root"),
        ]
        self._apt("apt-get", "update", "-qq")

    def current_kernel(self) -> str:
        """Return the package name of the distribution's current kernel."""
        for name in self.dependencies(KERNEL):
            if name.startswith("linux-image-"):
                return name
        raise InputError(f"lab: {KERNEL}: the machine's package sources have no such kernel")

    def dependencies(self, name: str) -> list[str]:
        """Return the packages on which a package depends directly."""
        return re.findall(r"Depends: (\S+)", self._apt("apt-cache", "depends", name))

    def unpack(self, names: Sequence[str], root: Path) -> dict[str, str]:
        """Download missing packages, unpack all into ``root``, and return their versions."""
        versions = {}
        for name in names:
            policy = self._apt("apt-cache", "policy", name)
            match = re.search(r"Candidate: (\S+)", policy)
            if match is None or match[1] == "(none)":
                raise InputError(f"lab: {name}: the machine's package sources do not have it")
            versions[name] = match[1]
            archive = self.folder / f"{name}={match[1].replace(':', '%3a')}.deb"
            if not archive.exists():
                self._apt("apt-get", "download", "-qq", name)
                [downloaded] = self.folder.glob(f"{name}_*.deb")
                downloaded.rename(archive)
            self._run("dpkg-deb", "--extract", str(archive), str(root))
        return versions

    def _apt(self, program: str, *arguments: str) -> str:
        return self._run(program, *self._options, *arguments)

    def _run(self, *command: str) -> str:
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=True,
                timeout=_UPDATE_S,
                env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
            )
        except subprocess.TimeoutExpired:
            raise InputError(f"lab: {command[0]} {command[-1]}: no answer in {_UPDATE_S:g} s") from None
        except subprocess.CalledProcessError as error:
            messages = error.stderr.strip().splitlines() or [f"exit status {error.returncode}"]
            raise InputError(f"lab: {command[0]} {command[-1]}: {messages[-1]}") from None
        return done.stdout
