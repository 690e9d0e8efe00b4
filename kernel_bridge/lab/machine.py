"""Run one job in one guest, fetch the results and remove the guest.

An image boots once. When the guest is ready for a job it stops and is saved; each run resumes this snapshot.
"""

import hashlib
import json
import mmap
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from leogym.common import lock
from leogym.common.errors import InputError
from leogym.kernel_bridge.host.namespaces import FOLDERS, PREFIX
from leogym.kernel_bridge.inside.session import GuestJob, GuestJobResult
from leogym.kernel_bridge.lab import qemu
from leogym.kernel_bridge.lab.image import Image
from leogym.kernel_bridge.lab.initramfs import File
from leogym.kernel_bridge.lab.qemu import Guest, GuestError
from leogym.kernel_bridge.runner.stop import Stop

_MIN_WALL_LIMIT_S = 120.0  # wall time for a job's start and end on a busy machine
_WALL_PER_VIRTUAL_S = 60.0
_POLL_INTERVAL_S = 0.25
_MIN_FREE_BYTES = 1 << 20
_COUNT_SECTION = b"\x0ctimer/icount\x00\x00\x00\x01"
"""Length and name of the section in QEMU's migration stream (7.2 to 10.0), and its version."""
_BIAS_AND_COUNT = struct.Struct(">qq")
_MAX_COUNT = 2**31 - 1

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
    snapshot = ready(image, stop)
    with _folder() as folder:
        file = folder / "job"
        _write(file, _encode(job, seed))
        guest = Guest(image, folder, seed=seed, job=file, snapshot=snapshot)
        try:
            with stop.by(guest.kill):
                guest.resume()
                _wait(guest, job.wall_s or _MIN_WALL_LIMIT_S + _WALL_PER_VIRTUAL_S * job.virtual_s, progress)
        finally:
            guest.stop()
        return _decode(folder / "result", guest.serial, job.results)


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
    # Parallel first runs, as threads or processes, boot and save one guest.
    with lock.held(place.with_name("saving"), wait=True):
        if not place.exists():
            _save_ready(image, place, stop or Stop())
    return place


def _save_ready(image: Image, place: Path, stop: Stop) -> None:
    with _folder() as folder:
        file = folder / "job"
        _write(file, b"{}\n")
        guest = Guest(image, folder, seed=0, job=file)
        temporary = place.with_name(f"{place.name}.tmp")
        try:
            with stop.by(guest.kill):
                guest.save(temporary)
            restart_count(temporary)
            temporary.rename(place)
        finally:
            guest.stop()
            temporary.unlink(missing_ok=True)


def restart_count(file: Path) -> None:
    """Move a saved guest's count of instructions into its bias if record mode could not resume it.

    QEMU's record mode counts from 0 and keeps the distance to the guest's count in 32 bits with a sign. It
    aborts if that is negative, so it cannot resume a guest saved after 2^31 instructions, as Linux 6.12 is
    after its boot. Virtual time is the sum of count and bias, so this does not change the clock.

    Raises:
        ValueError: the file has no count, or more than one.
    """
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as stream:
        start = stream.find(_COUNT_SECTION)
        if start < 0 or stream.find(_COUNT_SECTION, start + 1) >= 0:
            raise ValueError(f"{file}: not one count of instructions")
        at = start + len(_COUNT_SECTION)
        bias, count = _BIAS_AND_COUNT.unpack_from(stream, at)
        if count > _MAX_COUNT:
            _BIAS_AND_COUNT.pack_into(stream, at, bias + count, 0)


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
                status = guest.process.wait(_POLL_INTERVAL_S)
                break
            except subprocess.TimeoutExpired:
                waited += _POLL_INTERVAL_S
                _pass_on(lines.readlines(), progress)
            if _is_full(guest.folder):
                raise GuestError(
                    f"lab: the guest cannot continue: {_last_cause(guest.serial)}: {guest.serial}"
                )
            if waited > limit_s:
                why = _last_cause(guest.serial)
                raise GuestError(f"lab: the guest was not done after {limit_s:.0f} s: {why}: {guest.serial}")
        _pass_on(lines.readlines(), progress)
    if status:
        messages = (guest.folder / "qemu.log").read_text(errors="replace").strip().splitlines()
        raise GuestError(
            f"lab: {qemu.QEMU}: {messages[-1] if messages else f'exit status {status}'}: {guest.serial}"
        )


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


def _decode(result: Path, serial: Path, asked: Sequence[str]) -> Outcome:
    data = result.read_bytes() if result.exists() else b""
    head, newline, content = data.partition(b"\n")
    if not newline or not content.endswith(b"end\n"):
        raise GuestError(f"lab: the guest ended before its job: {_last_cause(serial)}: {serial}")
    result_head: GuestJobResult = json.loads(head)
    files, position = {}, 0
    for name, size in result_head["files"].items():
        # A program that took over the guest may have written any name.
        if os.path.normpath(name) != name or not any(Path(name).is_relative_to(place) for place in asked):
            raise GuestError(f"lab: the guest returned a file that is no result: {name!r}: {serial}")
        files[name] = content[position : position + size]
        position += size
    if position + len(b"end\n") != len(content):
        raise GuestError(f"lab: the guest's results are incomplete: {_last_cause(serial)}: {serial}")
    return Outcome(
        result_head["status"], result_head["stdout"], result_head["stderr"], files, result_head["virtual_s"]
    )


def _is_full(folder: Path) -> bool:
    return shutil.disk_usage(folder).free < _MIN_FREE_BYTES


_CAUSE = re.compile(r"Kernel panic - .*|.*Out of memory.*|.*No space left.*|.*BUG:.*|lab: .*")


def _last_cause(serial: Path) -> str:
    """Return the line of the serial log that best explains why the guest ended."""
    if _is_full(serial.parent):
        # QEMU delays or drops output that it cannot write, without a message.
        return f"{serial.parent.parent}: no space left on this disk"
    try:
        lines = serial.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "its console log is empty"
    plain = [re.sub(r"^\[ *[\d.]+\] ", "", line).strip() for line in lines]
    causes = [line for line in plain if _CAUSE.match(line)] or [line for line in plain if line]
    return causes[0] if causes else "its console log is empty"
