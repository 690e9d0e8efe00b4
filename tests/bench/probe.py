"""UDP probes with the kernel's send and receive timestamps, which exclude wake-up latency.

`probe.py server` answers; it also listens on TCP to show that it is ready. `probe.py client ADDRESS COUNT
GAP_MS` prints JSON with the times of sending and receiving (ns since the epoch) for each probe and direction.
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
"""<asm-generic/socket.h>; its control message begins with the software struct timespec."""
SOFTWARE, LEAVING, ARRIVING, ALONE = 1 << 4, 1 << 1, 1 << 3, 1 << 11
"""<linux/net_tstamp.h>: software timestamps, on transmit, on receive, without packet contents."""
PAYLOAD_BYTES = 1472
"""Fills an IP packet of 1,500 bytes."""


def main(role: str, *words: str) -> None:
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
    """Answer each probe, then send its arrival time and the answer's send time."""
    while True:
        _, received, client = receive(probes)
        probes.sendto(bytes(PAYLOAD_BYTES), client)
        probes.sendto(struct.pack("=qq", received, left(probes)), client)
        left(probes)


def ask(probes: socket.socket, count: int, gap_ms: float) -> list[tuple[int, int, int, int]]:
    """Return for each probe and its answer when they were sent and received."""
    times = []
    for _ in range(count):
        probes.send(bytes(PAYLOAD_BYTES))
        sent = left(probes)
        _, back, _ = receive(probes)
        echo, _, _ = receive(probes)
        times.append((sent, *struct.unpack_from("=qq", echo), back))
        time.sleep(gap_ms / 1e3)
    return times


def left(probes: socket.socket) -> int:
    errors = select.poll()
    errors.register(probes, 0)
    if not errors.poll(5_000):
        raise RuntimeError("a datagram without its send timestamp")
    _, messages, _, _ = probes.recvmsg(0, 200, socket.MSG_ERRQUEUE)
    return stamped(messages)


def receive(probes: socket.socket) -> tuple[bytes, int, Any]:
    data, messages, _, sender = probes.recvmsg(2000, 200)
    return data, stamped(messages), sender


def stamped(messages: list[tuple[int, int, bytes]]) -> int:
    """Return the timestamp in control messages, in ns since the epoch."""
    for level, kind, value in messages:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPING):
            seconds, nanoseconds = struct.unpack_from("=qq", value)
            return seconds * 10**9 + nanoseconds
    raise RuntimeError("a datagram without its timestamp")


if __name__ == "__main__":
    main(*sys.argv[1:])
