"""Share of two cores' CPU time that training uses after start-up.

Needs both cores: other work makes a run that waits look like one that must wait.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.row import Row

CORES = 2
MUST_HOLD = 0.8
MOST_OTHERS = 0.05
"""Most share of two cores used by other processes; above it the result is left out."""
WINDOW_S = 15.0
POLL_S = 0.05
LIMIT_S = 120.0

TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")

ENGINES: dict[str, list[str]] = {
    "native-astraea": ["--agent", "astraea", "--config", "configs/agents/astraea.yaml"],
    "sb3-ppo": ["--agent", "ppo", "--config", "configs/agents/ppo.yaml", "--engine", "sb3"],
    "rllib-ppo": ["--agent", "ppo", "--config", "configs/agents/ppo.yaml", "--engine", "rllib"],
    "rllib-appo": ["--agent", "appo", "--config", "configs/agents/appo.yaml", "--engine", "rllib"],
}


def rows() -> Iterator[Row]:
    for engine, arguments in ENGINES.items():
        used, others_share = shares(arguments)
        if others_share > MOST_OTHERS:
            rule = f"other processes took {others_share:.0%} of two cores, {MOST_OTHERS:.0%} is the most"
            print(f"bench: cores.{engine}: left out: {rule}", file=sys.stderr)
        else:
            yield Row(f"cores.{engine}", used, "of two cores", 1.0, "both cores, all the time", MUST_HOLD)


def shares(arguments: Sequence[str]) -> tuple[float, float]:
    """Return the shares of two cores that training and all other processes used for `WINDOW_S`."""
    with tempfile.TemporaryDirectory(prefix="leogym-bench-") as folder:
        out = Path(folder) / "run"
        # Start-up is over after two rows; checkpoints are too rare for so short a window.
        options = ["--workers", str(CORES), "--track", "none", "--steps", "1000000000", "--out", str(out)]
        quick = ["--set", "held_out_episodes=0", "--set", "progress_steps=5000"]
        rarely = ["--set", "checkpoint_steps=1000000000"]
        command = [sys.executable, "train.py", *arguments, *options, *quick, *rarely]
        with (Path(folder) / "log").open("w+") as log:
            training = subprocess.Popen(command, stdout=log, stderr=log)
            try:
                _await_rows(training, out / "progress.csv", 2)
                begin_s, spent_s, busy_s = time.monotonic(), _spent_s(training.pid), _busy_s()
                while time.monotonic() - begin_s < WINDOW_S:
                    if training.poll() is not None:
                        raise RuntimeError(f"{' '.join(command)}: ended by itself")
                    time.sleep(POLL_S)
                spent_s, busy_s = _spent_s(training.pid) - spent_s, _busy_s() - busy_s
                had_s = CORES * (time.monotonic() - begin_s)
                return spent_s / had_s, max(0.0, busy_s - spent_s) / had_s
            finally:
                training.terminate()
                training.wait()


def _await_rows(training: subprocess.Popen[bytes], progress: Path, count: int) -> None:
    begin_s = time.monotonic()
    while not progress.exists() or len(progress.read_text().splitlines()) <= count:
        if training.poll() is not None or time.monotonic() - begin_s > LIMIT_S:
            raise RuntimeError(f"{progress}: no {count} rows after {time.monotonic() - begin_s:.0f} s")
        time.sleep(POLL_S)


def _spent_s(root: int) -> float:
    """Return the CPU time of process ``root`` and its descendants, including ended ones."""
    parents: dict[int, tuple[int, float]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                # Fields after the name, which may contain spaces: state, parent, …; proc(5) counts from 1.
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents[int(folder.name)] = (int(fields[1]), TICK_S * sum(map(int, fields[11:15])))
    total, tree = 0.0, [root]
    while tree:
        process = tree.pop()
        total += parents[process][1]
        tree += [child for child, (parent, _) in parents.items() if parent == process]
    return total


def _busy_s() -> float:
    user, nice, system, _, _, irq, softirq, steal, *_ = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    )
    return TICK_S * (user + nice + system + irq + softirq + steal)
