"""Sessions: what the programs in here are told, as JSON that both ends share.

Times are in ns: flows' from the run's start, of which a `RunResult` says when it was. Paths are absolute.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Role = Literal["send", "receive"]


class Server(TypedDict):
    """A program outside the shells that the command inside talks to."""

    command: list[str]
    port: int
    """The TCP port that it listens on."""


class CommandSession(TypedDict):
    """A command inside shells, for `kernel_bridge.inside.shelled_command`."""

    private: str
    """The folder to mount the session's own programs on."""
    folder: str
    """Where the command runs."""
    uid: int
    gid: int
    env: dict[str, str]
    servers: list[Server]
    setuid: list[str]
    """Programs to copy to ``private``, where they set up a shell as root for an ordinary user."""
    command: list[str]
    """The shells and the command, as one command line."""


class End(TypedDict):
    """The sender or the receiver of a flow."""

    level: int
    scheme: str
    """As the kernel names it."""
    log: str


class SessionFlow(TypedDict):
    """One flow."""

    protocol: Literal["tcp", "udp"]
    port: int
    start_ns: int
    stop_ns: int
    rate_bps: int
    """Of a udp flow, or of what a TCP flow's application writes; 0: no limit."""
    bytes: int
    """After which a TCP flow stops; 0: at its time only."""
    periods: str | None
    """The file of a udp flow's sending periods."""
    send: End
    receive: End


class Branch(TypedDict):
    """A shell beside others; its inside is one more level."""

    level: int
    """The level that it starts in."""
    shell: list[str]


class WireCapacity(TypedDict):
    """A wire's capacity and queue."""

    rate_bps: int
    """Of Ethernet frames."""
    burst_bytes: int
    """What the token bucket holds."""
    apart_bytes: int
    """The largest bucket that takes apart what a sender's stack hands over in one piece."""
    queue: list[str]
    """The queueing discipline, as tc's words."""


class Wire(TypedDict):
    """A link of Linux's queueing disciplines; it stands in the place of a shell's command line, as JSON."""

    delay_us: float
    losses: list[int]
    """Which of the packets that leave the queue are lost, from 0 on."""
    capacity: WireCapacity | None
    """None: no limit."""


class RunSession(TypedDict):
    """A run, for `kernel_bridge.inside.scenario`."""

    private: str
    """The folder to mount the run's own programs on."""
    programs: list[str]
    """Programs to copy there, where they set up a shell as root for an ordinary user."""
    folder: str
    """What shells read and write."""
    result: str
    """The file that the `RunResult` goes to."""
    told: int
    """The descriptor that the run's start is written to."""
    uid: int
    gid: int
    env: dict[str, str]
    """The shells' environment."""
    shells: list[list[list[str]]]
    """Of each link of the chain its shells, the outermost first."""
    branches: list[Branch]
    flows: list[SessionFlow]
    aligned: list[str]
    """Logs of the shells whose traces must have begun by the run's start."""
    lead_ns: int
    """How far into their traces the run starts."""
    start_s: float
    """From the last preparation to the run's start."""
    duration_ns: int
    settings: dict[str, str]
    """Settings of every level's TCP beside `kernel_bridge.inside.scenario.SETTINGS`, by sysctl name."""


class RunResult(TypedDict):
    """What a run found."""

    origin_ns: int
    """The run's start, on the monotonic clock."""
    origin_epoch_ns: int
    """The run's start, since 1970."""
    senders: list[str]
    """What each flow's sender said on standard error."""


class ServedSession(TypedDict):
    """leo-bridge in the guest."""

    options: list[str]
    """Of ``leo-bridge run``."""
    satcp: str | None
    """The name under which SaTCP is registered, if a flow has it."""
    reports: dict[str, list[tuple[int, int]]]
    """From when to when reports of handovers hold, by the port that a SaTCP flow goes to."""


class GuestSession(RunSession):
    """A run in the lab's guest, for `kernel_bridge.inside.guest_scenario`."""

    served: ServedSession | None
    """None where no flow needs leo-bridge."""
    tcp_cubic: dict[str, int]
    """Parameters of the module tcp_cubic."""
    queue_logs: list[str] | None
    """Files for the counters of Linux's queueing disciplines; None where the links are mm-leo's."""


class ServedResult(TypedDict):
    """What leo-bridge did in the guest."""

    schemes: list[dict[str, Any]]
    """Its status of each scheme."""
    reported: int
    """How many reports of handovers SaTCP flows were given."""
    fault: str | None
    """Why its flows were not served as they should have been."""


class GuestResult(RunResult):
    """What a run in the guest found."""

    served: ServedResult | None


class GuestJob(TypedDict):
    """A job for `kernel_bridge.inside.guest_boot`; the files' bytes follow it in their order."""

    seed: str
    """32 bytes, in hex."""
    command: list[str]
    folders: dict[str, int]
    """Folders to make, with their modes."""
    files: dict[str, tuple[int, int]]
    """Of each file, how many bytes it has, and its mode."""
    results: list[str]
    """Files and folders that come back."""


class GuestJobResult(TypedDict):
    """How a job ended; the files' bytes follow it in their order."""

    status: int
    virtual_s: float
    """From the guest's start to the job's end."""
    stdout: str
    stderr: str
    files: dict[str, int]
    """Of each file, how many bytes it has."""
