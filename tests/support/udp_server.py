"""Serve UDP in a separate network namespace, where tests start mm-leo; runs as root.

    unshare --net --mount --pid --fork --kill-child --mount-proc python udp_server.py COMMAND…

The server answers `COUNT BYTES GAP_US` with COUNT datagrams that start with their number in four bytes. The
exit status is the command's.
"""

import socket
import subprocess
import sys
import threading
import time

PORT = 9000


def serve(listener: socket.socket) -> None:
    while True:
        request, client = listener.recvfrom(100)
        count, size, gap_us = (int(word) for word in request.split())
        begin = time.monotonic()
        for number in range(count):
            listener.sendto(number.to_bytes(4, "big").ljust(size, b"\0"), client)
            time.sleep(max(0.0, begin + (number + 1) * gap_us * 1e-6 - time.monotonic()))


def main() -> int:
    """Turn on loopback, serve and run the command."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("0.0.0.0", PORT))
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        return subprocess.run(sys.argv[1:], check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
