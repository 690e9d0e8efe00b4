"""The checksum of TensorFlow's files: CRC-32C (RFC 3720, appendix B.4), masked."""

POLYNOMIAL = 0x82F63B78  # Castagnoli's polynomial, reflected
MASK_DELTA = 0xA282EAD8


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = [_entry(byte) for byte in range(256)]


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of ``data``."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    """Return the CRC-32C of ``data`` as files store it: rotated by 15 bits, plus a constant.

    The mask is needed because a CRC of data that contains CRCs is weak.
    """
    value = crc32c(data)
    return ((value >> 15 | value << 17) + MASK_DELTA) & 0xFFFFFFFF
