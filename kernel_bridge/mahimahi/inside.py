"""The first process of a session's private namespaces: set them up, start servers, then the shells.

Runs as root with nothing but the standard library; what it starts runs as an ordinary user. Mounts,
interfaces, routes, iptables rules, sysctls and processes belong to the namespaces and are gone when this
process ends.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FAILED = 125
"""Exit status for a session that could not be set up."""

SOURCES = Path(__file__).parent

_LISTENING = "0A"


def main() -> int:
    """Run the session that the JSON file of the first argument describes; return the shells' status."""
    session = json.loads(Path(sys.argv[1]).read_text())
    try:
        prepare_network()
        private = Path(session["private"])
        call("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", private)
        wrap_iptables(private)
        make_forwarding(private)
        for program in session["setuid"]:
            make_setuid(private, Path(program))
        as_user = {
            "user": session["uid"],
            "group": session["gid"],
            "extra_groups": [],
            "cwd": session["folder"],
            "env": session["env"],
            "stdin": subprocess.DEVNULL,
        }
        for server in session["servers"]:
            process = subprocess.Popen(
                server["command"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_user
            )
            wait_until_listening(process, server["command"][0], server["port"])
    except (OSError, subprocess.CalledProcessError, RuntimeError) as error:
        detail = getattr(error, "stderr", None)
        print(f"{error}{': ' + detail.decode(errors='replace').strip() if detail else ''}", file=sys.stderr)
        return FAILED
    return subprocess.run(session["command"], check=False, **as_user).returncode


def call(*command: str | Path) -> None:
    """Run a command that must succeed."""
    subprocess.run(command, check=True, capture_output=True)


def prepare_network() -> None:
    """Make the private network a host that forwards, with a loopback interface; it has no other."""
    call("ip", "link", "set", "lo", "up")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def wrap_iptables(private: Path) -> None:
    """Put a stand-in over the iptables program, in this mount namespace only."""
    found = shutil.which("iptables") or "/usr/sbin/iptables"
    program = Path(os.path.realpath(found))
    real = private / "iptables"  # it chooses its task by its name
    shutil.copy(program, real)
    stand_in = compiled(private, "as_root", f'-DREAL_PROGRAM="{real}"')
    call("mount", "--bind", stand_in, program)


def make_forwarding(private: Path) -> None:
    """Make the program that `run` puts before nested shells."""
    compiled(private, "forwarding").chmod(0o4755)


def make_setuid(private: Path, program: Path) -> None:
    """Copy a program that sets up a shell as root for an ordinary user, as mahimahi's do."""
    copy = private / program.name
    shutil.copy(program, copy)
    copy.chmod(0o4755)


def compiled(private: Path, name: str, *options: str) -> Path:
    """Compile a C program that lies beside this file; return where it is now."""
    call("cc", "-O2", "-static", *options, "-o", private / name, SOURCES / f"{name}.c")
    return private / name


def wait_until_listening(process: subprocess.Popen[Any], name: str, port: int) -> None:
    """Return once a TCP port of this namespace is listened on.

    Raises:
        RuntimeError: the server ended instead.
    """
    while not is_listening(port):
        if process.poll() is not None:
            raise RuntimeError(
                f"{name}: the server ended with {process.returncode} before it listened on {port}"
            )
        time.sleep(0.01)


def is_listening(port: int) -> bool:
    """Return whether a socket of this namespace listens on a TCP port."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            if state == _LISTENING and int(local.rsplit(":", 1)[1], 16) == port:
                return True
    return False


if __name__ == "__main__":
    raise SystemExit(main())
