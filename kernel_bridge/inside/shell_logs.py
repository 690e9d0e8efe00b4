"""Read the begin of a shell's trace from its log."""

import json
import select
import time
from pathlib import Path

from leogym.kernel_bridge.inside.ending import SETUP_S, TooSlowError


def wait_for_begin(log: Path) -> int:
    """Wait until the log of mm-link or mm-leo has its trace's begin; return it as `read_begin_ns` does.

    mm-link has a process for each direction, which may begin after the command inside.

    Raises:
        TooSlowError: the trace has not begun within `SETUP_S`.
    """
    pause = select.poll()  # there is no event for a new line in a file, so poll every 10 ms
    for _ in range(round(SETUP_S / 0.01)):
        if (begin_ns := read_begin_ns(log)) is not None:
            return begin_ns
        pause.poll(10)
    raise TooSlowError(f"a shell did not begin its trace within {SETUP_S:g} s")


def read_begin_ns(log: Path) -> int | None:
    """Return when the trace of mm-link or mm-leo began (monotonic clock); None: its log has no header yet."""
    try:
        text = log.read_text(errors="replace")
    except FileNotFoundError:
        return None
    timestamps = {}
    for line in text.splitlines(keepends=True):
        if not line.startswith("#") or not line.endswith("\n"):
            break
        if line.startswith("# {"):
            return json.loads(line.removeprefix("# "))["began_monotonic_ns"]
        name, _, value = line.removeprefix("# ").partition(": ")
        if name in ("init timestamp", "base timestamp"):
            timestamps[name] = int(value)
    if len(timestamps) < 2:
        return None
    return sum(timestamps.values()) * 1_000_000 + time.monotonic_ns() - time.time_ns()
