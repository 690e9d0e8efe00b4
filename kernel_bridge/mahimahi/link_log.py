"""Read mm-link's log of one direction.

It has `#` header lines, then one event per line. Times are whole milliseconds since the shell's start, sizes
include the 4 bytes that a TUN device puts before each IP packet:

    T # 1504           a delivery opportunity, used or not
    T + SIZE           a packet arrived
    T - SIZE QUEUED    a packet left after QUEUED ms in the queue
    T d PACKETS BYTES  the queue dropped
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError

OPPORTUNITY_BYTES = 1504
TUN_HEADER_BYTES = 4
_FIELDS = {"#": 3, "+": 3, "-": 4, "d": 4}

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class LinkLog:
    """The log of one direction. Times are in ms since the shell's start, sizes in bytes of IP packets."""

    header: tuple[str, ...]
    """The `#` lines without `#`: command line, queue, init timestamp (epoch, ms), base timestamp."""
    base_ms: int
    """Start of the shell's trace."""
    opportunity_ms: Integers
    handled_ms: Integers
    """Per opportunity, the latest time at which the shell can have handled it: the log's next arrival.
    mm-link logs an opportunity with its due time, but an arrival with the clock's time."""
    arrival_ms: Integers
    arrival_bytes: Integers
    departure_ms: Integers
    departure_bytes: Integers
    queued_ms: Integers
    drop_ms: Integers
    dropped_packets: Integers

    def throughput_mbps(self, begin_ms: float, end_ms: float) -> float:
        """Return the departures in ``begin_ms <= T < end_ms``, in Mbit/s of IP packets."""
        during = (self.departure_ms >= begin_ms) & (self.departure_ms < end_ms)
        return float(self.departure_bytes[during].sum()) * 8e-3 / (end_ms - begin_ms)

    def capacity_mbps(self, begin_ms: float, end_ms: float) -> float:
        """Return the opportunities in ``begin_ms <= T < end_ms``, in Mbit/s of 1,500-byte IP packets."""
        during = (self.opportunity_ms >= begin_ms) & (self.opportunity_ms < end_ms)
        return int(during.sum()) * (OPPORTUNITY_BYTES - TUN_HEADER_BYTES) * 8e-3 / (end_ms - begin_ms)

    def lateness_ms(self, begin_ms: float, end_ms: float) -> Integers:
        """Return an upper bound of each opportunity's lateness, for those due in ``begin_ms <= T < end_ms``.

        The bound is tight only while packets keep arriving: it includes the wait for the next one.
        """
        during = (self.opportunity_ms >= begin_ms) & (self.opportunity_ms < end_ms)
        return self.handled_ms[during] - self.opportunity_ms[during]


def parse_log(lines: Iterable[str], source: str) -> LinkLog:
    """Parse a log's lines.

    Raises:
        InputError: a line breaks the format: ``source:line: rule``.
    """
    header: list[str] = []
    opportunity: list[int] = []
    handled: list[int] = []
    arrival: list[tuple[int, int]] = []
    departure: list[tuple[int, int, int]] = []
    drop: list[tuple[int, int]] = []
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            header.append(line[1:].strip())
            continue
        fields = line.split()
        kind = fields[1] if len(fields) > 1 else ""
        if len(fields) != _FIELDS.get(kind):
            raise InputError(
                f"{source}:{number}: must be T # SIZE, T + SIZE, T - SIZE MS or T d PACKETS BYTES"
            )
        try:
            time_ms, value, *more = (int(field) for field in (fields[0], *fields[2:]))
        except ValueError:
            raise InputError(f"{source}:{number}: times and sizes must be whole numbers") from None
        if kind == "#":
            opportunity.append(time_ms)
        elif kind == "+":
            handled += [time_ms] * (len(opportunity) - len(handled))
            arrival.append((time_ms, value - TUN_HEADER_BYTES))
        elif kind == "-":
            departure.append((time_ms, value - TUN_HEADER_BYTES, more[0]))
        else:
            drop.append((time_ms, value))
    if not header or not header[0].startswith("mahimahi mm-link"):
        raise InputError(f"{source}:1: must be '# mahimahi mm-link …', the first line of mm-link's log")
    # After the last arrival the log does not show lateness.
    handled += opportunity[len(handled) :]
    return LinkLog(
        tuple(header),
        _base_ms(header, source),
        np.array(opportunity, dtype=np.int64),
        np.array(handled, dtype=np.int64),
        *_columns(arrival, 2),
        *_columns(departure, 3),
        *_columns(drop, 2),
    )


def read_log(path: Path) -> LinkLog:
    """Read a log file.

    Raises:
        InputError: it cannot be read, or a line is wrong.
    """
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return parse_log(file, str(path))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def _base_ms(header: list[str], source: str) -> int:
    for number, line in enumerate(header, 1):
        name, _, value = line.partition(": ")
        if name == "base timestamp":
            if not value.isascii() or not value.isdigit():
                raise InputError(f"{source}:{number}: base timestamp: must be a whole number of ms")
            return int(value)
    raise InputError(f"{source}: base timestamp: missing from the header")


def _columns(rows: list[tuple[int, ...]], width: int) -> tuple[Integers, ...]:
    return tuple(np.array(rows, dtype=np.int64).reshape(-1, width).T)
