"""The count of executed instructions in a saved guest.

QEMU's record mode counts from 0 and keeps the distance to the guest's count in 32 bits with a sign. It aborts
if that is negative, so it cannot resume a guest saved after 2^31 instructions, as Linux 6.12 is after its
boot. Virtual time is the sum of count and bias: moving the count into the bias leaves the clock as it is.
"""

import mmap
import struct
from pathlib import Path

_MARK = b"\x0ctimer/icount\x00\x00\x00\x01"
"""Length and name of the section in QEMU's migration stream (7.2 to 10.0), and its version."""
_BIAS_AND_COUNT = struct.Struct(">qq")
_MOST = 2**31 - 1


def restart(file: Path) -> None:
    """Move the count of a saved guest into its bias if record mode could not resume it.

    Raises:
        ValueError: the file has no count, or more than one.
    """
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as stream:
        start = stream.find(_MARK)
        if start < 0 or stream.find(_MARK, start + 1) >= 0:
            raise ValueError(f"{file}: not one count of instructions")
        at = start + len(_MARK)
        bias, count = _BIAS_AND_COUNT.unpack_from(stream, at)
        if count > _MOST:
            _BIAS_AND_COUNT.pack_into(stream, at, bias + count, 0)
