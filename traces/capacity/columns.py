"""The format of path traces, version 2, as every writer needs it. `leosim.PathTrace` is the parser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

Cells = tuple[int, str, str, bool]
"""One direction in a row: delay in ns, capacity in Mbit/s and loss as text, and whether it is connected."""


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

    def cells(self, loss_text: Callable[[float], str]) -> Iterator[Cells]:
        """Yield each row's cells, with losses as ``loss_text`` writes them."""
        rates = [decimal(bps, 6) for bps in self.bps.tolist()]
        losses = map(loss_text, self.loss.tolist())
        return zip(self.delay_ns.tolist(), rates, losses, self.connected.tolist(), strict=True)


def line(time_ns: int, up: Cells, down: Cells, path_id: int, event: str) -> str:
    """Return a row as a line; up is from → to."""
    up_ns, up_mbps, up_loss, up_connected = up
    down_ns, down_mbps, down_loss, down_connected = down
    up_ms = decimal(up_ns, 6)
    down_ms = up_ms if down_ns == up_ns else decimal(down_ns, 6)
    return (
        f"{decimal(time_ns, 9)},{up_ms},{down_ms},{up_mbps},{down_mbps},{up_loss},{down_loss},"
        f"{up_connected:d},{down_connected:d},{path_id},{event}\n"
    )


def plain_lines(
    time_ns: NDArray[np.int64],
    delay_ns: NDArray[np.int64],
    connected: NDArray[np.bool_],
    path_id: NDArray[np.int64],
    event: list[str],
    capacity_mbps: float,
) -> str:
    """Return rows that are alike both ways, of one capacity and without loss, as lines."""
    capacity = f"{capacity_mbps:.12g}"
    columns = (column.tolist() for column in (time_ns, delay_ns, connected, path_id))
    return "".join(
        line(at_ns, (way := (late_ns, capacity, "0", is_up)), way, path, kind)
        for at_ns, late_ns, is_up, path, kind in zip(*columns, event, strict=True)
    )


def decimal(value: int, places: int) -> str:
    """Return ``value`` / 10 ** ``places`` exactly, without trailing zeros."""
    whole, fraction = divmod(value, 10**places)
    digits = f"{fraction:0{places}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def loss_text(loss: float) -> str:
    """Format a loss to a millionth, without an exponent."""
    return decimal(round(loss * 1_000_000), 6)
