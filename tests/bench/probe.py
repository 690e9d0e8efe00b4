"""UDP probes with the kernel's time of arrival, so that nobody's waking up is measured.

`probe.py server` answers; it listens on TCP, too, so that whoever started it knows that it is there.
`probe.py client ADDRESS COUNT GAP_MS` prints JSON: for each probe and direction when it was sent and received
(epoch, ns).
"""

import json
import socket
import struct
import sys
import time

PORT = 7000
SO_TIMESTAMPNS = 35
"""<asm-generic/socket.h>; the message of that kind is a struct timespec."""
PAYLOAD_BYTES = 1472
"""Fills an IP packet of 1,500 bytes."""


def main(role: str, *words: str) -> None:
    """Be the server, or the client."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probes:
        probes.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
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
    """Send every probe back with both times of the server."""
    while True:
        _, received, client = receive(probes)
        probes.sendto(struct.pack("=qq", received, time.time_ns()).ljust(PAYLOAD_BYTES), client)


def ask(probes: socket.socket, count: int, gap_ms: float) -> list[tuple[int, int, int, int]]:
    """Return for each probe when it was sent and received, and when its answer was."""
    times = []
    for _ in range(count):
        sent = time.time_ns()
        probes.send(bytes(PAYLOAD_BYTES))
        data, back, _ = receive(probes)
        times.append((sent, *struct.unpack_from("=qq", data), back))
        time.sleep(gap_ms / 1e3)
    return times


def receive(probes: socket.socket) -> tuple[bytes, int, object]:
    """Return a datagram, when the kernel had it, and from whom."""
    data, messages, _, sender = probes.recvmsg(2000, 100)
    for level, kind, value in messages:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            seconds, nanoseconds = struct.unpack_from("=qq", value)
            return data, seconds * 10**9 + nanoseconds, sender
    raise RuntimeError("a datagram without its time of arrival")


if __name__ == "__main__":
    main(*sys.argv[1:])
