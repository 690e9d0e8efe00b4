"""Exit statuses, time limits and one-line errors of this package's programs."""

import signal

EXIT_FAILED = 125  # exit status if the session cannot be set up
EXIT_TOO_SLOW = 124  # exit status if the machine exceeds a time limit
EXIT_LATE = 75  # exit status of mm-leo if it was too late; its log has the details, which the caller judges

SETUP_S = 30.0  # limit for shells to start
GRACE_S = 10.0  # limit for flows' ends and shells to stop


class TooSlowError(RuntimeError):
    """The machine exceeded a time limit."""


def explain_error(error: Exception) -> str:
    """Return an error's message and the failed command's standard error, if any."""
    detail: bytes | None = getattr(error, "stderr", None)
    return f"{error}{': ' + detail.decode(errors='replace').strip() if detail else ''}"


def describe_exit(status: int) -> str:
    """Describe how a process ended."""
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with exit status {status}"
