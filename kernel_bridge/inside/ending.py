"""How the programs in here end: their exit statuses, the time limits, and errors in one line."""

from __future__ import annotations

import signal

FAILED = 125
"""Exit status for a session that could not be set up."""
TOO_SLOW = 124
"""Exit status for a machine that did not come that far in time."""
LATE = 75
"""Exit status of mm-leo when it was too late, which its log tells and the caller judges."""

SETUP_S = 30.0
"""How long shells may take to be there."""
GRACE_S = 10.0
"""How long flows' ends and shells may take to leave."""


class TooSlowError(RuntimeError):
    """The machine did not keep up."""


def explained(error: Exception) -> str:
    """Return an error's message, with what a failed command wrote to standard error."""
    detail: bytes | None = getattr(error, "stderr", None)
    return f"{error}{': ' + detail.decode(errors='replace').strip() if detail else ''}"


def left(status: int) -> str:
    """Say how a process ended."""
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"left with exit status {status}"
