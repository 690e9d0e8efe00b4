"""Run one job in one guest, fetch the results and remove the guest.

An image boots once. When the guest is ready for a job it stops and is saved; each run resumes this snapshot.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from leogym.common.errors import InputError
from leogym.kernel_bridge.host.namespaces import FOLDERS, PREFIX
from leogym.kernel_bridge.inside.session import GuestJob, GuestJobResult
from leogym.kernel_bridge.lab import instruction_count, qemu
from leogym.kernel_bridge.lab.image import Image
from leogym.kernel_bridge.lab.initramfs import File
from leogym.kernel_bridge.lab.qemu import Guest, GuestError
from leogym.kernel_bridge.runner.stop import Stop

_LEAST_WALL_S = 120.0  # wall time for a job's start and end on a busy machine
_WALL_PER_VIRTUAL_S = 60.0
_LOOK_S = 0.25
_LEAST_FREE_BYTES = 1 << 20

Progress = Callable[[Mapping[str, object]], None]


@dataclass(frozen=True)
class Job:
    """A command for a guest; all paths are absolute."""

    command: Sequence[str]
    files: Mapping[str, File]
    folders: Mapping[str, int]  # further folders with their modes
    results: Sequence[str]  # files and folders to return
    virtual_s: float  # approximate duration in virtual time
    wall_s: float | None = None  # limit in wall time; default: far above `virtual_s`


@dataclass(frozen=True)
class Outcome:
    """The result of a job that ended."""

    status: int
    stdout: str
    stderr: str
    files: Mapping[str, bytes]  # by absolute path
    virtual_s: float  # virtual time from the guest's start to the job's end


def run(
    image: Image, job: Job, *, seed: int, progress: Progress | None = None, stop: Stop | None = None
) -> Outcome:
    """Run a job; ``seed`` seeds the guest's random numbers (ports, sequence numbers, hashes, losses).

    Raises:
        InputError: QEMU is not installed.
        GuestError: the guest panicked, hung, or ran out of memory, or the host's disk is full.
        StoppedError: ``stop`` was used.
    """
    stop = stop or Stop()
    kept = ready(image, stop)
    with _folder() as folder:
        file = folder / "job"
        _write(file, _encode(job, seed))
        guest = Guest(image, folder, seed=seed, job=file, kept=kept)
        try:
            with stop.by(guest.kill):
                guest.resume()
                _wait(guest, job.wall_s or _LEAST_WALL_S + _WALL_PER_VIRTUAL_S * job.virtual_s, progress)
        finally:
            guest.stop()
        return _decode(folder / "result", guest.serial)


def ready(image: Image, stop: Stop | None = None) -> Path:
    """Return the file of an image's snapshot, ready for a job; boot the guest and save it the first time.

    Raises:
        InputError: QEMU is not installed.
        GuestError: the guest did not boot.
        StoppedError: ``stop`` was used.
    """
    if (lack := qemu.missing()) is not None:
        raise InputError(lack)
    made_by = hashlib.sha256(qemu.version().encode()).hexdigest()[:8]
    place = image.initramfs.with_name(f"ready-{made_by}")
    if place.exists():
        return place
    with _folder() as folder:
        file = folder / "job"
        _write(file, b"{}\n")
        guest = Guest(image, folder, seed=0, job=file)
        temporary = place.with_name(f"{place.name}.{os.getpid()}")
        try:
            with (stop or Stop()).by(guest.kill):
                guest.keep(temporary)
            instruction_count.restart(temporary)
            temporary.rename(place)
        finally:
            guest.stop()
            temporary.unlink(missing_ok=True)
    return place


@contextmanager
def _folder() -> Iterator[Path]:
    """Make a folder; keep it if the guest fails, because the error message names its serial log."""
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}run-guest-{os.getpid()}-", dir=FOLDERS))
    try:
        yield folder
    except GuestError:
        raise
    except BaseException:
        shutil.rmtree(folder)
        raise
    shutil.rmtree(folder)


def _write(file: Path, data: bytes) -> None:
    try:
        file.write_bytes(data)
    except OSError as error:
        raise GuestError(f"lab: {file}: {error.strerror}") from None


def _wait(guest: Guest, limit_s: float, progress: Progress | None) -> None:
    waited = 0.0
    with (guest.folder / "progress").open() as lines:
        while True:
            try:
                status = guest.process.wait(_LOOK_S)
                break
            except subprocess.TimeoutExpired:
                waited += _LOOK_S
                _pass_on(lines.readlines(), progress)
            if _is_full(guest.folder):
                raise GuestError(f"lab: the guest cannot continue: {_last(guest.serial)}: {guest.serial}")
            if waited > limit_s:
                why = _last(guest.serial)
                raise GuestError(f"lab: the guest was not done after {limit_s:.0f} s: {why}: {guest.serial}")
        _pass_on(lines.readlines(), progress)
    if status:
        said = (guest.folder / "qemu.log").read_text(errors="replace").strip().splitlines()
        raise GuestError(f"lab: {qemu.QEMU}: {said[-1] if said else f'exit status {status}'}: {guest.serial}")


def _pass_on(lines: Sequence[str], progress: Progress | None) -> None:
    for line in lines:
        if progress is not None:
            progress(json.loads(line))


def _encode(job: Job, seed: int) -> bytes:
    """Return a job as `kernel_bridge.inside.guest_boot` reads it: a line of JSON, then the files' bytes."""
    head: GuestJob = {
        "seed": hashlib.sha256(str(seed).encode()).hexdigest(),
        "command": list(job.command),
        "folders": dict(job.folders),
        "files": {name: (len(file.data), file.mode) for name, file in job.files.items()},
        "results": list(job.results),
    }
    return b"".join([json.dumps(head).encode(), b"\n", *(file.data for file in job.files.values())])


def _decode(result: Path, serial: Path) -> Outcome:
    data = result.read_bytes() if result.exists() else b""
    head, newline, rest = data.partition(b"\n")
    if not newline or not rest.endswith(b"end\n"):
        raise GuestError(f"lab: the guest ended before its job: {_last(serial)}: {serial}")
    told: GuestJobResult = json.loads(head)
    files, position = {}, 0
    for name, size in told["files"].items():
        files[name] = rest[position : position + size]
        position += size
    if position + len(b"end\n") != len(rest):
        raise GuestError(f"lab: the guest's results are incomplete: {_last(serial)}: {serial}")
    return Outcome(told["status"], told["stdout"], told["stderr"], files, told["virtual_s"])


def _is_full(folder: Path) -> bool:
    return shutil.disk_usage(folder).free < _LEAST_FREE_BYTES


_TELLING = re.compile(r"Kernel panic - .*|.*Out of memory.*|.*No space left.*|.*BUG:.*|lab: .*")


def _last(serial: Path) -> str:
    """Return the line of the serial log that best explains why the guest ended."""
    if _is_full(serial.parent):
        # QEMU delays or drops output that it cannot write, without a message.
        return f"{serial.parent.parent}: no space left on this disk"
    try:
        lines = serial.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "its console log is empty"
    plain = [re.sub(r"^\[ *[\d.]+\] ", "", line).strip() for line in lines]
    telling = [line for line in plain if _TELLING.match(line)] or [line for line in plain if line]
    return telling[0] if telling else "its console log is empty"
