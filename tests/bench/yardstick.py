"""This machine's current speed at work like the simulator's (yardstick.rs)."""

import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".rs")
BINARY = Path(__file__).parents[2] / "target" / "bench" / "yardstick"
AGAINST = "a heap and windows of a packet simulator, and nothing else (tests/bench/yardstick.rs)"
AGAINST_S = "a hundred million packets of tests/bench/yardstick.rs"
PACKETS = 1_000_000


def packets_per_s(flows: int = 1) -> float:
    """Return the yardstick's packets per second of CPU time, with ``flows`` windows."""
    command = [str(_built()), str(flows), str(PACKETS)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[0])


def cpu_s() -> float:
    """Return the CPU time in s of a hundred million packets of the yardstick.

    The ratio of other work to it does not depend on the machine's speed.
    """
    return 1e8 / packets_per_s()


def _built() -> Path:
    if not BINARY.exists() or BINARY.stat().st_mtime < SOURCE.stat().st_mtime:
        BINARY.parent.mkdir(parents=True, exist_ok=True)
        fresh = BINARY.with_suffix(".new")
        command = ["rustc", "-O", "--edition", "2024", "-o", str(fresh), str(SOURCE)]
        subprocess.run(command, check=True)
        fresh.replace(BINARY)
    return BINARY
