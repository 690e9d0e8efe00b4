"""Preparing private namespaces: a network that forwards, and programs of the session's own.

Mounts, interfaces, routes, iptables rules, sysctls and processes belong to the namespaces and end with them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

SOURCES = Path(__file__).parent
"""Where the C programs are."""


def call(*command: str | Path, given: str = "") -> None:
    """Run a command that must succeed, with ``given`` as its standard input."""
    subprocess.run(command, input=given.encode(), check=True, capture_output=True)


def prepare_network() -> None:
    """Make the private network a host that forwards, with a loopback interface; it has no other."""
    call("ip", "link", "set", "lo", "up")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def mount_private(private: Path) -> None:
    """Mount an empty file system for the session's own programs."""
    call("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", private)


def wrap_iptables(private: Path) -> None:
    """Put a stand-in over the iptables program, in this mount namespace only."""
    found = shutil.which("iptables") or "/usr/sbin/iptables"
    program = Path(os.path.realpath(found))
    real = private / "iptables"  # it chooses its task by its name
    shutil.copy(program, real)
    stand_in = compiled(private, "as_root", f'-DREAL_PROGRAM="{real}"')
    call("mount", "--bind", stand_in, program)


def make_forwarding(private: Path) -> None:
    """Make the program that stands before nested shells."""
    compiled(private, "forwarding").chmod(0o4755)


def make_setuid(private: Path, program: Path) -> None:
    """Copy a program that sets up a shell as root for an ordinary user, as mahimahi's do."""
    copy = private / program.name
    shutil.copy(program, copy)
    copy.chmod(0o4755)


def compiled(private: Path, name: str, *options: str) -> Path:
    """Compile a C program of this package, static; return where it is now."""
    call("cc", "-O2", "-static", *options, "-o", private / name, SOURCES / f"{name}.c")
    return private / name
