"""One end of a flow over one QUIC stream with aioquic: a program of its own, which hosts run without LeoGym.

The receiver opens the stream and sends the number of bytes that it wants, in eight bytes. The sender answers
with that many and the stream's end. When the receiver has all, it ends its direction, too; the sender then
counts them as acknowledged and closes the connection. The sender writes ``sender.qlog``, and both ends write
``progress`` (see `kernel_bridge.quic.logs`) into the working folder. SIGTERM ends both.
"""

# pyright: reportMissingImports=false
# The user installs aioquic.

import argparse
import asyncio
import signal
import socket
import sys
import time
from typing import Any

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived
from aioquic.quic.logger import QuicLogger, QuicLoggerTrace

PROTOCOL = "leo-quic"
CHUNK = bytes(1 << 16)
AHEAD_BYTES = 4 * len(CHUNK)
"""What the sender gives to aioquic beyond what aioquic has sent."""
RECORD_NS = 1_000_000
"""Records of progress within this time become one."""
LOGGED = ("packet_sent", "packet_received", "packet_lost", "metrics_updated")


class Progress:
    """The file ``progress``."""

    def __init__(self) -> None:
        self.file = open("progress", "w", encoding="ascii")  # noqa: SIM115
        self.at_ns = self.written_ns = self.bytes = 0

    def add(self, count: int) -> None:
        """Add bytes that count from now on."""
        now_ns = time.monotonic_ns()
        if self.bytes and now_ns >= self.written_ns + RECORD_NS:
            self.file.write(f"{self.at_ns} {self.bytes}\n")
            self.written_ns = now_ns
        self.at_ns = now_ns
        self.bytes += count

    def complete(self) -> None:
        """Write the last record."""
        if self.bytes:
            self.file.write(f"{self.at_ns} {self.bytes}\n")
        self.file.close()


class Trace(QuicLoggerTrace):
    """A sender's qlog without frames, written at once; it also knows how much of the stream has been sent."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.file = open("sender.qlog", "w", encoding="ascii")  # noqa: SIM115
        self.file.write('\x1e{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{}}\n')
        self.sent_bytes = 0
        self.connection: Any = None

    def encode_stream_frame(self, frame: Any, stream_id: int) -> dict[str, Any]:
        """Note how far the sent data reach; the receiver's frame is its request, which is shorter."""
        self.sent_bytes = max(self.sent_bytes, frame.offset + len(frame.data))
        return {}

    def log_event(self, *, category: str, event: str, data: dict[str, Any]) -> None:
        """Write an event that `kernel_bridge.quic.logs` reads, in the terms of qlog's definition."""
        if event not in LOGGED:
            return
        # Not json.dumps, as this program's time is the flow's.
        if event == "metrics_updated":
            values = f'"congestion_window":{data["cwnd"]},"bytes_in_flight":{data["bytes_in_flight"]}'
            if "latest_rtt" in data:
                values += f',"latest_rtt":{data["latest_rtt"]}'
            if self.connection is not None:
                # aioquic logs no probe timeouts.
                values += f',"pto_count":{self.connection._loss._pto_count}'
        else:
            values = f'"raw":{{"length":{data["raw"]["length"]}}}' if "raw" in data else ""
        time_ms = time.monotonic_ns() * 1e-6
        self.file.write(f'\x1e{{"time":{time_ms:.6f},"name":"{category}:{event}","data":{{{values}}}}}\n')


class Logger(QuicLogger):
    """Gives the only connection its trace."""

    trace: Trace | None = None

    def start_trace(self, is_client: bool, odcid: bytes) -> Trace:
        """Begin the qlog."""
        self.trace = trace = Trace(is_client=is_client, odcid=odcid)
        return trace

    def end_trace(self, trace: QuicLoggerTrace) -> None:
        """Complete the qlog."""
        assert self.trace is not None
        self.trace.file.close()


class End(QuicConnectionProtocol):
    """An end's connection: `ended` is done when it is closed."""

    ended: asyncio.Future[None]

    def quic_event_received(self, event: QuicEvent) -> None:
        """Pass the stream's data on."""
        if isinstance(event, StreamDataReceived):
            self.received(event.data, event.end_stream)
        elif isinstance(event, ConnectionTerminated) and not self.ended.done():
            if event.error_code:
                self.ended.set_exception(ConnectionError(event.reason_phrase or f"error {event.error_code}"))
            else:
                self.ended.set_result(None)

    def received(self, data: bytes, is_last: bool) -> None:
        """Take data of the stream."""
        raise NotImplementedError


class Sender(End):
    """Sends what the receiver asks for."""

    progress: Progress
    logger: Logger

    def __init__(self, quic: Any, stream_handler: Any = None) -> None:
        super().__init__(quic, stream_handler)
        self.quic = quic
        self.request = b""
        self.bytes = self.queued_bytes = 0
        assert self.logger.trace is not None
        self.trace = self.logger.trace
        self.trace.connection = quic

    def received(self, data: bytes, is_last: bool) -> None:
        """Take the request, or its end, with which the receiver confirms that it has all."""
        self.request += data
        if not self.bytes and len(self.request) == 8:
            self.bytes = int.from_bytes(self.request, "big")
        if is_last:
            self.progress.add(self.bytes)
            self.close()

    def transmit(self) -> None:
        """Give aioquic, which buffers all that it is given, no more than it soon sends."""
        while self.queued_bytes < self.bytes and self.queued_bytes < self.trace.sent_bytes + AHEAD_BYTES:
            chunk = CHUNK[: self.bytes - self.queued_bytes]
            self.queued_bytes += len(chunk)
            self.quic.send_stream_data(0, chunk, end_stream=self.queued_bytes == self.bytes)
        super().transmit()


class Receiver(End):
    """Asks for bytes and receives them."""

    progress: Progress

    def __init__(self, quic: Any, stream_handler: Any = None) -> None:
        super().__init__(quic, stream_handler)
        self.quic = quic

    def ask(self, count: int) -> None:
        """Send the request."""
        self.quic.send_stream_data(0, count.to_bytes(8, "big"))
        self.transmit()

    def received(self, data: bytes, is_last: bool) -> None:
        """Count data; `datagram_received` sends what this leaves to send."""
        if data:
            self.progress.add(len(data))
        if is_last:
            self.quic.send_stream_data(0, b"", end_stream=True)


async def send(scheme: str, port: int, progress: Progress) -> None:
    """Listen, and send what the first receiver asks for."""
    Sender.progress, Sender.logger = progress, Logger()
    Sender.ended = asyncio.get_running_loop().create_future()
    configuration = _configuration(False, scheme)
    configuration.quic_logger = Sender.logger
    configuration.load_cert_chain("tls.crt", "tls.key")
    server = await serve("0.0.0.0", port, configuration=configuration, create_protocol=Sender)
    try:
        await _until_terminated(Sender.ended)
    finally:
        server.close()
        if Sender.logger.trace is not None:
            Sender.logger.trace.file.close()


async def receive(scheme: str, host: str, port: int, count: int, progress: Progress) -> None:
    """Ask for bytes, and return when they have arrived and the sender has closed the connection."""
    Receiver.progress = progress
    Receiver.ended = asyncio.get_running_loop().create_future()
    configuration = _configuration(True, scheme)
    configuration.load_verify_locations("ca.crt")
    configuration.server_name = host
    quic = QuicConnection(configuration=configuration)
    # aioquic's own function opens an IPv6 socket, which hosts of scenarios lack.
    transport, receiver = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Receiver(quic), family=socket.AF_INET, local_addr=("0.0.0.0", 0)
    )
    try:
        receiver.connect((socket.gethostbyname(host), port))
        await receiver.wait_connected()
        receiver.ask(count)
        await _until_terminated(Receiver.ended)
        receiver.close()
    finally:
        transport.close()


def _configuration(is_client: bool, scheme: str) -> QuicConfiguration:
    return QuicConfiguration(
        is_client=is_client, alpn_protocols=[PROTOCOL], congestion_control_algorithm=scheme
    )


async def _until_terminated(ended: asyncio.Future[None]) -> None:
    """Return when the connection is closed, or at SIGTERM."""

    def terminate() -> None:
        if not ended.done():
            ended.set_result(None)

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
    await ended


def main() -> int:
    """Carry out an end; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("end", choices=("send", "receive"))
    parser.add_argument("--scheme", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--from", dest="host", help="the sender's host")
    parser.add_argument("--bytes", type=int, help="what the receiver asks for")
    arguments = parser.parse_args()
    progress = Progress()
    try:
        if arguments.end == "send":
            asyncio.run(send(arguments.scheme, arguments.port, progress))
        else:
            asyncio.run(receive(arguments.scheme, arguments.host, arguments.port, arguments.bytes, progress))
    except OSError as error:
        print(f"aioquic: {str(error) or 'the handshake failed'}", file=sys.stderr)
        return 1
    finally:
        progress.complete()
    return 0


if __name__ == "__main__":
    sys.exit(main())
