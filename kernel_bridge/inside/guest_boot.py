"""The guest's main program: stop until there is a job, run it, send the results to the host.

The host's side is `kernel_bridge.lab.machine`.
"""

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from leogym.kernel_bridge.inside.session import GuestJob, GuestJobResult

PROGRESS = "org.leogym.progress"
RESULT = "org.leogym.result"
JOB = "opt/org.leogym/job"  # in QEMU's firmware configuration, which reads it when the guest does
STOP_PORT = 0x505  # the port of pvpanic: writing 1 stops the guest
PROGRESS_FD = "LEOGYM_PROGRESS_FD"
"""Environment variable: the descriptor for the job's progress, in lines of JSON."""

# <linux/random.h>
_RNDADDENTROPY, _RNDRESEEDCRNG = 0x40085203, 0x5207


def main() -> int:
    """Run the job; return the exit status of its command."""
    ports = _ports()
    with ports[PROGRESS].open("wb", buffering=0) as progress, ports[RESULT].open("wb") as result:
        stop()
        job, data = _job()
        _seed(bytes.fromhex(job["seed"]))
        _write_files(job, data)
        progress.write(b'{"event": "begun", "virtual_s": %.3f}\n' % time.monotonic())
        process = subprocess.run(
            job["command"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            pass_fds=[progress.fileno()],
            env={**os.environ, PROGRESS_FD: str(progress.fileno())},
        )
        files = {name: Path(name) for name in _files_under(job["results"])}
        head: GuestJobResult = {
            "status": process.returncode,
            "virtual_s": time.monotonic(),
            "stdout": process.stdout.decode(errors="replace"),
            "stderr": process.stderr.decode(errors="replace"),
            "files": {name: path.stat().st_size for name, path in files.items()},
        }
        result.write(json.dumps(head).encode() + b"\n")
        for path in files.values():
            result.write(path.read_bytes())
        result.write(b"end\n")
        progress.write(b'{"event": "done", "virtual_s": %.3f}\n' % time.monotonic())
    return process.returncode


def stop() -> None:
    """Stop the guest; every run continues from here."""
    ports = os.open("/dev/port", os.O_WRONLY)
    os.pwrite(ports, b"\1", STOP_PORT)
    os.close(ports)


def _job() -> tuple[GuestJob, bytes]:
    data = subprocess.run(["firmware_file", JOB], check=True, stdout=subprocess.PIPE).stdout
    head, _, files = data.partition(b"\n")
    return json.loads(head), files


def _seed(seed: bytes) -> None:
    """Seed the kernel's random numbers, because all runs continue from one boot."""
    counted = (8 * len(seed)).to_bytes(4, "little") + len(seed).to_bytes(4, "little")
    with Path("/dev/random").open("wb") as random:
        fcntl.ioctl(random, _RNDADDENTROPY, counted + seed)
        fcntl.ioctl(random, _RNDRESEEDCRNG)


def _write_files(job: GuestJob, data: bytes) -> None:
    for name, mode in job["folders"].items():
        Path(name).mkdir(parents=True)
        Path(name).chmod(mode)
    position = 0
    for name, (size, mode) in job["files"].items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data[position : position + size])
        path.chmod(mode)
        position += size


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
