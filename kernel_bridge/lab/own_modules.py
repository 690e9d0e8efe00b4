"""Congestion control modules of the user: build them for the image's kernel, try them, and register them.

A registered module is the scheme ``linux:NAME`` of the backend lab. Only runs that use it load it.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leogym.common import lock
from leogym.common.atomic import write_atomically
from leogym.common.errors import InputError
from leogym.kernel_bridge.bridge import own_objects
from leogym.kernel_bridge.bridge.own_objects import PREFIX, require_name
from leogym.kernel_bridge.lab import image, machine
from leogym.kernel_bridge.lab.image import Image
from leogym.kernel_bridge.lab.initramfs import File
from leogym.kernel_bridge.lab.packages import Packages

_PLACE = "/own_module.ko"
_PARAMETER = re.compile(r"\w+=\S+")
_AVAILABLE = "/proc/sys/net/ipv4/tcp_available_congestion_control"
_TRY = f"""
cat {_AVAILABLE}
dmesg -c >/dev/null
/applets/insmod {_PLACE} "$@" 2>/dev/null
echo $?
cat {_AVAILABLE}
exec dmesg
"""


@dataclass(frozen=True)
class OwnModule:
    """A registered module."""

    name: str
    """The name after `PREFIX`."""
    scheme: str
    """The name under which it registers its congestion control, for ``TCP_CONGESTION``."""
    parameters: Sequence[str]
    """Parameters of the module, as ``NAME=VALUE``."""
    kernel: str
    """The release of the kernel for which it was built."""
    module: bytes

    @property
    def sha256(self) -> str:
        """The hash of the module and its parameters."""
        return hashlib.sha256(self.module + "\0".join(self.parameters).encode()).hexdigest()


def register(source: Path, name: str | None, parameters: Sequence[str]) -> tuple[OwnModule, Path]:
    """Build a module, or take a built one, load it in a guest, and register it; return it and the log's path.

    Args:
        source: the C source, or a module (``.ko``).
        name: the name after `PREFIX`; default: that of the scheme.
        parameters: of the module, as ``NAME=VALUE``.

    Raises:
        InputError: it cannot be built or loaded; the line names the log.
    """
    built = image.latest()
    if wrong := [parameter for parameter in parameters if _PARAMETER.fullmatch(parameter) is None]:
        raise InputError(f"lab module: --set {wrong[0]}: must be NAME=VALUE")
    if not source.is_file():
        raise InputError(f"{source}: lab module: no such file")
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{source.stem}.log"
    module = source.read_bytes() if source.suffix == ".ko" else _compiled(source, built, log)
    scheme = _tried(source, module, parameters, built, log)
    chosen = name or scheme
    require_name(chosen)
    record = {"scheme": scheme, "parameters": list(parameters), "kernel": built.manifest["kernel"]}
    place = folder / chosen
    place.mkdir(exist_ok=True)
    write_atomically(place / "module.ko", module)
    write_atomically(place / "module.json", json.dumps(record, indent=1).encode())
    (own_objects.folder() / f"{chosen}{own_objects.SUFFIX}").unlink(missing_ok=True)
    return OwnModule(chosen, module=module, **record), log


def registered(built: Image) -> dict[str, OwnModule]:
    """Return the modules for an image's kernel, by scheme (``linux:NAME``)."""
    modules = {}
    for file in sorted(_folder().glob("*/module.json")):
        record: dict[str, Any] = json.loads(file.read_text())
        if record["kernel"] == built.manifest["kernel"]:
            name = file.parent.name
            modules[PREFIX + name] = OwnModule(
                name, module=(file.with_name("module.ko")).read_bytes(), **record
            )
    return modules


def used(schemes: Iterable[str]) -> list[OwnModule]:
    """Return the modules of a run's schemes.

    Raises:
        InputError: two of them cannot be loaded together.
    """
    named = {scheme for scheme in schemes if scheme.startswith(PREFIX)}
    if not named:
        return []
    modules = [module for scheme, module in registered(image.latest()).items() if scheme in named]
    by_scheme: Mapping[str, OwnModule] = {module.scheme: module for module in modules}
    for module in modules:
        if by_scheme[module.scheme] is not module:
            raise InputError(
                f"--backend lab: {PREFIX}{module.name} and {PREFIX}{by_scheme[module.scheme].name} are one "
                "scheme of the kernel with different parameters, so they cannot run together"
            )
    return modules


def forget(name: str) -> None:
    """Remove a registered module, if there is one of that name."""
    (_folder() / name / "module.json").unlink(missing_ok=True)


def _folder() -> Path:
    return image.cache() / "modules"


def _compiled(source: Path, built: Image, log: Path) -> bytes:
    """Build a module with the kernel's own rules."""
    headers = _headers(built)
    compiler = re.search(r"gcc-\d+", (headers / ".kernelvariables").read_text())
    assert compiler is not None
    for program in ("make", compiler[0]):
        if shutil.which(program) is None:
            raise InputError(f"lab module: {program} is not installed: install {program}")
    with tempfile.TemporaryDirectory() as folder:
        # Kernel names have underscores.
        stem = source.stem.replace("-", "_")
        shutil.copy(source, Path(folder, f"{stem}.c"))
        Path(folder, "Makefile").write_text(f"obj-m := {stem}.o\n")
        command = ["make", "-C", str(headers), f"M={folder}", "PAHOLE=true", "RESOLVE_BTFIDS=true", "modules"]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"}
        )
        text = (done.stdout + done.stderr).replace(f"{folder}/{stem}.c", str(source))
        log.write_text(text)
        module = Path(folder, f"{stem}.ko")
        if done.returncode or not module.exists():
            if missing := re.search(r'modpost: "(\w+)" \[.*\] undefined', text):
                raise InputError(
                    f"{source}: lab module: Linux {built.manifest['kernel']} has no symbol {missing[1]} "
                    f"for modules: {log}"
                )
            error = re.search(r"^(\S+?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", text, re.MULTILINE)
            why = (
                f"{error[1]}:{error[2]}: {error[3]}"
                if error
                else f"{source}: {text.strip().splitlines()[-1]}"
            )
            raise InputError(f"{why}: {log}")
        # The build's folder is in the debugging information, which the guest does not need.
        subprocess.run(["objcopy", "--strip-debug", module], check=True)
        return module.read_bytes()


def _headers(built: Image) -> Path:
    """Return the folder of the kernel's headers; download and unpack them the first time."""
    release = str(built.manifest["kernel"])
    package = f"linux-image-{release}"
    if package not in built.manifest.get("packages", {}):
        raise InputError(
            "lab module: the image's kernel is not the distribution's: build the module with that kernel's "
            "sources, and give the file: lab module FILE.ko"
        )
    root = _folder() / f"headers-{release}"
    place = root / f"usr/src/linux-headers-{release}"
    # apt locks its lists, and fails if another process has them.
    with lock.held(image.cache() / "apt", wait=True):
        if not (place / "vmlinux").exists():
            packages = Packages(image.cache() / "apt")
            needed = packages.dependencies(f"linux-headers-{release}")
            with tempfile.TemporaryDirectory(dir=_folder(), ignore_cleanup_errors=True) as temporary:
                names = [
                    f"linux-headers-{release}",
                    *(name for name in needed if name.startswith(("linux-headers", "linux-kbuild"))),
                ]
                packages.unpack(names, Path(temporary))
                for file in Path(temporary).glob("usr/src/*/Makefile"):
                    file.write_text(file.read_text().replace("/usr/src/", f"{root}/usr/src/"))
                shutil.rmtree(root, ignore_errors=True)
                Path(temporary).rename(root)
            # Type information of modules refers to the kernel's.
            shutil.copy(built.kernel, place / "vmlinux")
    return place


def outcome_in_guest(
    source: Path, built: Image, command: list[str], files: dict[str, File]
) -> machine.Outcome:
    """Return the outcome of a command that loads what ``source`` was compiled to.

    Raises:
        InputError: the guest failed.
    """
    job = machine.Job(command=command, files=files, folders={}, results=[], virtual_s=5.0)
    try:
        return machine.run(built, job, seed=1)
    except machine.GuestError as error:
        raise InputError(f"{source}: {error}") from None


def _tried(source: Path, module: bytes, parameters: Sequence[str], built: Image, log: Path) -> str:
    """Load a module in a guest; return the name of its scheme."""
    command = ["/bin/sh", "-c", _TRY, "sh", *parameters]
    outcome = outcome_in_guest(source, built, command, {_PLACE: File(module)})
    before, status, *rest = outcome.stdout.split("\n", 2)
    after, _, messages = rest[0].partition("\n")
    with log.open("a") as file:
        file.write(messages)
    if status != "0":
        lines = [re.sub(r"^\[ *[\d.]+\] ", "", line) for line in messages.splitlines()]
        # The reason comes after all else.
        why = ([line for line in lines if "taint" not in line] or [f"insmod ended with {status}"])[-1]
        raise InputError(f"{source}: lab module: the kernel refuses it: {why}: {log}")
    new = sorted(set(after.split()) - set(before.split()))
    if len(new) != 1:
        raise InputError(
            f"{source}: lab module: registers {len(new)} congestion control schemes, not one "
            f"({', '.join(new) or 'none'}): {log}"
        )
    return new[0]
