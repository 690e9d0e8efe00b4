"""A client of ``leo-bridge``: see real TCP flows, get their interval reports, set their window and pacing.

The protocol is one JSON object a line over a Unix socket; ``kernel_bridge/bridge/README.md`` describes it.
"""

from __future__ import annotations

import json
import socket
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

SOCKET = "@leo-bridge"
"""Where a bridge listens unless told otherwise: a path or, after an @, an abstract name."""
PROTOCOL = 1
REPORT_FIELDS = (
    "time_ns",
    "interval_ns",
    "delivered_bytes",
    "sent_bytes",
    "lost_bytes",
    "avg_throughput_bytes_per_s",
    "avg_rtt_us",
    "rtt_samples",
    "min_rtt_us",
    "srtt_us",
    "rttvar_us",
    "cwnd_packets",
    "packets_out",
    "retrans_out",
    "mss_bytes",
    "pacing_rate_bytes_per_s",
    "max_throughput_bytes_per_s",
    "ssthresh_packets",
    "rtt_slope",
)
"""What a report's values are, in their order; the same as a simulated flow's."""


class BridgeError(RuntimeError):
    """The bridge refused a request, or went away."""


@dataclass(frozen=True)
class Flow:
    """A TCP connection, seen from its sender."""

    id: int
    scheme: str
    local: str
    """Address and port, as ``10.0.0.1:4321``."""
    remote: str
    netns: int
    """Inode of the network namespace, as in ``/proc/PID/ns/net``."""
    uid: int
    opened_us: int
    """When it opened, on the monotonic clock; a report's ``time_ns`` counts from there."""
    mode: str
    """Who sets the window: ``held`` (nobody yet), ``steered``, ``fallen_back`` (the kernel's Cubic) or
    ``its_own`` (SaTCP)."""
    cwnd_packets: int
    pacing_bytes_per_s: int
    """0: unpaced."""
    srtt_us: int
    sent_packets: int
    fallbacks: int
    timeouts: int


@dataclass(frozen=True)
class Opened:
    """A flow opened, or was open when the subscription began."""

    flow: Flow


@dataclass(frozen=True)
class Closed:
    """The flow of that id closed."""

    flow: int


@dataclass(frozen=True)
class Report:
    """A monitor interval of the flow of that id ended."""

    flow: int
    values: tuple[float, ...]
    """In the order of `REPORT_FIELDS`."""
    late_us: int
    """From the interval's end until the bridge reported it."""

    def __getitem__(self, name: str) -> float:
        return self.values[REPORT_FIELDS.index(name)]


@dataclass(frozen=True)
class Refused:
    """A command was not carried out, most often because its flow has just closed."""

    reason: str


Message = Opened | Closed | Report | Refused


class Bridge:
    """A connection to a running bridge; a context manager.

    Args:
        address: where it listens.
        timeout_s: how long to wait for an answer.

    Raises:
        InputError: no bridge listens there.
    """

    def __init__(self, address: str = SOCKET, *, timeout_s: float = 10.0) -> None:
        self._timeout_s = timeout_s
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect("\0" + address[1:] if address.startswith("@") else address)
        except OSError as error:
            self._socket.close()
            from configs.errors import InputError  # here, because the lab's guest has nothing but this file

            raise InputError(
                f"{address}: no bridge answers there: {error.strerror}: start one with `leo-bridge run`"
            ) from None
        self._heard = b""
        self._lines: deque[bytes] = deque()
        self._messages: deque[Message] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; flows that this client steered fall back to Cubic."""
        self._socket.close()

    def fileno(self) -> int:
        """Return the socket's descriptor, for `select`."""
        return self._socket.fileno()

    def status(self) -> Mapping[str, Any]:
        """Return what the bridge says of itself: its schemes, the intervals it served, how late it was."""
        return self._request({"op": "status"}, "status")

    def flows(self) -> list[Flow]:
        """Return the open flows of all schemes."""
        return [_flow(fields) for fields in self._request({"op": "flows"}, "flows")["flows"]]

    def subscribe(self, scheme: str, *, interval_ms: float | None = None) -> None:
        """Ask for what happens to a scheme's flows from now on, beginning with `Opened` for each open one.

        ``interval_ms`` sets the monitor interval of an offered scheme.
        """
        request: dict[str, Any] = {"op": "subscribe", "scheme": scheme}
        if interval_ms is not None:
            request["interval_ms"] = interval_ms
        self._request(request, "done")

    def command(self, flow: int, cwnd_packets: int, pacing_bytes_per_s: int = 0) -> None:
        """Set a flow's window (0 leaves it) and pacing rate (0: unpaced). It holds until the next command.

        Without a command for four intervals or two smoothed RTTs, whichever is longer, the flow is Cubic's.
        """
        request = {"op": "command", "flow": flow, "cwnd": cwnd_packets}
        self._send({**request, "pacing_bytes_per_s": pacing_bytes_per_s})

    def freeze(self, flow: int, for_ms: float) -> None:
        """Tell a SaTCP flow that an announced handover explains its losses from now on, for so long."""
        self._send({"op": "freeze", "flow": flow, "for_ms": for_ms})

    def message(self, timeout_s: float | None = None) -> Message | None:
        """Return the next message; None when none came within ``timeout_s`` (default: the connection's).

        Raises:
            BridgeError: the bridge went away.
        """
        if self._messages:
            return self._messages.popleft()
        line = self._line(self._timeout_s if timeout_s is None else timeout_s)
        return None if line is None else _message(json.loads(line))

    def _request(self, request: Mapping[str, Any], answer: str) -> Mapping[str, Any]:
        self._send(request)
        while True:
            line = self._line(self._timeout_s)
            if line is None:
                raise BridgeError(f"bridge: no answer within {self._timeout_s:g} s")
            fields = json.loads(line)
            if fields["op"] == answer:
                return fields
            if fields["op"] == "error":
                raise BridgeError(f"bridge: {fields['reason']}")
            self._messages.append(_message(fields))

    def _send(self, request: Mapping[str, Any]) -> None:
        try:
            self._socket.settimeout(self._timeout_s)
            self._socket.sendall(json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            # Why it ended the connection may still be there to be read.
            if (line := self._line(0)) is not None:
                raise BridgeError(f"bridge: {json.loads(line).get('reason', 'went away')}") from None
            raise BridgeError("bridge: it went away") from None
        except OSError as error:
            raise BridgeError(f"bridge: {error}") from None

    def _line(self, timeout_s: float) -> bytes | None:
        while not self._lines:
            self._socket.settimeout(max(timeout_s, 1e-6))
            try:
                chunk = self._socket.recv(1 << 16)
            except TimeoutError:
                return None
            except OSError as error:
                raise BridgeError(f"bridge: {error}") from None
            if not chunk:
                raise BridgeError("bridge: it went away")
            *lines, self._heard = (self._heard + chunk).split(b"\n")
            self._lines.extend(lines)
        return self._lines.popleft()


def _flow(fields: Mapping[str, Any]) -> Flow:
    return Flow(
        id=fields["flow"],
        scheme=fields["scheme"],
        local=fields["local"],
        remote=fields["remote"],
        netns=fields["netns"],
        uid=fields["uid"],
        opened_us=fields["opened_us"],
        mode=fields["mode"],
        cwnd_packets=fields["cwnd"],
        pacing_bytes_per_s=fields["pacing_bytes_per_s"],
        srtt_us=fields["srtt_us"],
        sent_packets=fields["sent"],
        fallbacks=fields["fallbacks"],
        timeouts=fields["timeouts"],
    )


def _message(fields: Mapping[str, Any]) -> Message:
    match fields["op"]:
        case "report":
            return Report(fields["flow"], tuple(fields["values"]), fields["late_us"])
        case "opened":
            return Opened(_flow(fields["flow"]))
        case "closed":
            return Closed(fields["flow"])
        case "error":
            return Refused(fields["reason"])
        case other:
            raise BridgeError(f"bridge: {other}: unknown message")
