"""Two network namespaces connected by a veth pair, and bulk transfers between them."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
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


class Pair:
    """Unnamed namespaces for the ``with`` block; the server is in the second.

    A child process holds each and dies with this process, so nothing is left behind.
    """

    def __init__(self) -> None:
        self._holders: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        try:
            for _ in range(2):
                self._hold()
            server = self._holders[1].pid
            self._ip(0, "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", str(server))
            for end, address in enumerate((CLIENT, SERVER)):
                self._ip(end, "link", "set", "lo", "up")
                self._ip(end, "addr", "add", f"{address}/24", "dev", "veth0")
                self._ip(end, "link", "set", "veth0", "up")
                # Do not reuse metrics of earlier flows.
                setting = "echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save"
                subprocess.run(self.inside(end, "sh", "-c", setting), check=True)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for holder in self._holders:
            holder.kill()
            holder.communicate()
        self._holders.clear()

    def _hold(self) -> None:
        line = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sh", "-c", "echo; exec sleep infinity"]
        holder = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert holder.stdout is not None
        if not holder.stdout.readline():
            raise RuntimeError(f"veth: no namespace: {holder.communicate()[1]}")
        self._holders.append(holder)

    def _ip(self, end: int, *arguments: str) -> None:
        subprocess.run(self.inside(end, "ip", *arguments), check=True, capture_output=True)

    def inside(self, end: int, *command: str) -> list[str]:
        """Return the command line that runs ``command`` at the client's (0) or the server's end (1)."""
        return ["nsenter", "--target", str(self._holders[end].pid), "--net", "--", *command]

    def received_bytes(self) -> int:
        """Return the bytes received at the server's interface, including headers."""
        interfaces = Path(f"/proc/{self._holders[1].pid}/net/dev").read_text()
        return int(interfaces.split("veth0:")[1].split()[0])

    def sockets(self) -> str:
        """Return `ss`'s output for the client's connections to the server."""
        line = self.inside(0, "ss", "-tinH", "dport", "=", f":{PORT}", "and", "dst", SERVER)
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout

    def cut(self) -> None:
        """Drop all packets to the server until `mend`."""
        self._ip(1, "link", "set", "veth0", "down")

    def mend(self) -> None:
        self._ip(1, "link", "set", "veth0", "up")

    @contextmanager
    def transfer(
        self, scheme: str, start: Sequence[str] = ()
    ) -> Iterator[tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
        """Run a bulk transfer with ``scheme`` for the ``with`` block; yield sender and receiver.

        ``start`` precedes both command lines.
        """
        sink = self.inside(1, *start, sys.executable, "-c", _SINK, SERVER, str(PORT))
        server = subprocess.Popen(sink, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            assert server.stdout is not None
            if not server.stdout.readline():
                raise RuntimeError(f"veth: no server: {server.communicate()[1].decode()}")
            source = self.inside(0, *start, sys.executable, "-c", _SOURCE, SERVER, str(PORT), scheme)
            client = subprocess.Popen(source, stderr=subprocess.PIPE)
            try:
                yield client, server
            finally:
                client.kill()
                client.communicate()
        finally:
            server.kill()
            server.communicate()
