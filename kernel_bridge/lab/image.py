"""Build the guest's image (kernel, modules, programs) and store it under the hash of its content."""

import hashlib
import json
import lzma
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leogym.common import home
from leogym.common.atomic import write_atomically
from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.host.installed import installed
from leogym.kernel_bridge.inside.preparation import SOURCES
from leogym.kernel_bridge.inside.programs import TOOLS as PROGRAM_TOOLS
from leogym.kernel_bridge.lab import guest_modules
from leogym.kernel_bridge.lab.initramfs import File, archive
from leogym.kernel_bridge.lab.modules import with_dependencies
from leogym.kernel_bridge.lab.packages import SHELL, Packages
from leogym.kernel_bridge.programs.binaries import Binaries, opened_at_run_time
from leogym.kernel_bridge.workloads import app

_SYSTEM_PROGRAMS = ("ip", "tc", "ss", "nsenter", "unshare", "setpriv", "mount")
BUILD = leogym_command("lab", "build")
MM_LEO, BRIDGE = "mm-leo", "leo-bridge"  # optional, of leogym[kernel]
_INIT = SOURCES / "init"
_C_SOURCES = tuple(
    SOURCES / f"{name}.c"
    for name in (
        "firmware_file",
        "traffic",
        "forwarding",
        "queue_log",
        "lose",
        "first_datagram",
        *PROGRAM_TOOLS,
    )
)
_HEADER = SOURCES / "awake.h"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NAME = re.compile("[0-9a-f]{16}")  # the name of an image's folder
_LAYOUT = 1  # raise it if the image's content changes without a change of its inputs


@dataclass(frozen=True)
class Image:
    """A kernel and an initramfs for QEMU."""

    kernel: Path
    initramfs: Path
    manifest: Mapping[str, Any]
    """``kernel`` and ``packages`` (versions), ``btf`` (whether the kernel has type information), ``bbr`` (the
    version of its BBR), ``files`` (sizes), ``sha256`` (of the content)."""

    @property
    def linux(self) -> str:
        """The guest's Linux: its release and, if it is the distribution's, the version of its package."""
        release = str(self.manifest["kernel"])
        package = self.manifest.get("packages", {}).get(f"linux-image-{release}")
        return release if package is None else f"{release} ({package})"


@dataclass(frozen=True)
class OwnKernel:
    """A kernel that the user provides."""

    kernel: Path
    modules: Path  # `lib/modules/VERSION`
    shell: Path  # a static busybox


@dataclass(frozen=True)
class _Parts:
    """What an image takes from a kernel's packages, or from the user."""

    kernel: bytes
    config: bytes | None
    """The kernel's configuration, by which BPF objects resolve externs such as ``CONFIG_HZ``."""
    modules: dict[str, bytes]
    shell: bytes
    sources: dict[str, object]


def cache() -> Path:
    """Return the folder of images: ``$LEOGYM_CACHE/lab``, or ``~/.cache/leogym/lab``."""
    root = os.environ.get("LEOGYM_CACHE")
    return (Path(root) if root else home.caches()) / "lab"


def latest() -> Image:
    """Return the last image built by this project; other installations may have built into the same folder.

    Raises:
        InputError: there is no image, or this project has changed since.
    """
    complete = [folder for folder in reversed(folders()) if (folder / "manifest.json").exists()]
    if not complete:
        raise InputError(f"lab: no image yet: {BUILD}")
    for image in map(_load, complete):
        if image.manifest.get("project_sha256") == _project(image.manifest["files"]):
            return image
    raise InputError(f"lab: the project has changed since its image: {BUILD}")


def folders() -> list[Path]:
    """Return the folders of all images, the last one built at the end."""
    try:
        last = (cache() / "latest").read_text().strip()
    except OSError:
        last = ""
    paths = [path for path in cache().glob("*") if _NAME.fullmatch(path.name)]
    return sorted(paths, key=lambda path: (path.name == last, path.name))


def remove_others(kept_folders: Iterable[Path]) -> tuple[int, int]:
    """Remove all images but ``kept_folders``; return the number and size in bytes of removed images."""
    removed = [path for path in folders() if path not in set(kept_folders)]
    size = sum(file.stat().st_size for path in removed for file in path.glob("*"))
    for path in removed:
        shutil.rmtree(path, ignore_errors=True)
    return len(removed), size


def build(own_kernel: OwnKernel | None = None) -> Image:
    """Build the image, or reuse one with the same content; the default kernel is the distribution's.

    Raises:
        InputError: the machine lacks something for the image.
    """
    if platform.machine() != "x86_64":
        raise InputError(
            f"lab: this machine is {platform.machine()}: the guest runs its programs and needs x86-64"
        )
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    parts = _parts(own_kernel, folder)
    files = {f"modules/{name}.ko": File(data) for name, data in parts.modules.items()}
    files["modules/order"] = File("".join(f"{name}\n" for name in parts.modules).encode())
    if parts.config is not None:
        files[f"boot/config-{parts.sources['kernel']}"] = File(parts.config)
    files["bin/busybox"] = File(parts.shell, 0o755)
    files["init"] = File(_INIT.read_bytes(), 0o755)
    files["etc/passwd"] = File(b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
    files["etc/group"] = File(b"root:x:0:\nnogroup:x:65534:\n")
    files |= _programs(folder)
    library, project = guest_modules.find_modules()
    files |= _python(library, project)
    folders = dict.fromkeys(("proc", "sys", "dev", "run", "etc", "root", "var"), 0o755) | {"tmp": 0o1777}
    unpacked = archive(files, folders)
    digest = hashlib.sha256(b"%d" % _LAYOUT + parts.kernel + unpacked).hexdigest()
    place = folder / digest[:16]
    manifest_file = place / "manifest.json"
    if manifest_file.exists():
        # A comment changes the project, but not what is built from it.
        manifest = json.loads(manifest_file.read_text()) | {"project_sha256": _project(files)}
        write_atomically(manifest_file, json.dumps(manifest, indent=1).encode())
    else:
        manifest = {
            **parts.sources,
            "sha256": digest,
            "project_sha256": _project(files),
            "btf": has_types(parts.kernel),
            "bbr": bbr_version(parts.modules.get("tcp_bbr", b"")),
            "files": {name: len(file.data) for name, file in sorted(files.items())},
        }
        _store(place, {"kernel": parts.kernel, "initramfs": unpacked}, manifest)
    (folder / "latest").write_text(f"{place.name}\n")
    return _load(place)


def _load(folder: Path) -> Image:
    return Image(folder / "kernel", folder / "initramfs", json.loads((folder / "manifest.json").read_text()))


def _store(place: Path, parts: Mapping[str, bytes], manifest: Mapping[str, object]) -> None:
    """Create the image's folder atomically."""
    with tempfile.TemporaryDirectory(dir=place.parent) as temporary:
        inner = Path(temporary) / "image"
        inner.mkdir()
        for name, data in parts.items():
            (inner / name).write_bytes(data)
        (inner / "manifest.json").write_text(json.dumps(manifest, indent=1))
        shutil.rmtree(place, ignore_errors=True)
        inner.rename(place)


def _parts(own_kernel: OwnKernel | None, folder: Path) -> _Parts:
    """Return the parts that the user provides, or those of the distribution's packages."""
    if own_kernel is not None:
        try:
            kernel, shell = own_kernel.kernel.read_bytes(), own_kernel.shell.read_bytes()
        except OSError as error:
            raise InputError(f"{error.filename}: lab: cannot be read: {error.strerror}") from None
        shell_files = Binaries()
        shell_files.add(own_kernel.shell, "/bin/busybox", "lab build: --shell")
        if len(shell_files.files) > 1:
            raise InputError(
                f"lab build: --shell: {own_kernel.shell}: must be a static busybox (busybox-static)"
            )
        release = own_kernel.modules.name
        return _Parts(
            uncompressed(kernel),
            _config(own_kernel.kernel.with_name(f"config-{release}"), own_kernel.modules / "config"),
            with_dependencies(own_kernel.modules),
            shell,
            {"kernel": release},
        )
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        packages = Packages(folder / "apt")
        name = packages.current_kernel()
        root = Path(temporary)
        versions = packages.unpack([name, SHELL], root)
        [kernel] = root.glob("boot/vmlinuz-*")
        # Debian's packages have them in /usr/lib from 13 on.
        [modules] = [*root.glob("lib/modules/*"), *root.glob("usr/lib/modules/*")]
        [shell] = [path for path in (root / "bin/busybox", root / "usr/bin/busybox") if path.exists()]
        sources: dict[str, object] = {"kernel": modules.name, "packages": versions}
        return _Parts(
            uncompressed(kernel.read_bytes()),
            _config(root / f"boot/config-{modules.name}", modules / "config"),
            with_dependencies(modules),
            shell.read_bytes(),
            sources,
        )


def _config(*places: Path) -> bytes | None:
    """Return the kernel's configuration from the first place that has it."""
    return next((place.read_bytes() for place in places if place.is_file()), None)


def uncompressed(kernel: bytes) -> bytes:
    """Return the ELF file inside a bzImage, which boots without unpacking; return other kernels unchanged.

    Raises:
        InputError: only zstd can unpack the kernel, and it is not installed.
    """
    if kernel.startswith(b"\x7fELF"):
        return kernel
    for magic, unpack in ((b"\xfd7zXZ\0", _unxz), (b"\x1f\x8b\x08", _gunzip), (b"\x28\xb5\x2f\xfd", _unzstd)):
        position = kernel.find(magic)
        while position >= 0:
            data = unpack(kernel[position:])
            if data.startswith(b"\x7fELF"):
                return data
            position = kernel.find(magic, position + 1)
    return kernel


def has_types(kernel: bytes) -> bool:
    """Return whether a kernel's ELF file has a section .BTF (section names end with a zero)."""
    return b"\0.BTF\0" in kernel


def bbr_version(module: bytes) -> int:
    """Return the version in the section ``.modinfo`` of tcp_bbr; Linux's module has none, which means 1."""
    match = re.search(rb"\0version=(\d+)\0", module)
    return int(match[1]) if match else 1


def _unzstd(data: bytes) -> bytes:
    # Python 3.11 has no zstd. The rest of the loader follows the data and makes the program complain.
    if (program := shutil.which("zstd")) is None:
        raise InputError("lab: zstd, which unpacks this kernel, is not installed: scripts/lab.sh installs it")
    return subprocess.run([program, "-dcq"], input=data, capture_output=True, check=False).stdout


def _unxz(data: bytes) -> bytes:
    try:
        return lzma.LZMADecompressor().decompress(data)
    except lzma.LZMAError:
        return b""


def _gunzip(data: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(data)
    except zlib.error:
        return b""


def _programs(folder: Path) -> dict[str, File]:
    programs: dict[str, File] = {}
    for name in _SYSTEM_PROGRAMS:
        place = shutil.which(name, path=_PATH)
        if place is None:
            raise InputError(f"lab: {name} is not installed: install iproute2 and util-linux")
        programs |= with_libraries(Path(place), f"bin/{name}")
    for own in _own_programs():
        programs |= with_libraries(own, f"bin/{own.name}")
    for source in _C_SOURCES:
        programs[f"bin/{source.stem}"] = File(_compile(source, folder), 0o755)
    return programs


def _compile(source: Path, folder: Path) -> bytes:
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        program = Path(temporary) / source.stem
        try:
            command = ["cc", "-O2", "-static", "-pthread", "-o", program, source]
            subprocess.run(command, check=True, capture_output=True, text=True)
        except FileNotFoundError:
            raise InputError("lab: cc is not installed: install a C compiler") from None
        except subprocess.CalledProcessError as error:
            raise InputError(f"lab: {source}: {error.stderr.strip().splitlines()[-1]}") from None
        return program.read_bytes()


def _own_programs() -> list[Path]:
    """Return the project's programs that are built."""
    programs = (installed(MM_LEO), app.program(), bridge_process.program())
    return [Path(program) for program in programs if program is not None]


def _project(files: Iterable[str]) -> str | None:
    """Return the hash of this project's parts in an image with these files; None if a part is missing."""
    modules = sorted(guest_modules.source(name) for name in files if guest_modules.is_project(name))
    try:
        parts = [path.read_bytes() for path in (*modules, *_C_SOURCES, _HEADER, _INIT, *_own_programs())]
    except FileNotFoundError:
        return None
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def with_libraries(program: Path, name: str) -> dict[str, File]:
    """Return a program, as ``name``, and its shared libraries."""
    files = {name: File(program.read_bytes(), 0o755)}
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    for match in re.finditer(r"(/\S+) \(0x", listing):
        files[match[1].lstrip("/")] = File(Path(match[1]).read_bytes(), 0o755)
    return files


def _python(library: Iterable[Path], project: Iterable[Path]) -> dict[str, File]:
    files = with_libraries(Path(os.path.realpath(sys.executable)), "bin/python3")
    # A thread that Python ends at its exit needs one of them.
    for folder in {Path("/", name).parent for name in files if Path(name).name == "libc.so.6"}:
        for path in opened_at_run_time(folder):
            files[str(path).lstrip("/")] = File(path.read_bytes(), 0o755)
    for path in (path for path in library if path.suffix == ".so"):
        files |= with_libraries(path, str(path).lstrip("/"))
    sources = [*(path for path in library if path.suffix == ".py"), *project]
    for path, code in guest_modules.compile_modules(sources).items():
        files[guest_modules.name(path)] = File(code)
    return files
