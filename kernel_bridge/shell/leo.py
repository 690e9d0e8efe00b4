"""``mm-leo`` as data, like mahimahi's shells."""

from dataclasses import dataclass
from pathlib import Path

from leogym.common.errors import InputError
from leogym.common.extras import install
from leogym.kernel_bridge.host.installed import installed

NAME = "mm-leo"


@dataclass(frozen=True)
class Leo:
    """A link that replays a path trace, or that never changes."""

    trace: Path | None = None
    """The path trace; without one, ``delay_ms`` and ``rate_mbps`` are required."""
    delay_ms: float | None = None
    """One-way propagation, instead of a trace."""
    rate_mbps: float | None = None
    """Capacity of both directions in Mbit/s of IP packets; overrides the trace's."""
    options: tuple[str, ...] = ()
    """Other options of the program, as on its command line."""
    log: Path | None = None
    """File for the log of every packet's fate."""
    report: Path | None = None
    """File for counts, lateness and validity, as JSON."""
    program: Path = Path(NAME)
    """The program, if it is not in PATH."""

    def __post_init__(self) -> None:
        if (self.trace is None) == (self.delay_ms is None):
            raise InputError("mm-leo: trace, delay_ms: give exactly one of them")
        if self.trace is None and self.rate_mbps is None:
            raise InputError("mm-leo: rate_mbps: required without a trace")

    def arguments(self) -> list[str]:
        """Return the command line without the command that runs inside."""
        options = list(self.options)
        for name, value in [("rate-mbps", self.rate_mbps), ("delay-ms", self.delay_ms)]:
            if value is not None:
                options.append(f"--{name}={value:.12g}")
        for name, path in [("log", self.log), ("report", self.report)]:
            if path is not None:
                options.append(f"--{name}={path}")
        trace = [str(self.trace)] if self.trace is not None else []
        return [str(self.program), *trace, *options, "--"]


def program() -> Path | None:
    """Return the program's path, or None."""
    return installed(NAME)


def missing() -> str | None:
    """Return one line if the program is missing, or None."""
    return None if program() else f"mm-leo is not installed: {install('kernel')}, or make setup in a clone"
