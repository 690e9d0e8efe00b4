"""Another simulator's own program, run on our cell: 100 Mbit/s, 50 ms, 417 packets of drop-tail.

Simulators such as htsim and ns-3 come as libraries whose examples fix link and time in their source. So
whoever compares writes a program of the cell, links it against the library as its users build it, and gives
its path. It is called as `core/sim/examples/cell.rs` is: ``BIN FLOWS RATE_MBPS SECONDS``, and simulates
FLOWS bulk TCP flows for SECONDS over a link of RATE_MBPS with 25 ms each way and a drop-tail queue of one BDP
in packets of 1,500 bytes (417 at 100 Mbit/s). The last number on the last line that it prints is how many
packets the link delivered.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path

from configs.errors import InputError

KINDS = {"htsim": "htsim", "ns3": "ns-3"}
HELP = "a program that is called with FLOWS RATE_MBPS SECONDS and prints the packets that the link delivered"


@dataclass(frozen=True)
class Peer:
    """A simulator's name and its program."""

    name: str
    binary: Path

    def run(self, flows: int, rate_mbps: float, seconds: float) -> tuple[float, int]:
        """Return the CPU time in s of one run of the cell, and the packets that its link delivered.

        Raises:
            RuntimeError: the program failed, or its last line has no number.
        """
        command = [str(self.binary), str(flows), f"{rate_mbps:g}", f"{seconds:g}"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            said = (done.stderr.strip() or "nothing said").splitlines()[-1]
            raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}: {said}")
        last = (done.stdout.strip() or "").rpartition("\n")[2]
        if not (numbers := re.findall(r"\d+", last)) or int(numbers[-1]) == 0:
            raise RuntimeError(f"{' '.join(command)}: no number of packets on the last line: {last!r}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, int(numbers[-1])


def of(name: str, path: str) -> Peer:
    """Return the peer ``name`` whose program is ``path``.

    Raises:
        InputError: there is no such program.
    """
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        raise InputError(f"bench: --{name}: {path}: not a program")
    return Peer(name, Path(path).resolve())
