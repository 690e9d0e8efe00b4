"""The guest's main program: stop until there is a job, run it, send the results to the host.

The host's side is `kernel_bridge.lab.machine`.
"""

import fcntl
import importlib
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from leogym.kernel_bridge.inside.session import GuestJob, GuestJobResult

PROGRESS = "org.leogym.progress"
RESULT = "org.leogym.result"
JOB = "opt/org.leogym/job"  # in QEMU's firmware configuration, which reads it when the guest does
STOP_PORT = 0x505  # the port of pvpanic: writing 1 stops the guest
PROGRESS_FD = "LEOGYM_PROGRESS_FD"
"""Environment variable: the descriptor for the job's progress, in lines of JSON."""
PROGRAMS = tuple(
    f"leogym.kernel_bridge.inside.{name}" for name in ("guest_scenario", "guest_programs", "guest_quic")
)
"""Modules whose name as a job's command runs their ``main``. They are imported before the guest is saved,
because an emulated processor takes most of a second to start Python and import them."""

_RECEIVED = Path("/job")
_PART_BYTES = 1 << 20

# <linux/random.h>
_RNDADDENTROPY, _RNDRESEEDCRNG = 0x40085203, 0x5207


def main() -> int:
    """Run the job; return the exit status of its command."""
    for name in PROGRAMS:
        importlib.import_module(name)
    ports = _ports()
    with ports[PROGRESS].open("wb", buffering=0) as progress, ports[RESULT].open("wb") as result:
        stop()
        with _received().open("rb") as received:
            job: GuestJob = json.loads(received.readline())
            _seed(bytes.fromhex(job["seed"]))
            _write_files(job, received)
        progress.write(b'{"event": "begun", "virtual_s": %.3f}\n' % time.monotonic())
        os.environ[PROGRESS_FD] = str(progress.fileno())
        run = _run_module if job["command"][0] in PROGRAMS else _run_program
        process = run(job["command"], progress.fileno())
        # If the job failed, some may still grow.
        files = {name: Path(name).stat().st_size for name in _files_under(job["results"])}
        head: GuestJobResult = {
            "status": process.returncode,
            "virtual_s": time.monotonic(),
            "stdout": process.stdout.decode(errors="replace"),
            "stderr": process.stderr.decode(errors="replace"),
            "files": files,
        }
        result.write(json.dumps(head).encode() + b"\n")
        for name, size in files.items():
            with Path(name).open("rb") as file:
                _copy(file, result, size)
        result.write(b"end\n")
        progress.write(b'{"event": "done", "virtual_s": %.3f}\n' % time.monotonic())
    return process.returncode


def _run_program(command: Sequence[str], progress: int) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False, pass_fds=[progress]
    )


def _run_module(command: Sequence[str], progress: int) -> subprocess.CompletedProcess[bytes]:
    """Run a module's ``main`` in a copy of this process, as `_run_program` runs a program."""
    del progress  # the copy has it
    streams = [os.open("/dev/null", os.O_RDONLY), os.memfd_create("stdout"), os.memfd_create("stderr")]
    if (pid := os.fork()) == 0:
        status = 1
        try:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            sys.argv = list(command)
            status = sys.modules[command[0]].main()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    _, ended = os.waitpid(pid, 0)
    stdout, stderr = (os.pread(stream, os.fstat(stream).st_size, 0) for stream in streams[1:])
    return subprocess.CompletedProcess(command, os.waitstatus_to_exitcode(ended), stdout, stderr)


def stop() -> None:
    """Stop the guest; every run continues from here."""
    ports = os.open("/dev/port", os.O_WRONLY)
    os.pwrite(ports, b"\1", STOP_PORT)
    os.close(ports)


def _received() -> Path:
    """Read the job into a file, because its files may be larger than half of the memory."""
    with _RECEIVED.open("wb") as file:
        subprocess.run(["firmware_file", JOB], check=True, stdout=file)
    return _RECEIVED


def _seed(seed: bytes) -> None:
    """Seed the kernel's random numbers, because all runs continue from one boot."""
    counted = (8 * len(seed)).to_bytes(4, "little") + len(seed).to_bytes(4, "little")
    with Path("/dev/random").open("wb") as random:
        fcntl.ioctl(random, _RNDADDENTROPY, counted + seed)
        fcntl.ioctl(random, _RNDRESEEDCRNG)


def _write_files(job: GuestJob, received: IO[bytes]) -> None:
    """Write the job's files, whose bytes come next, and remove the received file."""
    for name, mode in job["folders"].items():
        Path(name).mkdir(parents=True)
        Path(name).chmod(mode)
    for name, (size, mode) in job["files"].items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        # A new file, because writing into a library that a process uses would end that process.
        temporary = path.with_name(f"{path.name}.new")
        with temporary.open("wb") as file:
            _copy(received, file, size)
        temporary.chmod(mode)
        temporary.rename(path)
    _RECEIVED.unlink()


def _copy(source: IO[bytes], target: IO[bytes], size: int) -> None:
    while size:
        part = source.read(min(size, _PART_BYTES))
        target.write(part)
        size -= len(part)


def _ports() -> dict[str, Path]:
    ports = {}
    for port in Path("/sys/class/virtio-ports").iterdir():
        ports[(port / "name").read_text().strip()] = Path("/dev") / port.name
    return ports


def _files_under(results: list[str]) -> list[str]:
    """Return the files under the paths that the job asks for, sorted."""
    paths = []
    for result in map(Path, results):
        inside = result.rglob("*") if result.is_dir() else [result]
        paths += [str(path) for path in inside if path.is_file() and not path.is_symlink()]
    return sorted(paths)


if __name__ == "__main__":
    sys.exit(main())
