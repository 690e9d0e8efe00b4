"""Print Ray's messages about lost workers and nodes as one line each, on standard error.

Ray prints them on standard output, with the state of a node on dozens of lines.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ray._private import worker

RESTARTED = "its work starts again elsewhere"
_MAX_CHARACTERS = 200
"""Characters of an unknown message, at most."""


@contextmanager
def shortened() -> Iterator[None]:
    """Shorten the messages of this block."""
    printed: set[str] = set()

    def show(data: Mapping[str, Any], *_: Any, **__: Any) -> None:
        line = in_one_line("\n".join(map(str, data.get("lines", ()))))
        if line and line not in printed:
            printed.add(line)
            print(line, file=sys.stderr, flush=True)

    before = worker.print_to_stdstream
    worker.print_to_stdstream = show
    try:
        yield
    finally:
        worker.print_to_stdstream = before


def in_one_line(message: str) -> str:
    """Return a message of Ray's in one line."""
    address = re.search(r"(?:Worker IP address|[Aa]ddress|IP)[:=]\s*(\d[\w.:]*[\w])", message)
    node = f"node {address[1]}" if address else "a node"
    if "marked dead" in message:
        return f"{node}: has left the cluster: {RESTARTED}"
    if "memory pressure" in message:
        return f"{node}: Ray ended a worker because memory ran short: {RESTARTED}"
    if "worker died" in message:
        return f"{node}: a worker was killed or died: {RESTARTED}"
    line = " ".join(re.sub(r"\x1b\[[\d;]*m", "", message).split())
    return f"Ray: {line[:_MAX_CHARACTERS]}{'…' if len(line) > _MAX_CHARACTERS else ''}" if line else ""
