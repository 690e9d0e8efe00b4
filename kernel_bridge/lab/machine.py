"""One boot of the image: a job goes in, its results come out, and nothing of the machine stays behind.

Virtual time is a count of instructions (``-icount``): the guest sees neither the host's clock nor its load,
and idle time passes at once. Nothing else may reach the guest at a time of its own: devices answer in the
instruction that asks (``ioeventfd=off``), and randomness is seeded.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from configs.errors import InputError
from kernel_bridge.lab.guest.main import JOB, PROGRESS, RESULT
from kernel_bridge.lab.image import Image
from kernel_bridge.lab.initramfs import File, archive
from kernel_bridge.namespaces import FOLDERS, PREFIX

QEMU = "qemu-system-x86_64"
MEMORY_MIB = 512
_BOOT_S = 120.0
"""Wall time that a boot and the end may take on a busy machine."""
_WALL_PER_VIRTUAL_S = 60.0
_KERNEL_OPTIONS = (
    *("console=ttyS0", "quiet", "panic=-1", "oops=panic", "reboot=t"),
    # No randomness but the seeded one, and the same addresses always.
    *("random.trust_cpu=on", "nokaslr"),
    # What a boot needs not do here: self-tests, calibration, guards against other tenants.
    *("cryptomgr.notests", "tsc=reliable", "no_timer_check", "mitigations=off"),
    "initcall_blacklist=init_evm,init_ima,load_system_certificate_list",
)


class GuestError(RuntimeError):
    """The guest did not come to its end; the message has the serial log's path."""


@dataclass(frozen=True)
class Job:
    """What a guest does."""

    command: Sequence[str]
    files: Mapping[str, File]
    """By absolute path."""
    folders: Mapping[str, int]
    """Further folders, absolute, with their modes."""
    results: Sequence[str]
    """Files and folders, absolute, that come back."""
    virtual_s: float
    """How long it takes in virtual time, about; it is ended on a wall clock some time after that."""


@dataclass(frozen=True)
class Outcome:
    """A job that came to its end."""

    status: int
    stdout: str
    stderr: str
    files: Mapping[str, bytes]
    """By absolute path."""
    virtual_s: float
    """From the guest's start to the job's end."""


def missing() -> str | None:
    """Say in one line what this machine lacks to boot an image, or None."""
    if shutil.which(QEMU) is None:
        return f"lab: {QEMU} is not installed: scripts/lab.sh installs it, or install qemu-system-x86"
    return None


def run(
    image: Image,
    job: Job,
    *,
    seed: int,
    memory_mib: int = MEMORY_MIB,
    progress: Callable[[Mapping[str, object]], None] | None = None,
) -> Outcome:
    """Boot the image, run the job.

    Args:
        image: from `image.build` or `image.latest`.
        job: what to do.
        seed: of the guest's randomness: ports, sequence numbers, hashes.
        memory_mib: of the guest.
        progress: called with what the guest tells while it runs.

    Raises:
        InputError: QEMU is not installed.
        GuestError: the guest panicked, hung, or ran out of memory, or the disk here is full.
    """
    if (lack := missing()) is not None:
        raise InputError(lack)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}run-guest-{os.getpid()}-", dir=FOLDERS))
    try:
        outcome = _run(image, job, seed, memory_mib, folder, progress)
    except GuestError:
        raise  # the folder has the serial log, which the message names
    except BaseException:
        shutil.rmtree(folder)
        raise
    shutil.rmtree(folder)
    return outcome


def _run(
    image: Image,
    job: Job,
    seed: int,
    memory_mib: int,
    folder: Path,
    progress: Callable[[Mapping[str, object]], None] | None,
) -> Outcome:
    serial, result, told = folder / "serial.log", folder / "result", folder / "progress"
    initramfs = folder / "initramfs"
    described = json.dumps({"command": list(job.command), "results": list(job.results)}).encode()
    files = {str(JOB): File(described), **job.files}
    try:
        with initramfs.open("wb") as out:
            with image.initramfs.open("rb") as base:
                shutil.copyfileobj(base, out, 1 << 20)
            folders = {path.lstrip("/"): mode for path, mode in job.folders.items()}
            out.write(archive({path.lstrip("/"): file for path, file in files.items()}, folders))
        told.touch()
    except OSError as error:
        raise GuestError(f"lab: {initramfs}: {error.strerror}") from None
    # Whoever ends this process ends the machine.
    command = ["setpriv", "--pdeathsig", "KILL", "--", *_command(image, initramfs, folder, seed, memory_mib)]
    limit_s = _BOOT_S + _WALL_PER_VIRTUAL_S * job.virtual_s
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    with process, told.open() as lines:
        try:
            waited = 0.0
            while True:
                try:
                    _, stderr = process.communicate(timeout=1.0)
                    break
                except subprocess.TimeoutExpired:
                    waited += 1.0
                    _pass_on(lines.readlines(), progress)
                if waited > limit_s:
                    raise GuestError(
                        f"lab: the guest was not done after {limit_s:.0f} s: {_last(serial)}: {serial}"
                    )
        finally:
            process.kill()
        _pass_on(lines.readlines(), progress)
    if process.returncode:
        said = stderr.strip().splitlines() or [f"exit status {process.returncode}"]
        raise GuestError(f"lab: {QEMU}: {said[-1]}: {serial}")
    return _read(result, serial)


def _command(image: Image, initramfs: Path, folder: Path, seed: int, memory_mib: int) -> list[str]:
    def port(name: str, file: str) -> list[str]:
        chardev = file
        return [
            *("-chardev", f"file,id={chardev},path={folder / file}"),
            *("-device", f"virtserialport,chardev={chardev},name={name}"),
        ]

    return [
        QEMU,
        # Without HPET the kernel's clock is the time-stamp counter, which costs no exit to read.
        *("-M", "q35,hpet=off", "-cpu", "max,-rdseed", "-m", str(memory_mib), "-smp", "1"),
        *("-seed", str(seed % 2**32), "-rtc", "base=2026-01-01,clock=vm"),
        *("-icount", "shift=0,sleep=off,align=off"),
        *("-nodefaults", "-display", "none", "-no-reboot", "-no-user-config"),
        *("-serial", f"file:{folder / 'serial.log'}"),
        *("-device", "virtio-serial-pci,ioeventfd=off"),
        *port(PROGRESS, "progress"),
        *port(RESULT, "result"),
        *("-kernel", str(image.kernel), "-initrd", str(initramfs), "-append", " ".join(_KERNEL_OPTIONS)),
    ]


def _pass_on(lines: Sequence[str], progress: Callable[[Mapping[str, object]], None] | None) -> None:
    for line in lines:
        if progress is not None:
            progress(json.loads(line))


def _read(result: Path, serial: Path) -> Outcome:
    """Take apart what the guest sent."""
    data = result.read_bytes() if result.exists() else b""
    head, newline, rest = data.partition(b"\n")
    if not newline or not rest.endswith(b"end\n"):
        raise GuestError(f"lab: the guest ended before its job: {_last(serial)}: {serial}")
    told = json.loads(head)
    files, position = {}, 0
    for name, size in told["files"].items():
        files[name] = rest[position : position + size]
        position += size
    if position + len(b"end\n") != len(rest):
        raise GuestError(f"lab: the guest's results are not whole, is the disk full?: {serial}")
    return Outcome(told["status"], told["stdout"], told["stderr"], files, told["virtual_s"])


_TELLING = re.compile(r"Kernel panic.*|.*Out of memory.*|.*No space left.*|.*BUG:.*|lab: .*")


def _last(serial: Path) -> str:
    """Return the line of the serial log that tells most about why the guest is not there any more."""
    try:
        lines = serial.read_text(errors="replace").splitlines()
    except OSError:
        return "it never wrote a line"
    plain = [re.sub(r"^\[ *[\d.]+\] ", "", line).strip() for line in lines]
    telling = [line for line in plain if _TELLING.match(line)] or [line for line in plain if line]
    return telling[0] if telling else "it never wrote a line"
