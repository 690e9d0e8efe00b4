"""The scenario: links, flows and events, independent of the backend that runs it.

This module and `configs.queue` declare each field with its default and range. ``python -m configs.reference``
writes the core's structs and the reference from them.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from leogym.common.errors import InputError, one_line
from leogym.common.strict import Probability, Range, Strict
from leogym.configs import file_paths, page_graph
from leogym.configs.part import Part
from leogym.configs.queue import Queue

Rate = Annotated[float, Range(gt=1e-6, lt=1e7)]
Delay = Annotated[float, Range(ge=0, le=1e7)]
Time = Annotated[float, Range(ge=0, lt=3.2e9)]
"""Below a century, so that times in nanoseconds fit in 64 bits."""
Duration = Annotated[float, Range(gt=0, lt=3.2e9)]
MOST_FLOWS = 100_000
"""Flows of a scenario."""
MOST_TRANSFER_BYTES = 10**15
Route = Annotated[list[str], Field(min_length=1, max_length=200)]
OutageEffect = Literal["hold", "drop"]
FlowDirection = Literal["forward", "backward"]
Distribution = Literal["constant", "exponential"]
SizeDistribution = Literal["constant", "exponential", "pareto"]
AdaptationRule = Literal["bba", "bola", "rate", "mpc", "robust_mpc"]
HttpVersion = Literal["http1", "http2"]
EcnSupport = Literal["none", "classic", "accurate"]
"""No ECN, the feedback of RFC 3168, or that of RFC 9768, too."""
CALL_SCHEME = "gcc"
"""Scheme of calls: Google congestion control."""
LEARNER = "agent"
"""Scheme of flows that `envs` controls, and that learn in training."""


class Reverse(Strict):
    """A link's reverse direction, with its own transmitter and queue; delay and outages are the link's."""

    rate_mbps: Rate | None = None
    """Capacity, counting whole IP packets; default: the trace's downlink."""
    loss: Probability = 0.0
    """Independent random loss per packet, on top of the trace's."""
    queue: Queue = Field(default_factory=Queue)
    """The queue in front of it."""


class Link(Part):
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
    """Token bucket depth, as ``burst`` of tc's tbf; 0: an exact link. mm-leo's links are exact."""
    outage: OutageEffect = "hold"
    """Fate of packets queued or arriving in an outage, in both directions; those in flight are lost."""
    queue: Queue = Field(default_factory=Queue)
    """The queue in front of it."""
    reverse: Reverse | None = None
    """The reverse direction, which carries ACKs and the data of backward flows."""


class OnOff(Strict):
    """A source that alternates between sending and silence."""

    on_s: Annotated[float, Range(ge=1e-3, le=1e6)]
    """Mean length of a burst, in s."""
    off_s: Annotated[float, Range(ge=1e-3, le=1e6)]
    """Mean length of a silence, in s."""
    distribution: Distribution = "exponential"
    """Distribution of the lengths."""


class Arrivals(Part):
    """Transfers that arrive as a Poisson process; each becomes a flow."""

    rate_per_s: Annotated[float, Range(ge=1e-6, le=1e6)]
    """Mean arrival rate."""
    mean_bytes: Annotated[int, Range(ge=1, le=MOST_TRANSFER_BYTES)]
    """Mean size."""
    distribution: SizeDistribution = "exponential"
    """Distribution of the sizes."""
    shape: Annotated[float, Range(ge=1.01, le=100)] | None = None
    """Pareto's α, 1.2 by default; smaller is heavier-tailed."""


Bytes = Annotated[int, Range(ge=1, lt=2**31)]
Buffer = Annotated[tuple[Bytes, Bytes, Bytes], Field(strict=False)]
"""Minimum, default and maximum of a socket buffer in bytes."""


class EcnEnds(Strict):
    """The ECN that each end supports; the connection uses the best that both do (RFC 9768 §3.1)."""

    sender: EcnSupport
    """The end that sends data and opens the connection."""
    receiver: EcnSupport
    """The end that receives data."""


def _ecn(value: Any) -> Any:
    # Without this, the error would be that of one of the alternatives.
    alternatives = get_args(EcnSupport)
    ends = (
        value.values() if isinstance(value, dict) and value.keys() == set(EcnEnds.model_fields) else [value]
    )
    if isinstance(value, bool | EcnEnds) or all(isinstance(end, str) and end in alternatives for end in ends):
        return value
    raise ValueError(
        f"must be true, false, {', '.join(alternatives)}, or one of the last three for sender and receiver"
    )


class Resume(Strict):
    """Window and RTT of an earlier connection over the same path (RFC 9959: saved_cwnd and saved_rtt)."""

    cwnd_packets: Annotated[int, Range(ge=1, le=2**24)]
    """Packets that it sent in an RTT: the path's bandwidth-delay product, if it filled the path."""
    rtt_ms: Annotated[float, Range(gt=0, le=10_000_000)]
    """Its smallest RTT in ms."""


class Video(Part):
    """Adaptive video (DASH): a client requests chunks and plays them from a buffer.

    It leaves out audio, chunks whose size varies, seeking, and users who give up.
    """

    adaptation: AdaptationRule = "bba"
    """The rule for the next chunk's bitrate: BBA-0 (Huang et al. 2014), BOLA-BASIC (Spiteri et al. 2016), the
    throughput of the last five chunks, or model-predictive control (Yin et al. 2015)."""
    bitrates_kbps: list[float] | None = None
    """Rising bitrates; default: 350, 600, 1,000, 2,000 and 3,000, as in Yin et al."""
    chunk_s: Annotated[float, Range(ge=0.1, le=60)] = 4.0
    """Length of a chunk, in s."""
    buffer_s: Annotated[float, Range(ge=0.1, le=3600)] = 30.0
    """Size of the client's buffer, in s of video."""
    reservoir_s: Annotated[float, Range(ge=0, le=3600)] = 5.0
    """BBA-0 takes the lowest bitrate up to this buffer, in s."""
    cushion_s: Annotated[float, Range(ge=0.1, le=3600)] = 10.0
    """BBA-0 takes the highest bitrate this much above the reservoir, in s."""


class PageObject(Strict):
    """An object of a page."""

    bytes: Annotated[int, Range(ge=1, le=10**9)]
    """Size of the response with its headers; the simulator rounds up to packets of 1,448 bytes."""
    after: list[int] = Field(default_factory=list)
    """Indices of the earlier objects that must have arrived before the browser requests this one."""
    client_ms: Annotated[float, Range(ge=0, le=1e6)] = 0.0
    """How long the browser works between the last of these arrivals and the request, in ms."""
    server_ms: Annotated[float, Range(ge=0, le=1e6)] = 0.0
    """How long the server works before it responds, in ms."""


class Page(Part):
    """A page load: objects that depend on each other, over six connections (HTTP/1.1) or one (HTTP/2).

    It leaves out DNS, TLS, caches, priorities and several hosts. Each connection is a flow of the run.
    """

    http: HttpVersion = "http1"
    """The version of HTTP."""
    graph: str | None = None
    """A page of `configs/pages`, or a HAR or YAML file: replaces ``objects``."""
    objects: Annotated[list[PageObject], Field(max_length=10_000)] = Field(default_factory=list)
    """The page's objects."""

    @model_validator(mode="before")
    @classmethod
    def _read_graph(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(graph := data.get("graph"), str):
            if data.get("objects"):
                raise ValueError("give one of graph and objects")
            return {**data, "graph": None, "objects": page_graph.load(graph)}
        return data


class Call(Part):
    """A video call over UDP: frames at a constant rate, without retransmissions.

    It leaves out audio, key frames, pacing, error correction, bandwidth probes and the jitter buffer. The
    scheme ``gcc`` (Carlucci et al. 2016) adapts the bitrate; ``udp`` stays at ``max_mbps``.
    """

    frames_per_s: Annotated[int, Range(ge=1, le=240)] = 30
    """Frames per second."""
    start_mbps: Annotated[float, Range(ge=0.01, le=1000)] = 0.3
    """Bitrate of the media at the start; libwebrtc's default."""
    min_mbps: Annotated[float, Range(ge=0.01, le=1000)] = 0.03
    """Least bitrate."""
    max_mbps: Annotated[float, Range(ge=0.01, le=1000)] = 2.5
    """Most bitrate: libwebrtc's for 1280 × 720."""


class Workload(Part):
    """An application that reacts to received data; beyond the simulator it runs over real TCP or UDP."""

    video: Video | None = None
    """Adaptive video."""
    page: Page | None = None
    """A page load."""
    call: Call | None = None
    """A video call, with the scheme ``gcc`` or ``udp``."""


class Flow(Part):
    """A flow, or ``count`` identical ones."""

    scheme: str
    """A congestion control scheme, or ``agent`` for a flow that `envs` controls."""
    start_s: Time = 0.0
    """When it starts, in s."""
    stop_s: Duration | None = None
    """Default: the scenario's end."""
    route: Route
    """Names of the links from sender to receiver; for a backward flow from receiver to sender."""
    direction: FlowDirection = "forward"
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
    transfer_bytes: Annotated[int, Range(ge=1, le=MOST_TRANSFER_BYTES)] | None = None
    """The flow stops when this many bytes are acknowledged. Flows are backlogged by default."""
    arrivals: Arrivals | None = None
    """Transfers that arrive between start_s and stop_s and run to completion."""
    rate_mbps: Annotated[float, Range(gt=1e-3, lt=1e6)] | None = None
    """Rate of IP packets of ``udp``, or of a TCP flow's application, which by default is backlogged."""
    on_off: OnOff | None = None
    """Send at ``rate_mbps`` in bursts; by default continuously."""
    resume: Resume | None = None
    """What ``cubic-resume`` starts with; other schemes ignore it."""
    workload: Workload | None = None
    """The application whose data the flow carries, and whose quality is measured."""


class Reroute(Strict):
    """Move flows to another route. Packets on the old route still arrive over it."""

    flows: Annotated[list[Annotated[int, Range(ge=0)]], Field(min_length=1)]
    """Indices into the scenario's flows; an index stands for all ``count`` flows."""
    route: Route
    """The new route, from sender to receiver."""


class Event(Strict):
    """A timed event."""

    at_s: Time
    """When it happens, in s."""
    reroute: Reroute
    """The change."""


class Scenario(Part):
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
    telemetry_header_bytes: Annotated[int, Range(ge=0, le=256)] = 0
    """Bytes that the sender's header adds to each packet of a scheme that needs telemetry, and to its ACK."""
    telemetry_hop_bytes: Annotated[int, Range(ge=0, le=256)] = 0
    """Bytes that each link's telemetry record adds to such a packet from there on, and to its ACK."""
    links: Annotated[dict[str, Link], Field(min_length=1)]
    """At least one."""
    flows: Annotated[list[Flow], Field(min_length=1)]
    """At least one."""
    events: Annotated[list[Event], Field(max_length=60_000)] = Field(default_factory=list)
    """Changes of routes during the run."""

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
