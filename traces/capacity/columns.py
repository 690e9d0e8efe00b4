"""The format of path traces, version 2, as every writer needs it. `leosim.PathTrace` is the parser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = "leogym-path-trace"
VERSION = 2
COLUMNS = (
    "time_s,up_delay_ms,down_delay_ms,uplink_mbps,downlink_mbps,up_loss,down_loss,"
    "up_connected,down_connected,path_id,event"
)


@dataclass(frozen=True)
class OneWay:
    """The values of one direction in every row. All arrays have shape (rows,)."""

    delay_ns: NDArray[np.int64]  # above 0 even while disconnected
    bps: NDArray[np.int64]
    loss: NDArray[np.float64]
    connected: NDArray[np.bool_]

    def at(self, rows: NDArray[Any]) -> OneWay:
        """Return the rows with these indices."""
        return OneWay(self.delay_ns[rows], self.bps[rows], self.loss[rows], self.connected[rows])


def line(
    time_ns: int,
    delay_ns: tuple[int, int],
    mbps: tuple[str, str],
    loss: tuple[str, str],
    connected: tuple[bool, bool],
    path_id: int,
    event: str,
) -> str:
    """Return a row as a line. Pairs are up, which is from → to, and down."""
    up_ns, down_ns = delay_ns
    up_ms = decimal(up_ns, 6)
    down_ms = up_ms if down_ns == up_ns else decimal(down_ns, 6)
    return (
        f"{decimal(time_ns, 9)},{up_ms},{down_ms},{mbps[0]},{mbps[1]},{loss[0]},{loss[1]},"
        f"{connected[0]:d},{connected[1]:d},{path_id},{event}\n"
    )


def decimal(value: int, places: int) -> str:
    """Return ``value`` / 10 ** ``places`` exactly, without trailing zeros."""
    whole, fraction = divmod(value, 10**places)
    digits = f"{fraction:0{places}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def loss_text(loss: float) -> str:
    """Format a loss to a millionth, without an exponent."""
    return decimal(round(loss * 1_000_000), 6)
