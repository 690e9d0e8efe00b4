"""The user's BPF objects with a ``tcp_congestion_ops``: compile, try in a guest, and register them.

A registered object is the scheme ``linux:NAME`` of the backends lab and kernel.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from leogym.common.atomic import write_atomically
from leogym.common.errors import InputError
from leogym.kernel_bridge.bridge import own_objects
from leogym.kernel_bridge.lab import image, own_modules, served_in_guest
from leogym.kernel_bridge.lab.initramfs import File

_SOURCE = ".bpf.c"
_PLACE = "/own_object.o"


def is_bpf(source: Path) -> bool:
    """Return whether a file's name is that of a BPF source (``.bpf.c``) or of an object (``.o``)."""
    return source.name.endswith(_SOURCE) or source.suffix == ".o"


def register(source: Path, name: str | None) -> tuple[str, Path]:
    """Compile a source, or take an object, load it in a guest, and register it; return scheme and log.

    Args:
        source: the source (``.bpf.c``), or the object.
        name: the name after ``linux:``; default: that of the ``tcp_congestion_ops``.

    Raises:
        InputError: it cannot be compiled or loaded; the line names the log.
    """
    built = image.latest()
    if not source.is_file():
        raise InputError(f"{source}: lab module: no such file")
    if (lack := served_in_guest.missing(built)) is not None:
        raise InputError(f"{source}: lab module: {lack}")
    folder = own_objects.folder()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{source.name.partition('.')[0]}.log"
    log.write_text("")
    code = _compiled(source, log) if source.name.endswith(_SOURCE) else source.read_bytes()
    scheme = _tried(source, code, built, log)
    chosen = name or scheme
    own_objects.require_name(chosen)
    write_atomically(folder / f"{chosen}{own_objects.SUFFIX}", code)
    own_modules.forget(chosen)
    return own_objects.PREFIX + chosen, log


def _compiled(source: Path, log: Path) -> bytes:
    """Compile a source as the project's own programs are (`kernel_bridge/bridge/build.rs`)."""
    clang = os.environ.get("CLANG", "clang")
    if shutil.which(clang) is None:
        raise InputError(f"lab module: {clang} is not installed: install clang")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "object.o"
        line = [clang, "-O2", "-g", "-target", "bpf", "-mcpu=v3", "-c", str(source)]
        done = subprocess.run([*line, "-o", str(out)], capture_output=True, text=True, check=False)
        log.write_text(done.stderr)
        if done.returncode:
            error = re.search(r"^(?:(\S+:\d+):\d+: )?(?:fatal )?error: (.*)$", done.stderr, re.MULTILINE)
            place, why = (error[1] or source, error[2]) if error else (source, "clang cannot compile it")
            raise InputError(f"{place}: {why}: {log}")
        return out.read_bytes()


def _tried(source: Path, code: bytes, built: image.Image, log: Path) -> str:
    """Load an object in a guest; return the name of its scheme."""
    command = [f"/bin/{image.BRIDGE}", "load", _PLACE]
    outcome = own_modules.outcome_in_guest(source, built, command, {_PLACE: File(code)})
    with log.open("a") as file:
        file.write(outcome.stderr)
    if outcome.status:
        why = outcome.stderr.strip().splitlines()[-1].removeprefix(f"{image.BRIDGE}: ")
        raise InputError(f"{source}: lab module: {why.removeprefix(f'{_PLACE}: ')}: {log}")
    return outcome.stdout.strip()
