"""Read TensorFlow checkpoints without TensorFlow: ``PREFIX.index`` and ``PREFIX.data-?????-of-?????``.

The index is a sorted string table of LevelDB (its documentation's ``table_format.md``): blocks of entries
with shared prefixes, an index block, and a footer. It maps tensor names to type, shape and position in the
data files, which hold raw numbers. Checksums are CRC-32C (RFC 3720, appendix B.4), masked. The reader
executes nothing from the files and checks every length.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError

POLYNOMIAL = 0x82F63B78  # Castagnoli's polynomial, reflected
MASK_DELTA = 0xA282EAD8


def _crc_entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


_CRC_TABLE = [_crc_entry(byte) for byte in range(256)]


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of ``data``."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _CRC_TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    """Return the CRC-32C of ``data`` as files store it: rotated by 15 bits, plus a constant.

    The mask is needed because a CRC of data that contains CRCs is weak.
    """
    value = crc32c(data)
    return ((value >> 15 | value << 17) + MASK_DELTA) & 0xFFFFFFFF


FOOTER_BYTES = 48
MAGIC = 0xDB4775248B80FB57
TRAILER_BYTES = 5  # compression type and checksum after each block
FLOAT32 = 1  # TensorFlow's number of the data type that policies use
LARGEST_TENSOR = 1 << 24  # largest accepted number of elements, far above any published policy's


class BrokenError(Exception):
    """A file is damaged or not supported."""


@dataclass(frozen=True)
class Entry:
    """Type, shape and position of a tensor."""

    dtype: int
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    checksum: int


class TensorBundle:
    """A checkpoint at ``prefix``, its path with or without ``.index``."""

    def __init__(self, prefix: Path) -> None:
        if prefix.suffix == ".index":
            prefix = prefix.with_suffix("")
        self.prefix = prefix
        self.index = prefix.parent / f"{prefix.name}.index"
        try:
            self._entries = dict(_entries(self.index.read_bytes()))
            self._shards = _header(self._entries.pop(b"", b""))
        except OSError as error:
            raise InputError(f"{self.index}: cannot be read: {error.strerror}") from None
        except (BrokenError, IndexError, struct.error) as error:
            raise InputError(f"{self.index}: not a complete TensorFlow checkpoint: {error}") from None

    def names(self) -> list[str]:
        """Return the names of all tensors."""
        return sorted(name.decode(errors="replace") for name in self._entries)

    def read(self, name: str, *shape: int | None) -> NDArray[np.float32]:
        """Return the float32 tensor ``name`` after checking it; a dimension None matches any size."""
        if name.encode() not in self._entries:
            raise InputError(
                f"{self.index}: {name}: no such tensor (there are: {', '.join(self.names()[:20])})"
            )
        try:
            entry = _entry(self._entries[name.encode()])
        except (BrokenError, IndexError, struct.error) as error:
            raise InputError(f"{self.index}: {name}: {error}") from None
        if entry.dtype != FLOAT32:
            raise InputError(f"{self.index}: {name}: must be of type float32, not number {entry.dtype}")
        if len(shape) != len(entry.shape) or any(
            wanted not in (None, actual) for wanted, actual in zip(shape, entry.shape, strict=True)
        ):
            wanted = ", ".join("any" if size is None else str(size) for size in shape)
            raise InputError(f"{self.index}: {name}: must have the shape ({wanted}), not {entry.shape}")
        path = self.prefix.parent / f"{self.prefix.name}.data-{entry.shard:05}-of-{self._shards:05}"
        numbers = int(np.prod(entry.shape, dtype=np.int64))
        if not 0 <= numbers <= LARGEST_TENSOR or entry.size != 4 * numbers:
            raise InputError(f"{self.index}: {name}: {entry.size} bytes cannot have the shape {entry.shape}")
        try:
            with path.open("rb") as file:
                file.seek(entry.offset)
                data = file.read(entry.size)
        except (OSError, ValueError, OverflowError) as error:
            raise InputError(f"{path}: {name}: cannot be read: {error}") from None
        if len(data) != entry.size:
            raise InputError(f"{path}: {name}: the file is truncated")
        if masked(data) != entry.checksum:
            raise InputError(f"{path}: {name}: the data does not match its checksum")
        values = np.frombuffer(data, "<f4").reshape(entry.shape).astype(np.float32)
        if not np.isfinite(values).all():
            raise InputError(f"{path}: {name}: must be finite numbers")
        return values


def _entries(table: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(table) < FOOTER_BYTES:
        raise BrokenError("too short")
    footer = table[-FOOTER_BYTES:]
    if int.from_bytes(footer[-8:], "little") != MAGIC:
        raise BrokenError("the footer is not that of a table")
    _, at = _handle(footer, 0)  # the metadata block, which is empty in checkpoints
    index, _ = _handle(footer, at)
    for _, value in _block(table, index):
        yield from _block(table, _handle(value, 0)[0])


def _block(table: bytes, place: tuple[int, int]) -> Iterator[tuple[bytes, bytes]]:
    offset, size = place
    end = offset + size
    if end + TRAILER_BYTES > len(table) - FOOTER_BYTES or size < 4:
        raise BrokenError("a block exceeds the file")
    if table[end] != 0:
        raise BrokenError("compressed blocks are not supported")
    if masked(table[offset : end + 1]) != int.from_bytes(table[end + 1 : end + 5], "little"):
        raise BrokenError("a block does not match its checksum")
    block = table[offset:end]
    restarts = int.from_bytes(block[-4:], "little")
    stop = len(block) - 4 * (restarts + 1)
    if stop < 0:
        raise BrokenError("a block has more restart points than bytes")
    at, key = 0, b""
    while at < stop:
        shared, at = _varint(block, at)
        unshared, at = _varint(block, at)
        length, at = _varint(block, at)
        if shared > len(key) or at + unshared + length > stop:
            raise BrokenError("an entry exceeds its block")
        key = key[:shared] + block[at : at + unshared]
        at += unshared + length
        yield key, block[at - length : at]


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    """Return offset and size of a block, and the next position."""
    offset, at = _varint(data, at)
    size, at = _varint(data, at)
    return (offset, size), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number stored in 7 bits per byte, lowest first, and the next position."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise BrokenError("a number has more than ten bytes")


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield numbers and values of the fields of a Protocol Buffers message."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        if key & 7 == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if key & 7 == 2:
            length, at = _varint(message, at)
        elif key & 7 in (1, 5):
            length = 8 if key & 7 == 1 else 4
        else:
            raise BrokenError("a message has a field of an unknown kind")
        if at + length > len(message):
            raise BrokenError("a message is truncated")
        data = message[at : at + length]
        at += length
        yield key >> 3, data if key & 7 == 2 else int.from_bytes(data, "little")


def _header(message: bytes) -> int:
    """Return the number of data files, from a BundleHeaderProto: 1 num_shards, 2 endianness."""
    fields = dict(_fields(message))
    if fields.get(2, 0) != 0:
        raise BrokenError("only little-endian checkpoints are supported")
    shards = fields.get(1, 0)
    if not isinstance(shards, int) or not 1 <= shards < 100_000:
        raise BrokenError("the header has no valid number of data files")
    return shards


def _entry(message: bytes) -> Entry:
    """Parse a BundleEntryProto: 1 dtype, 2 shape, 3 shard_id, 4 offset, 5 size, 6 crc32c, 7 slices."""
    fields = dict(_fields(message))
    if 7 in fields:
        raise BrokenError("partitioned tensors are not supported")
    shape = fields.pop(2, b"")
    numbers = {key: value for key, value in fields.items() if isinstance(value, int)}
    # TensorShapeProto: field 2 repeats, each with its size in field 1.
    sizes = []
    for key, dimension in _fields(shape if isinstance(shape, bytes) else b""):
        if key == 2 and isinstance(dimension, bytes):
            size = dict(_fields(dimension)).get(1, 0)
            sizes.append(size if isinstance(size, int) else 0)
    dtype, shard, offset, size, checksum = (numbers.get(key, 0) for key in (1, 3, 4, 5, 6))
    return Entry(dtype, tuple(sizes), shard, offset, size, checksum)
