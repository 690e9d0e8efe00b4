"""Standard streams as a shell or a service leaves them: closed, full, or unable to encode a character."""

import codecs
import io
import os
import sys
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

OUTPUT = "standard output"
"""The file name in errors of stdout."""
_ERRORS = "leogym-plain"
_PLAIN = str.maketrans(
    {
        "…": "...",
        "–": "-",
        "—": "-",
        "−": "-",
        "×": "x",
        "·": "*",
        "±": "+-",
        "→": "->",
        "≤": "<=",
        "≥": ">=",
        "’": "'",
        "“": '"',
        "”": '"',
        "µ": "u",
        "│": "|",
        "─": "-",
        "━": "-",
    }
)
"""ASCII for characters of our output."""


def prepare() -> None:
    """Make stdin, stdout and stderr usable; further calls change nothing.

    A closed stream becomes ``/dev/null``. A character that the encoding lacks is written as ASCII, and bytes
    of a file name as they are. A failed write to stdout raises an `OSError` whose file name is ``standard
    output``; to stderr, it is ignored.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
            os.set_inheritable(descriptor, True)
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 (open until the end)
    codecs.register_error(_ERRORS, _degraded)
    sys.stdout = _prepared(sys.stdout, 1)
    sys.stderr = _prepared(sys.stderr, 2)


def drop_output() -> None:
    """Send what stdout still holds, and what follows, to ``/dev/null``: Python flushes it again at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def flush() -> None:
    """Flush stdout; where that fails, drop its content, as another error is reported already."""
    try:
        sys.stdout.flush()
    except OSError:
        drop_output()


class _Output(io.FileIO):
    """A standard stream that names itself in errors, or ignores them."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._descriptor = descriptor

    def write(self, data: Any, /) -> int:
        """Write bytes; return how many."""
        try:
            return super().write(data)
        except OSError as error:
            if self._descriptor == 2:
                return len(data)
            error.filename = OUTPUT
            raise


def _prepared(stream: TextIO | None, descriptor: int) -> TextIO:
    """Return a stream on ``descriptor`` in place of ``stream``; a stream that a test has replaced stays."""
    encoding, line, through = "utf-8", descriptor == 2, False
    if stream is not None:
        if not isinstance(stream, io.TextIOWrapper):
            return stream
        if not _is_on(stream, descriptor) or isinstance(getattr(stream.buffer, "raw", None), _Output):
            stream.reconfigure(errors=_ERRORS)
            return stream
        encoding, line, through = stream.encoding, stream.line_buffering, stream.write_through
        with suppress(OSError):
            stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(descriptor)),
        encoding,
        _ERRORS,
        line_buffering=line,
        write_through=through,
    )


def _is_on(stream: io.TextIOWrapper, descriptor: int) -> bool:
    try:
        return stream.fileno() == descriptor
    except (OSError, ValueError):  # in memory, or closed
        return False


def _degraded(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return the replacement of characters that the encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    first = text[0]
    if "\udc80" <= first <= "\udcff":  # a byte of a file name, as Python decodes it
        return bytes([ord(first) - 0xDC00]), error.start + 1
    plain = unicodedata.normalize("NFKD", first.translate(_PLAIN)).encode("ascii", "ignore").decode()
    return plain or "?", error.start + 1
