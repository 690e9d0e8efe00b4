"""Two network namespaces joined by a veth pair, and bulk transfers between them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

CLIENT, SERVER = "10.77.0.1", "10.77.0.2"
PORT = 5201

_SINK = """
import socket, sys
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
print(flush=True)
connection = listener.accept()[0]
while connection.recv(1 << 20):
    pass
"""
_SOURCE = """
import socket, sys
connection = socket.socket()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[3].encode())
connection.connect((sys.argv[1], int(sys.argv[2])))
while True:
    connection.send(bytes(65536))
"""


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


class Pair:
    """Namespaces of this process's own, as long as the ``with`` block; the server is in the second."""

    def __init__(self) -> None:
        self.names = [f"leogym-{os.getpid()}-{end}" for end in "ab"]

    def __enter__(self) -> Self:
        first, second = self.names
        for name in self.names:
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", first, "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", second)
        for name, address in zip(self.names, (CLIENT, SERVER), strict=True):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", "veth0")
            _ip("-n", name, "link", "set", "veth0", "up")
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.names:
            _ip("netns", "del", name)

    def inside(self, end: int, *command: str) -> list[str]:
        """Return the command line that runs ``command`` at one end: 0 the client's, 1 the server's."""
        return ["ip", "netns", "exec", self.names[end], *command]

    def cut(self) -> None:
        """Let nothing arrive at the server until `mend`."""
        _ip("-n", self.names[1], "link", "set", "veth0", "down")

    def mend(self) -> None:
        """Undo `cut`."""
        _ip("-n", self.names[1], "link", "set", "veth0", "up")

    @contextmanager
    def transfer(self, scheme: str) -> Iterator[subprocess.Popen[bytes]]:
        """Send as fast as ``scheme`` lets for as long as the ``with`` block; gives the sender's process."""
        sink = self.inside(1, sys.executable, "-c", _SINK, SERVER, str(PORT))
        server = subprocess.Popen(sink, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            assert server.stdout is not None
            if not server.stdout.readline():
                raise RuntimeError(f"veth: no server: {server.communicate()[1].decode()}")
            source = self.inside(0, sys.executable, "-c", _SOURCE, SERVER, str(PORT), scheme)
            client = subprocess.Popen(source, stderr=subprocess.PIPE)
            try:
                yield client
            finally:
                client.kill()
                client.communicate()
        finally:
            server.kill()
            server.communicate()
