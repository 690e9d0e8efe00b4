"""UDP probes with the kernel's times of leaving and arrival, so that nobody's waking up is measured.

`probe.py server` answers; it listens on TCP, too, so that whoever started it knows that it is there.
`probe.py client ADDRESS COUNT GAP_MS` prints JSON: for each probe and direction when it was sent and received
(epoch, ns).
"""

import json
import select
import socket
import struct
import sys
import time
from typing import Any

PORT = 7000
SO_TIMESTAMPING = 37
"""<asm-generic/socket.h>; the message of that kind begins with software's struct timespec."""
SOFTWARE, LEAVING, ARRIVING, ALONE = 1 << 4, 1 << 1, 1 << 3, 1 << 11
"""<linux/net_tstamp.h>: by software; of packets that a device takes and that come; without their contents."""
PAYLOAD_BYTES = 1472
"""Fills an IP packet of 1,500 bytes."""


def main(role: str, *words: str) -> None:
    """Be the server, or the client."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probes:
        probes.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, SOFTWARE | LEAVING | ARRIVING | ALONE)
        if role == "server":
            probes.bind(("0.0.0.0", PORT))
            with socket.create_server(("0.0.0.0", PORT)):
                answer(probes)
        else:
            address, count, gap_ms = words
            probes.connect((address, PORT))
            probes.settimeout(5.0)
            print(json.dumps(ask(probes, int(count), float(gap_ms))))


def answer(probes: socket.socket) -> None:
    """Answer every probe, then say when it had come and when the answer left."""
    while True:
        _, received, client = receive(probes)
        probes.sendto(bytes(PAYLOAD_BYTES), client)
        probes.sendto(struct.pack("=qq", received, left(probes)), client)
        left(probes)


def ask(probes: socket.socket, count: int, gap_ms: float) -> list[tuple[int, int, int, int]]:
    """Return for each probe when it was sent and received, and when its answer was."""
    times = []
    for _ in range(count):
        probes.send(bytes(PAYLOAD_BYTES))
        sent = left(probes)
        _, back, _ = receive(probes)
        told, _, _ = receive(probes)
        times.append((sent, *struct.unpack_from("=qq", told), back))
        time.sleep(gap_ms / 1e3)
    return times


def left(probes: socket.socket) -> int:
    """Return when a device took the datagram that was sent last."""
    errors = select.poll()
    errors.register(probes, 0)
    if not errors.poll(5_000):
        raise RuntimeError("a datagram without its time of leaving")
    _, messages, _, _ = probes.recvmsg(0, 200, socket.MSG_ERRQUEUE)
    return stamped(messages)


def receive(probes: socket.socket) -> tuple[bytes, int, Any]:
    """Return a datagram, when the kernel had it, and from whom."""
    data, messages, _, sender = probes.recvmsg(2000, 200)
    return data, stamped(messages), sender


def stamped(messages: list[tuple[int, int, bytes]]) -> int:
    """Return the time in a datagram's control messages, in ns since the epoch."""
    for level, kind, value in messages:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPING):
            seconds, nanoseconds = struct.unpack_from("=qq", value)
            return seconds * 10**9 + nanoseconds
    raise RuntimeError("a datagram without its time")


if __name__ == "__main__":
    main(*sys.argv[1:])
