"""The first process of a command's private namespaces: set them up, start servers, then the shells.

It runs as root, its children as an ordinary user. The namespaces end with it.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from leogym.kernel_bridge.inside.ending import EXIT_FAILED, explain_error
from leogym.kernel_bridge.inside.preparation import (
    make_forwarding,
    make_setuid,
    mount_private,
    prepare_network,
    wrap_iptables,
)
from leogym.kernel_bridge.inside.session import CommandSession

_LISTENING = "0A"


def main() -> int:
    """Run the session that the JSON file of the first argument describes; return the shells' status."""
    session: CommandSession = json.loads(Path(sys.argv[1]).read_text())
    try:
        prepare_network()
        private = Path(session["private"])
        mount_private(private)
        wrap_iptables(private)
        make_forwarding(private)
        for program in session["setuid"]:
            make_setuid(private, Path(program))
        as_user: dict[str, Any] = {
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
        print(explain_error(error), file=sys.stderr)
        return EXIT_FAILED
    return subprocess.run(session["command"], check=False, **as_user).returncode


def wait_until_listening(process: subprocess.Popen[Any], name: str, port: int) -> None:
    """Return once the server listens on its TCP port.

    Raises:
        RuntimeError: the server ended before.
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
