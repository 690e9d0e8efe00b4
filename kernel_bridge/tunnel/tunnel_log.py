"""Read a log of mm-tunnelserver or mm-tunnelclient: packets that one end sent (egress) or got (ingress).

The first line is `# 'COMMAND' 'ARGUMENT'… egress: EPOCH_MS` (or `ingress:`). Each packet has a line
`MS - UID - BYTES`: ms since EPOCH_MS with three decimals, the packet's number at the sending end, and its
size with 36 bytes of encapsulation (20 of IP, 8 of UDP, 8 for the number).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError

if TYPE_CHECKING:
    import polars as pl

ENCAPSULATION_BYTES = 36
Direction = Literal["ingress", "egress"]


@dataclass(frozen=True)
class TunnelLog:
    """The packets that one end sent or received, in log order."""

    direction: Direction
    command: str
    """The tunnel's command line, as the log quotes it."""
    began_ns: int
    """Time 0: ns since 1970 by this end's clock."""
    time_ns: NDArray[np.int64]
    """Since ``began_ns``."""
    uid: NDArray[np.int64]
    size_bytes: NDArray[np.int64]
    """Size of the tunneled IP packet, without encapsulation."""


def read_log(path: Path) -> TunnelLog:
    """Read a log.

    Raises:
        InputError: the log cannot be read or breaks the format; one line names the file, line and rule.
    """
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            first = file.readline().rstrip("\n")
            direction, command, began_ns = _header(path, first)
            rows = _rows(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    return TunnelLog(
        direction,
        command,
        began_ns,
        np.rint(rows["ms"].to_numpy() * 1e6).astype(np.int64),
        rows["uid"].to_numpy(),
        rows["bytes"].to_numpy() - ENCAPSULATION_BYTES,
    )


def _header(path: Path, line: str) -> tuple[Direction, str, int]:
    """Return direction, command and time 0 in ns."""
    command, _, began = line.removeprefix("# ").rpartition(": ")
    command, _, named = command.rpartition(" ")
    for direction in get_args(Direction):
        if line.startswith("# ") and named == direction:
            try:
                # A float cannot hold epoch values in ns.
                integer, _, fraction = began.partition(".")
                return direction, command, int(integer) * 1_000_000 + int(f"{fraction:0<6}"[:6] or 0)
            except ValueError:
                break
    raise InputError(f"{path}: line 1: must be \"# 'COMMAND' … egress: EPOCH_MS\" or the same with ingress:")


def _rows(path: Path) -> pl.DataFrame:
    """Return the columns ms, uid and bytes."""
    import polars as pl  # here, because the import takes time and most commands read no logs

    # If the end was killed, its last line may be cut off.
    content = path.read_bytes().rpartition(b"\n")[0] + b"\n"
    schema = {"ms": pl.Float64, "a": pl.String, "uid": pl.Int64, "b": pl.String, "bytes": pl.Int64}
    try:
        rows = pl.read_csv(
            content,
            separator=" ",
            has_header=False,
            comment_prefix="#",
            schema=schema,
            quote_char=None,
            raise_if_empty=False,
        )
    except pl.exceptions.PolarsError:
        raise InputError(f'{path}: {_wrong_line(path)}: must be "MS - UID - BYTES"') from None
    wrong = rows.select(
        ((pl.col("a") != "-") | (pl.col("b") != "-") | (pl.col("bytes") < ENCAPSULATION_BYTES)).fill_null(
            True
        )
    ).to_series()
    if wrong.any():
        raise InputError(f'{path}: {_wrong_line(path)}: must be "MS - UID - BYTES"')
    return rows


def _wrong_line(path: Path) -> str:
    """Return the place of the first line that breaks the format."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            if line.startswith("#"):
                continue
            fields = line.split()
            try:
                fine = len(fields) == 5 and fields[1] == fields[3] == "-"
                fine = fine and float(fields[0]) >= 0 and int(fields[2]) >= 0
                fine = fine and int(fields[4]) >= ENCAPSULATION_BYTES
            except (ValueError, IndexError):
                fine = False
            if not fine:
                return f"line {number}"
    return "a line"
