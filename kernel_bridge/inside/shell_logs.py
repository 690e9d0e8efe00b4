"""When a shell's trace began, which its log tells."""

from __future__ import annotations

import json
import select
import time
from pathlib import Path

from kernel_bridge.inside.ending import SETUP_S, TooSlowError


def wait_until_begun(log: Path) -> int:
    """Return when the trace of mm-link or mm-leo began, once its log tells.

    mm-link's two directions are processes of their own, which may begin after the command inside.

    Raises:
        TooSlowError: it does not tell.
    """
    pause = select.poll()  # nothing tells of a line in a file: look again every 10 ms
    for _ in range(round(SETUP_S / 0.01)):
        if (found := began_ns(log)) is not None:
            return found
        pause.poll(10)
    raise TooSlowError(f"a shell had not begun after {SETUP_S:g} s")


def began_ns(log: Path) -> int | None:
    """Return when the trace of mm-link or mm-leo began, on the monotonic clock, from its log's header.

    None: it is not there yet.
    """
    try:
        text = log.read_text(errors="replace")
    except FileNotFoundError:
        return None
    found = {}
    for line in text.splitlines(keepends=True):
        if not line.startswith("#") or not line.endswith("\n"):
            break
        if line.startswith("# {"):
            return json.loads(line.removeprefix("# "))["began_monotonic_ns"]
        name, _, value = line.removeprefix("# ").partition(": ")
        if name in ("init timestamp", "base timestamp"):
            found[name] = int(value)
    if len(found) < 2:
        return None
    return sum(found.values()) * 1_000_000 + time.monotonic_ns() - time.time_ns()
