"""Text files as other programs save them: UTF-8, with or without a byte-order mark, with any line ends."""

import codecs
from pathlib import Path

from leogym.common.errors import InputError

_OTHER_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",  # before UTF-16, whose mark it starts with
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


_PACKED = {
    b"\x1f\x8b": "gzip: unpack it with gunzip",
    b"\xfd7zXZ\x00": "xz: unpack it with unxz",
    b"\x28\xb5\x2f\xfd": "zstd: unpack it with unzstd",
    b"BZh": "bzip2: unpack it with bunzip2",
    b"PK\x03\x04": "a ZIP archive or a spreadsheet: unpack it, or save it as CSV",
}
"""First bytes of files that people take for text (irtt packs its output), and the way to the text."""


def without_mark(data: bytes, source: str) -> bytes:
    """Return the first bytes of a file without UTF-8's byte-order mark.

    Raises:
        InputError: the bytes start with the mark of another encoding, or are those of a packed file.
    """
    for start, packed_as in _PACKED.items():
        if data.startswith(start):
            raise InputError(f"{source}:1: file: is {packed_as}")
    for mark, encoding in _OTHER_MARKS.items():
        if data.startswith(mark):
            raise InputError(f"{source}:1: file: {encoding} text: save it as UTF-8")
    return data.removeprefix(codecs.BOM_UTF8)


def decode(data: bytes, source: str) -> str:
    r"""Return the text in a file's bytes, with ``\n`` for ``\r\n``.

    Raises:
        InputError: the bytes are packed or not UTF-8; the message names ``source`` and the line.
    """
    data = without_mark(data, source)
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{source}:{line}: file: not UTF-8 text") from None


def is_file(text: str) -> bool:
    """Return whether ``text`` is the path of a file; False for text that cannot be a path."""
    try:
        return Path(text).is_file()
    except OSError:
        return False


def read(path: Path, most_bytes: int) -> str:
    """Return the text of a file of at most ``most_bytes``.

    Raises:
        InputError: the file cannot be read, is larger, or is not UTF-8 text.
    """
    try:
        with path.open("rb") as file:  # not by its size: a pipe or device reports none
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > most_bytes:
        raise InputError(f"{path}: file: more than the {most_bytes:,} bytes that such a file may have")
    return decode(data, str(path))
