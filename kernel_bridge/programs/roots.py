"""Make the root folder of a host in the guest, as a tar archive that is the same for the same files."""

import io
import os
import shutil
import tarfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from leogym.common.errors import InputError
from leogym.configs.program_run import Host
from leogym.kernel_bridge.inside.programs import OPENSSL
from leogym.kernel_bridge.programs.binaries import Binaries

USER, UID = "user", 1000
HOME = f"/home/{USER}"
MOST_BYTES = 160 << 20
"""Size of all files of a run: the guest has 512 MiB, and briefly holds them twice."""
COMMON = "_common"
"""The archive of files that several hosts have; no host has such a name."""
_TEXTS = {
    "/etc/passwd": f"root:x:0:0:root:/root:/bin/sh\n{USER}:x:{UID}:{UID}:{USER}:{HOME}:/bin/sh\n",
    "/etc/group": f"root:x:0:\n{USER}:x:{UID}:\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
    "/etc/resolv.conf": "",
    "/etc/host.conf": "multi on\n",
    # IPv4 first: its packets are those of scenarios' flows.
    "/etc/gai.conf": "precedence ::ffff:0:0/96 100\n",
    # Not this machine's, which differ by its packages. Numbers are IANA's.
    "/etc/protocols": "icmp 1\ntcp 6\nudp 17\nipv6-icmp 58\nsctp 132\n",
    "/etc/services": "".join(
        f"{name} {port}/{protocol}\n"
        for name, port in {
            **{"ftp": 21, "ssh": 22, "telnet": 23, "smtp": 25, "domain": 53, "http": 80, "ntp": 123},
            **{"https": 443, "imaps": 993, "rtsp": 554, "sip": 5060, "http-alt": 8080},
        }.items()
        for protocol in ("tcp", "udp")
    ),
}


def archives(
    name: str, hosts: Mapping[str, Host], folder: Path, hosts_file: str
) -> tuple[dict[str, bytes], dict[str, list[str]]]:
    """Return the hosts' root folders and each program's command; `COMMON` has what several hosts have.

    Args:
        name: the run's name, for messages.
        hosts: the hosts.
        folder: this machine's folder for relative paths.
        hosts_file: the content of /etc/hosts.

    Raises:
        InputError: a program or file is missing or cannot run, or the files are too large.
    """
    files: dict[str, dict[str, Path]] = {}
    commands: dict[str, list[str]] = {}
    for host, described in hosts.items():
        files[host], host_commands = _files(described, folder, f"{name}: hosts.{host}")
        commands |= host_commands
    # Programs may write to the files of their working folder, so each host has its own.
    counts = Counter(entry for of_host in files.values() for entry in of_host.items())
    common = {place for (place, _), count in counts.items() if count > 1 and not _is_at_home(place)}
    roots = {COMMON: _archive(None, {place: path for place, path in counts if place in common}, {})}
    for host, described in hosts.items():
        base = None if described.root is None else folder / described.root
        own = {place: path for place, path in files[host].items() if place not in common}
        defaults = _TEXTS if base is None else {}
        texts = {place: text for place, text in defaults.items() if place not in files[host]}
        texts["/etc/hosts"] = hosts_file
        roots[host] = _archive(base, own, texts)
    if (size := sum(map(len, roots.values()))) > MOST_BYTES:
        raise InputError(f"{name}: hosts: {size / 1e6:.0f} MB of files; at most {MOST_BYTES / 1e6:.0f} fit")
    return roots, commands


def openssl() -> bytes:
    """Return a root folder with openssl."""
    binaries = Binaries()
    program = shutil.which("openssl")
    if program is None:
        raise InputError("tls: openssl is not on this machine's PATH: install openssl")
    binaries.add(Path(program), OPENSSL, "tls")
    return _archive(None, binaries.files, {})


def _files(host: Host, folder: Path, place: str) -> tuple[dict[str, Path], dict[str, list[str]]]:
    """Return a host's files by their path on it, and its commands."""
    binaries, commands = Binaries(), {}
    for name, program in host.programs.items():
        first, *words = program.command
        if host.root is None:
            first = binaries.add_command(first, folder, f"{place}.programs.{name}.command")
        commands[name] = [first, *words]
        for word in words:
            path = folder / word
            # A word such as "." is a folder, and options are no files.
            if path.is_file() and ".." not in PurePosixPath(word).parts:
                _add_file(binaries, path, on_host(word), f"{place}.programs.{name}.command")
    for target, source in host.files.items():
        path = folder / source
        if path.is_dir():
            binaries.add_folder(path, on_host(target))
        elif path.is_file():
            _add_file(binaries, path, on_host(target), f"{place}.files")
        else:
            raise InputError(f"{place}.files: {source}: no such file or folder")
    return binaries.files, commands


def _add_file(binaries: Binaries, path: Path, place: str, name: str) -> None:
    """Add a file; if it is a program, with what it needs."""
    if os.access(path, os.X_OK):
        with path.open("rb") as file:
            if file.read(4).startswith((b"\x7fELF", b"#!")):
                binaries.add(path, place, name)
                return
    binaries.files[place] = path


def on_host(path: str) -> str:
    """Return a path on a host; a relative one is in the working folder."""
    return str(PurePosixPath(HOME) / path)


def _archive(base: Path | None, files: Mapping[str, Path], texts: Mapping[str, str]) -> bytes:
    """Return a tar archive of a folder, files and texts; all but the working folder belongs to root."""
    out = io.BytesIO()
    folders = {HOME: 0o755, "/tmp": 0o1777, "/etc": 0o755, "/proc": 0o755, "/dev": 0o755, "/run": 0o755}
    for name in [*files, *texts]:
        folders |= {
            str(parent): 0o755 for parent in PurePosixPath(name).parents if str(parent) not in folders
        }
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        if base is not None:
            archive.add(base, arcname=".", filter=_as_root)
        for name, mode in sorted(folders.items()):
            entry = _entry(name, mode)
            entry.type = tarfile.DIRTYPE
            archive.addfile(entry)
        for name, path in sorted(files.items()):
            data = path.read_bytes()
            executable = 0o755 if os.access(path, os.X_OK) else 0o644
            # The same files have the same bytes on every machine. Compiled Python names a source's time.
            compiled = path.suffix == ".py" and (path.parent / "__pycache__").is_dir()
            mtime = int(path.stat().st_mtime) if compiled else 0
            entry = _entry(name, executable, len(data), mtime)
            archive.addfile(entry, io.BytesIO(data))
        for name, text in sorted(texts.items()):
            archive.addfile(_entry(name, 0o644, len(text.encode())), io.BytesIO(text.encode()))
    return out.getvalue()


def _entry(name: str, mode: int, size: int = 0, mtime: int = 0) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(f"./{name.lstrip('/')}")
    entry.mode, entry.size, entry.mtime = mode, size, mtime
    if _is_at_home(name):
        entry.uid = entry.gid = UID
    return entry


def _is_at_home(place: str) -> bool:
    return PurePosixPath(place).is_relative_to(HOME)


def _as_root(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if entry.isdev():
        return None
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
