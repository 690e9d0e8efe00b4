"""Prepare private namespaces: a network that forwards, and the session's programs.

Mounts, interfaces, routes, iptables rules, sysctls and processes belong to the namespaces and end with them.
"""

import os
import shutil
import subprocess
from pathlib import Path

SOURCES = Path(__file__).parent  # where the C programs are


def call(*command: str | Path, stdin: str = "") -> None:
    """Run a command that must succeed; ``stdin`` is its standard input."""
    subprocess.run(command, input=stdin.encode(), check=True, capture_output=True)


def prepare_network() -> None:
    """Turn on forwarding and the loopback interface, the private network's only one."""
    call("ip", "link", "set", "lo", "up")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def mount_private(private: Path) -> None:
    """Mount an empty file system for the session's programs."""
    call("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", private)


def wrap_iptables(private: Path) -> None:
    """Mount `as_root.c` over the iptables program, in this mount namespace only."""
    iptables = shutil.which("iptables") or "/usr/sbin/iptables"
    program = Path(os.path.realpath(iptables))
    real = private / "iptables"  # the program chooses its function by its name
    shutil.copy(program, real)
    stand_in = compile_program(private, "as_root", f'-DREAL_PROGRAM="{real}"')
    call("mount", "--bind", stand_in, program)


def make_forwarding(private: Path) -> None:
    """Make `forwarding.c`, the setuid prefix of nested shells."""
    compile_program(private, "forwarding").chmod(0o4755)


def make_setuid(private: Path, program: Path) -> None:
    """Copy a shell's program and make it setuid root, as mahimahi's programs are."""
    copy = private / program.name
    shutil.copy(program, copy)
    copy.chmod(0o4755)


def compile_program(private: Path, name: str, *options: str) -> Path:
    """Compile a C program of this package statically; return its path."""
    call("cc", "-O2", "-static", *options, "-o", private / name, SOURCES / f"{name}.c")
    return private / name
