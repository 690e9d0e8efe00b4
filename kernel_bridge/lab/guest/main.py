"""The guest's job: put its files in place, run its command, send the results to the host.

The host's half is `kernel_bridge.lab.machine`. Standard library only: little of it is in the image.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

PROGRESS = "org.leogym.progress"
RESULT = "org.leogym.result"
JOB = Path("/job/job.json")
PROGRESS_FD = "LEOGYM_PROGRESS_FD"
"""Environment variable: the descriptor on which the job may tell, in lines of JSON, how far it is."""


def main() -> int:
    """Run the job; return the exit status of its command."""
    ports = _ports()
    job = json.loads(JOB.read_text())
    with ports[PROGRESS].open("wb", buffering=0) as progress, ports[RESULT].open("wb") as result:
        progress.write(b'{"event": "booted", "virtual_s": %.3f}\n' % time.monotonic())
        process = subprocess.run(
            job["command"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            pass_fds=[progress.fileno()],
            env={**os.environ, PROGRESS_FD: str(progress.fileno())},
        )
        files = {name: Path(name) for name in _wanted(job["results"])}
        head = {
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


def _ports() -> dict[str, Path]:
    """Return the virtio ports by name."""
    found = {}
    for port in Path("/sys/class/virtio-ports").iterdir():
        found[(port / "name").read_text().strip()] = Path("/dev") / port.name
    return found


def _wanted(results: list[str]) -> list[str]:
    """Return the files under the paths that the job asks for, in order."""
    found = []
    for result in map(Path, results):
        inside = result.rglob("*") if result.is_dir() else [result]
        found += [str(path) for path in inside if path.is_file() and not path.is_symlink()]
    return sorted(found)


if __name__ == "__main__":
    sys.exit(main())
