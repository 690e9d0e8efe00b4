"""Other simulators' programs, run on our cell: 100 Mbit/s, 50 ms, 417 packets of drop-tail.

Simulators such as htsim and ns-3 are libraries whose examples fix link and time. Write a program for the
cell, link it against the library as built for users, and pass its path. Like `core/sim/examples/cell.rs` it
is called with ``BIN FLOWS RATE_MBPS SECONDS`` and simulates FLOWS bulk TCP flows for SECONDS over a link of
RATE_MBPS with 25 ms each way and a drop-tail queue of one BDP in packets of 1,500 bytes (417 at 100 Mbit/s).
Its output ends with the number of packets that the link delivered.
"""

import os
import re
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path

from leogym.common.errors import InputError

KINDS = {"htsim": "htsim", "ns3": "ns-3"}
HELP = "a program that is called with FLOWS RATE_MBPS SECONDS and prints the packets that the link delivered"


@dataclass(frozen=True)
class Peer:
    name: str
    binary: Path

    def run(self, flows: int, rate_mbps: float, seconds: float) -> tuple[float, int]:
        """Return the CPU time in s of a run of the cell, and the delivered packets."""
        command = [str(self.binary), str(flows), f"{rate_mbps:g}", f"{seconds:g}"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            message = (done.stderr.strip() or "nothing said").splitlines()[-1]
            raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}: {message}")
        last = (done.stdout.strip() or "").rpartition("\n")[2]
        if not (numbers := re.findall(r"\d+", last)) or int(numbers[-1]) == 0:
            raise RuntimeError(f"{' '.join(command)}: no number of packets on the last line: {last!r}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, int(numbers[-1])


def of(name: str, path: str) -> Peer:
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        raise InputError(f"bench: --{name}: {path}: not a program")
    return Peer(name, Path(path).resolve())
