"""The scenario: links, flows and events, independent of the backend that runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from leogym.common.errors import InputError, one_line
from leogym.common.strict import Probability, Range, Strict
from leogym.configs import file_paths
from leogym.configs.queue import Queue

Rate = Annotated[float, Range(gt=1e-6, lt=1e7)]
Delay = Annotated[float, Range(ge=0, le=1e7)]
Time = Annotated[float, Range(ge=0, lt=3.2e9)]
"""Below a century, so that times in nanoseconds fit in 64 bits."""
Duration = Annotated[float, Range(gt=0, lt=3.2e9)]
MOST_FLOWS = 100_000
"""Flows of a scenario."""
LEARNER = "agent"
"""Scheme of flows that `envs` controls, and that learn in training."""


class Reverse(Strict):
    """A link's reverse direction, with its own transmitter and queue; delay and outages are the link's."""

    rate_mbps: Rate | None = None
    """Capacity, counting whole IP packets; default: the trace's downlink."""
    loss: Probability = 0.0
    """Independent random loss per packet, on top of the trace's."""
    queue: Queue = Queue()
    """The queue in front of it."""


class Link(Strict):
    """A one-way link; the reverse path is uncongested unless ``reverse`` is given.

    It has the same delay or, with a trace, the delay and outages of the trace's other direction.
    """

    rate_mbps: Rate | None = None
    """Capacity, counting whole IP packets of 1,500 bytes; replaces a trace's."""
    delay_ms: Delay | None = None
    """One-way propagation delay; a link has either this or a trace."""
    trace: str | None = None
    """A named path (``sd-ny-bp``) or a path trace file."""
    offset_s: Time = 0.0
    """Trace time at the scenario's start."""
    loss: Probability = 0.0
    """Independent random loss per packet, on top of the trace's."""
    burst_bytes: Annotated[int, Range(ge=0, lt=2**32)] = 0
    """Token bucket depth, as ``burst`` of tc's tbf; 0: an exact link."""
    outage: Literal["hold", "drop"] = "hold"
    """Fate of packets queued or arriving in an outage, in both directions; those in flight are lost."""
    queue: Queue = Queue()
    """The queue in front of it."""
    reverse: Reverse | None = None
    """The reverse direction, which carries ACKs and the data of backward flows."""

    @model_validator(mode="after")
    def _delay_or_trace(self) -> Link:
        if (self.delay_ms is None) == (self.trace is None):
            raise ValueError("give exactly one of delay_ms and trace")
        if self.trace is None and self.rate_mbps is None:
            raise ValueError("a link without a trace needs rate_mbps")
        if self.trace is None and self.offset_s:
            raise ValueError("offset_s needs a trace")
        if self.trace is not None and self.burst_bytes:
            raise ValueError("burst_bytes: a link with a trace has no token bucket")
        if self.outage == "drop" and self.trace is None:
            raise ValueError("outage: a link without a trace has no outages")
        queues = [self.queue, *([self.reverse.queue] if self.reverse is not None else [])]
        if self.outage == "drop" and any(queue.bandwidth_mbps is not None for queue in queues):
            raise ValueError("outage: cake's shaper holds packets back through an outage")
        if self.trace is None and self.reverse is not None and self.reverse.rate_mbps is None:
            raise ValueError("reverse: a link without a trace needs rate_mbps")
        return self


class OnOff(Strict):
    """A source that alternates between sending and silence."""

    on_s: Annotated[float, Range(ge=1e-3, le=1e6)]
    """Mean length of a burst, in s."""
    off_s: Annotated[float, Range(ge=1e-3, le=1e6)]
    """Mean length of a silence, in s."""
    distribution: Literal["constant", "exponential"] = "exponential"
    """Distribution of the lengths."""


class Arrivals(Strict):
    """Transfers that arrive as a Poisson process; each becomes a flow."""

    rate_per_s: Annotated[float, Range(ge=1e-6, le=1e6)]
    """Mean arrival rate."""
    mean_bytes: Annotated[int, Range(ge=1, le=10**15)]
    """Mean size."""
    distribution: Literal["constant", "exponential", "pareto"] = "exponential"
    """Distribution of the sizes."""
    shape: Annotated[float, Range(ge=1.01, le=100)] | None = None
    """Pareto's α, 1.2 by default; smaller is heavier-tailed."""

    @model_validator(mode="after")
    def _pareto(self) -> Arrivals:
        if self.shape is not None and self.distribution != "pareto":
            raise ValueError("only pareto has a shape")
        return self


Bytes = Annotated[int, Range(ge=1, lt=2**31)]


def _rises(buffer: tuple[int, int, int]) -> tuple[int, int, int]:
    low, default, high = buffer
    if not low <= default <= high:
        raise ValueError("must rise: minimum, default, maximum")
    if default < 4096:
        raise ValueError("the default must be at least 4096")
    return buffer


Buffer = Annotated[tuple[Bytes, Bytes, Bytes], Field(strict=False), AfterValidator(_rises)]
"""Minimum, default and maximum of a socket buffer in bytes."""


EcnSupport = Literal["none", "classic", "accurate"]
"""No ECN, the feedback of RFC 3168, or that of RFC 9768, too."""


class EcnEnds(Strict):
    """The ECN that each end supports; the connection uses the best that both do (RFC 9768 §3.1)."""

    sender: EcnSupport
    """The end that sends data and opens the connection."""
    receiver: EcnSupport
    """The end that receives data."""


def _ecn(value: Any) -> Any:
    # Without this, the error would be that of one of the alternatives.
    known = get_args(EcnSupport)
    ends = (
        value.values() if isinstance(value, dict) and value.keys() == set(EcnEnds.model_fields) else [value]
    )
    if isinstance(value, bool | EcnEnds) or all(isinstance(end, str) and end in known for end in ends):
        return value
    raise ValueError(
        f"must be true, false, {', '.join(known)}, or one of the last three for sender and receiver"
    )


class Resume(Strict):
    """Window and RTT of an earlier connection over the same path (RFC 9959: saved_cwnd and saved_rtt)."""

    cwnd_packets: Annotated[int, Range(ge=1, le=2**24)]
    """Packets that it sent in an RTT: the path's bandwidth-delay product, if it filled the path."""
    rtt_ms: Annotated[float, Range(gt=0, le=10_000_000)]
    """Its smallest RTT in ms."""


class Flow(Strict):
    """A flow, or ``count`` identical ones."""

    scheme: str
    """A congestion control scheme, or ``agent`` for a flow that `envs` controls."""
    start_s: Time = 0.0
    """When it starts, in s."""
    stop_s: Duration | None = None
    """Default: the scenario's end."""
    route: Annotated[list[str], Field(min_length=1)]
    """Names of the links from sender to receiver; for a backward flow from receiver to sender."""
    direction: Literal["forward", "backward"] = "forward"
    """``backward``: data crosses the links' reverse directions and ACKs cross the links."""
    extra_delay_ms: Delay = 0.0
    """Extra one-way access delay in ms, in both directions."""
    count: Annotated[int, Range(ge=1, le=MOST_FLOWS)] = 1
    """Number of equal flows."""
    ecn: Annotated[bool | EcnSupport | EcnEnds, BeforeValidator(_ecn)] = False
    """Whether the flow uses ECN: ``true`` with the feedback that its scheme needs, accurate (RFC 9768) for
    ``prague`` and classic (RFC 3168) for others; or the best feedback that both ends support, or
    each of them. ``prague`` uses accurate ECN by default, too."""
    tcp_rmem: Buffer | None = None
    """Linux's ``net.ipv4.tcp_rmem`` in bytes: minimum, default and maximum of the receive buffer, half of
    which is window. By default the buffer does not limit the flow."""
    tcp_wmem: Buffer | None = None
    """Linux's ``net.ipv4.tcp_wmem`` in bytes (send buffer). By default the buffer does not limit the flow."""
    transfer_bytes: Annotated[int, Range(ge=1, le=10**15)] | None = None
    """The flow stops when this many bytes are acknowledged. Flows are backlogged by default."""
    arrivals: Arrivals | None = None
    """Transfers that arrive between start_s and stop_s and run to completion."""
    rate_mbps: Annotated[float, Range(gt=1e-3, lt=1e6)] | None = None
    """Rate of IP packets of ``udp``, or of a TCP flow's application, which by default is backlogged."""
    on_off: OnOff | None = None
    """Send at ``rate_mbps`` in bursts; by default continuously."""
    resume: Resume | None = None
    """What ``cubic-resume`` starts with; other schemes ignore it."""

    @model_validator(mode="after")
    def _source(self) -> Flow:
        if self.scheme == "udp" and self.rate_mbps is None:
            raise ValueError("udp needs rate_mbps")
        if self.on_off is not None and self.rate_mbps is None:
            raise ValueError("on_off needs rate_mbps")
        transfers = self.transfer_bytes is not None or self.arrivals is not None
        if self.scheme == "udp" and transfers:
            raise ValueError("udp sends until it stops: it has no transfer_bytes or arrivals")
        if self.scheme == "udp" and self.ecn is not False:
            raise ValueError("udp does not answer marks: it has no ecn")
        if self.scheme == "udp" and (self.tcp_rmem is not None or self.tcp_wmem is not None):
            raise ValueError("udp has no tcp_rmem or tcp_wmem")
        if self.scheme == "udp" and self.resume is not None:
            raise ValueError("udp has no window to resume")
        if self.tcp_wmem is not None and self.rate_mbps is not None:
            raise ValueError("an application that writes at rate_mbps does not wait for room in tcp_wmem")
        if transfers and self.rate_mbps is not None:
            raise ValueError("give rate_mbps, transfer_bytes or arrivals")
        if self.transfer_bytes is not None and self.arrivals is not None:
            raise ValueError("give at most one of transfer_bytes and arrivals")
        if self.scheme == LEARNER and self.arrivals is not None:
            raise ValueError("arrivals: the scheme agent cannot have arrivals")
        return self


class Reroute(Strict):
    """Move flows to another route. Packets on the old route still arrive over it."""

    flows: Annotated[list[Annotated[int, Range(ge=0)]], Field(min_length=1)]
    """Indices into the scenario's flows."""
    route: Annotated[list[str], Field(min_length=1)]
    """The new route, from sender to receiver."""


class Event(Strict):
    """A timed event."""

    at_s: Time
    """When it happens, in s."""
    reroute: Reroute
    """The change."""


class Scenario(Strict):
    """Links, flows, events and a duration; field names carry the units."""

    name: str = "scenario"
    """Name in reports."""
    duration_s: Duration
    """Length of a run, in s."""
    seed: Annotated[int, Range(ge=0, lt=2**64)] = 1
    """Seed of every random draw; the same seed gives the same bytes."""
    host_jitter_us: Annotated[float, Range(ge=0, le=1e6)] = 20.0
    """Timing noise of the hosts: each ACK is delayed by up to this much."""
    handshake: bool = False
    """Whether TCP flows start with a handshake; otherwise their connections already exist."""
    links: Annotated[dict[str, Link], Field(min_length=1)]
    """At least one."""
    flows: Annotated[list[Flow], Field(min_length=1)]
    """At least one."""
    events: list[Event] = Field(default_factory=list)
    """Changes of routes during the run."""

    @model_validator(mode="after")
    def _references(self) -> Scenario:
        if (flows := sum(flow.count for flow in self.flows)) > MOST_FLOWS:
            raise ValueError(f"flows: stand for {flows:,} flows, at most {MOST_FLOWS:,} may be")
        for index, flow in enumerate(self.flows):
            self._check_route(f"flows.{index}.route", flow.route)
            self._check_direction(f"flows.{index}.direction", flow, flow.route)
            if flow.stop_s is not None and flow.stop_s <= flow.start_s:
                raise ValueError(f"flows.{index}.stop_s: must be after start_s")
            if flow.start_s >= self.duration_s:
                raise ValueError(f"flows.{index}.start_s: must be before duration_s")
        for index, event in enumerate(self.events):
            self._check_route(f"events.{index}.reroute.route", event.reroute.route)
            if max(event.reroute.flows) >= len(self.flows):
                raise ValueError(f"events.{index}.reroute.flows: there are only {len(self.flows)} flows")
            for flow in event.reroute.flows:
                self._check_direction(f"events.{index}.reroute.route", self.flows[flow], event.reroute.route)
        return self

    def _check_route(self, field: str, route: list[str]) -> None:
        for link in route:
            if link not in self.links:
                known = ", ".join(self.links)
                raise ValueError(f"{field}: no link is named {link!r} (there are: {known})")

    def _check_direction(self, field: str, flow: Flow, route: list[str]) -> None:
        # Without a queue in the reverse direction nothing would limit a backward flow.
        if flow.direction == "backward" and all(self.links[link].reverse is None for link in route):
            raise ValueError(f"{field}: a backward flow needs a link that has reverse")

    @property
    def traces(self) -> set[str]:
        """The names or files of the links' path traces."""
        return {link.trace for link in self.links.values() if link.trace is not None}

    def to_json(self) -> str:
        """Return the JSON that `leosim` takes: every field, defaults included."""
        return self.model_dump_json()


def parse(data: Any, source: str) -> Scenario:
    """Return the scenario in ``data``; an `InputError` names ``source``, field and rule."""
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        raise InputError(one_line(source, error)) from None


def load(path: Path) -> Scenario:
    """Return the scenario in the YAML file at ``path``."""
    return parse(file_paths.read(path), str(path))
