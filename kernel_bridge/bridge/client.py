"""A client of ``leo-bridge``: list real TCP flows, get their interval reports, set window and pacing.

``kernel_bridge/bridge/README.md`` describes the protocol: one JSON object a line over a Unix socket.
"""

import dataclasses
import json
import socket
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from leogym.results.flow_report import FlowReport

SOCKET = "@leo-bridge"  # the default socket: a path or, after an @, an abstract name
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
"""The names of a report's values in order, as for simulated flows."""


class BridgeError(RuntimeError):
    """The bridge refused a request or ended."""


@dataclass(frozen=True)
class Flow:
    """A TCP connection, as its sender sees it."""

    id: int
    scheme: str
    local: str  # address and port, as `10.0.0.1:4321`
    remote: str
    netns: int  # inode of the network namespace, as in `/proc/PID/ns/net`
    uid: int
    opened_us: int  # opening time on the monotonic clock: the origin of a report's `time_ns`
    mode: str  # what sets the window: `held`, `steered`, `fallen_back` (Cubic) or `its_own` (SaTCP)
    cwnd_packets: int
    pacing_bytes_per_s: int  # 0: unpaced
    srtt_us: int
    sent_packets: int
    fallbacks: int
    timeouts: int


@dataclass(frozen=True)
class Opened:
    """A flow opened or was open at subscription."""

    flow: Flow


@dataclass(frozen=True)
class Closed:
    """A flow closed."""

    flow: int


@dataclass(frozen=True)
class Report:
    """A monitor interval of a flow ended."""

    flow: int
    values: tuple[float, ...]  # in the order of `REPORT_FIELDS`
    late_us: int  # time from the interval's end until the bridge served it

    def __getitem__(self, name: str) -> float:
        return self.values[REPORT_FIELDS.index(name)]

    @property
    def measured(self) -> "FlowReport":
        """The report as Python schemes get it, with their names and units."""
        from leogym.results.flow_report import FlowReport  # not above: the lab's guest does not have it

        return FlowReport.of(dict(zip(REPORT_FIELDS, self.values, strict=True)))


@dataclass(frozen=True)
class Refused:
    """The bridge refused a command, most often because its flow has just closed."""

    reason: str


Message = Opened | Closed | Report | Refused


class Bridge:
    """A connection to a running bridge; a context manager.

    Raises:
        InputError: no bridge listens at ``address``.
    """

    def __init__(self, address: str = SOCKET, *, timeout_s: float = 10.0) -> None:
        self._timeout_s = timeout_s
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect("\0" + address[1:] if address.startswith("@") else address)
        except OSError as error:
            self._socket.close()
            from leogym.common.errors import InputError  # not above: the lab's guest does not have it

            raise InputError(
                f"{address}: no bridge answers there: {error.strerror}: start one with `leo-bridge run`"
            ) from None
        self._partial_line = b""
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
        """Return the bridge's state: its schemes, the intervals that it served, how late it was."""
        return self._request({"op": "status"}, "status")

    def flows(self) -> list[Flow]:
        """Return the open flows of all schemes."""
        return [_flow(fields) for fields in self._request({"op": "flows"}, "flows")["flows"]]

    def subscribe(self, scheme: str, *, interval_ms: float | None = None) -> None:
        """Subscribe to a scheme's flows; the first messages are an `Opened` for each open flow.

        ``interval_ms`` sets the monitor interval of an offered scheme.
        """
        request: dict[str, Any] = {"op": "subscribe", "scheme": scheme}
        if interval_ms is not None:
            request["interval_ms"] = interval_ms
        self._request(request, "done")

    def command(self, flow: int, cwnd_packets: int, pacing_bytes_per_s: int = 0) -> None:
        """Set a flow's window (0: unchanged) and pacing rate (0: unpaced) until the next command.

        After four intervals or two smoothed RTTs without a command, whichever is longer, Cubic takes over.
        """
        request = {"op": "command", "flow": flow, "cwnd": cwnd_packets}
        self._send({**request, "pacing_bytes_per_s": pacing_bytes_per_s})

    def freeze(self, flow: int, for_ms: float) -> None:
        """Have a SaTCP flow attribute its losses to an announced handover for ``for_ms`` from now on."""
        self._send({"op": "freeze", "flow": flow, "for_ms": for_ms})

    def message(self, timeout_s: float | None = None) -> Message | None:
        """Return the next message, or None if none comes within ``timeout_s`` (default: the connection's).

        Raises:
            BridgeError: the bridge ended.
        """
        if self._messages:
            return self._messages.popleft()
        line = self._line(self._timeout_s if timeout_s is None else timeout_s)
        return None if line is None else _message(json.loads(line))

    def _request(self, request: Mapping[str, Any], reply_op: str) -> Mapping[str, Any]:
        self._send(request)
        while True:
            line = self._line(self._timeout_s)
            if line is None:
                raise BridgeError(f"bridge: no answer within {self._timeout_s:g} s")
            fields = json.loads(line)
            if fields["op"] == reply_op:
                return fields
            if fields["op"] == "error":
                raise BridgeError(f"bridge: {fields['reason']}")
            self._messages.append(_message(fields))

    def _send(self, request: Mapping[str, Any]) -> None:
        try:
            self._socket.settimeout(self._timeout_s)
            self._socket.sendall(json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            # The reason why the bridge closed the connection may still be unread.
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
            *lines, self._partial_line = (self._partial_line + chunk).split(b"\n")
            self._lines.extend(lines)
        return self._lines.popleft()


def _flow(fields: Mapping[str, Any]) -> Flow:
    sent_as = {"id": "flow", "cwnd_packets": "cwnd", "sent_packets": "sent"}
    return Flow(*(fields[sent_as.get(field.name, field.name)] for field in dataclasses.fields(Flow)))


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
