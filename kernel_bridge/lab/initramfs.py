"""Write initramfs archives: cpio in the format "newc".

Source: the kernel's Documentation/driver-api/early-userspace/buffer-format.rst. Archives can be concatenated;
later files replace earlier ones.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

_MAGIC = b"070701"
_DIRECTORY, _FILE, _LINK = 0o040000, 0o100000, 0o120000


@dataclass(frozen=True)
class File:
    """A file of the archive."""

    data: bytes  # the content, or a symbolic link's target
    mode: int = 0o644
    is_link: bool = False


def archive(files: Mapping[str, File], folders: Mapping[str, int] | None = None) -> bytes:
    """Return an archive; the same content gives the same bytes.

    ``files`` are by path without a leading slash. Their folders are added with mode 755; ``folders`` are
    further ones with their modes.
    """
    modes = {str(parent): 0o755 for path in files for parent in PurePosixPath(path).parents if parent.name}
    modes |= {
        str(parent): 0o755 for path in folders or {} for parent in PurePosixPath(path).parents if parent.name
    }
    modes |= folders or {}
    out = io.BytesIO()
    number = 0

    def entry(name: str, mode: int, data: bytes) -> None:
        nonlocal number
        number += 1
        zero_ended = name.encode() + b"\0"
        # ino, mode, uid, gid, nlink, mtime, filesize, 4 device numbers, namesize, check
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(zero_ended), 0)
        out.write(_MAGIC + b"".join(b"%08X" % field for field in fields))
        for part in (zero_ended, data):
            out.write(part)
            out.write(bytes(-out.tell() % 4))

    for path in sorted(modes):
        entry(path, _DIRECTORY | modes[path], b"")
    for path in sorted(files):
        file = files[path]
        entry(path, _LINK | 0o777 if file.is_link else _FILE | file.mode, file.data)
    number = -1
    entry("TRAILER!!!", 0, b"")
    return out.getvalue()
