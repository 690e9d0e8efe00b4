"""Types of the JSON sessions and results that the programs of this package exchange with their callers.

Times are in ns; flows' times count from the run's start (see `RunResult`). Paths are absolute.
"""

from typing import Any, Literal, TypedDict

Role = Literal["send", "receive"]
MARKS = ".marks"
"""Suffix of the file with the number of packets that a queue marked, next to the queue's log."""


class Server(TypedDict):
    """A program outside the shells that listens on a TCP port for the command inside."""

    command: list[str]
    port: int


class CommandSession(TypedDict):
    """A command inside shells, for `kernel_bridge.inside.shelled_command`."""

    private: str  # mount point for the session's programs
    folder: str  # working directory of the command
    uid: int
    gid: int
    env: dict[str, str]
    servers: list[Server]
    setuid: list[str]  # the shells' programs, to copy to `private` and make setuid root
    command: list[str]  # the shells and the command, as one command line


class End(TypedDict):
    """The sender or the receiver of a flow."""

    level: int
    scheme: str  # the kernel's name for it
    log: str


class WorkloadSession(TypedDict):
    """The workload of a flow."""

    spec: str  # JSON for `kernel_bridge/workloads`
    connections: int  # number of its flows, which follow each other; 0 for all but the first of them


class SessionFlow(TypedDict):
    """One flow."""

    protocol: Literal["tcp", "udp"]
    port: int
    start_ns: int
    stop_ns: int
    rate_bps: int  # sending rate of a udp flow, or writing rate of a TCP flow's application; 0: no limit
    bytes: int  # a TCP flow stops after so many bytes; 0: only at `stop_ns`
    periods: str | None  # file with a udp flow's sending periods
    workload: WorkloadSession | None
    send: End
    receive: End


class Branch(TypedDict):
    """A shell outside the chain; its inside is another level."""

    level: int  # the level in which it starts
    shell: list[str]


class WireCapacity(TypedDict):
    """A wire's capacity and queue."""

    rate_bps: int  # rate of Ethernet frames
    burst_bytes: int  # size of the token bucket
    apart_bytes: int  # largest bucket that splits the segments which a sender's stack passes on as one
    queue: list[str]  # the queueing discipline, as arguments of tc


class Wire(TypedDict):
    """A link of Linux's queueing disciplines; a session has it as JSON in place of a shell's command line."""

    delay_us: float
    losses: list[int]  # indices, from 0, of lost packets among those that leave the queue
    capacity: WireCapacity | None  # None: no limit


class HostSession(TypedDict):
    """A host on which programs run."""

    name: str
    level: int
    root: str  # its root folder; "/": this machine's files
    folder: str  # the programs' working folder, seen from within the root
    results: list[str]  # files to copy to `ProgramsSession.results`, seen from within the root


class ProgramSession(TypedDict):
    """A program on a host."""

    name: str
    host: int  # its place among the hosts
    command: list[str]
    env: dict[str, str]
    stdin: str
    stdout: str
    stderr: str
    start_ns: int
    listens: int | None  # None: a client; 0: a server with any port; else the port that it must listen on


class ProgramsSession(TypedDict):
    """The programs of a run."""

    hosts: list[HostSession]
    programs: list[ProgramSession]
    common: str | None  # root folder of files that all hosts have besides their own; None: this machine's
    hosts_file: str  # file with the hosts' names and addresses
    results: str  # folder for the files to return; those of a host in a folder of its name
    tcp_logs: list[str]  # file for the TCP connections of each host
    captures: list[str]  # file for the packets of each host, or empty
    tls: str | None  # root folder of openssl, which makes the certificates; None: no certificates
    limit_ns: int  # from the run's start
    unix_ns: int | None  # Unix time at the run's start; None: the machine's


class RunSession(TypedDict):
    """A run, for `kernel_bridge.inside.scenario`."""

    private: str  # mount point for the run's programs
    programs: list[str]  # the shells' programs, to copy there and make setuid root
    iptables: bool  # whether the shells start iptables
    folder: str  # working directory of the shells
    result: str  # file for the `RunResult`
    start_descriptor: int  # descriptor to which the run's start is written
    uid: int
    gid: int
    env: dict[str, str]  # the shells' environment
    app: str  # the program of flows with a workload; empty without such flows
    shells: list[list[list[str]]]  # the shells of each link of the chain, outermost first
    branches: list[Branch]
    flows: list[SessionFlow]
    aligned: list[str]  # logs of the shells whose traces must begin before the run's start
    lead_ns: int  # time from the traces' begin to the run's start
    start_s: float  # time from the last preparation to the run's start
    duration_ns: int
    settings: dict[str, str]  # TCP settings of every level besides `scenario.SETTINGS`, by sysctl name


class ProgramResult(TypedDict):
    """The result of a program."""

    status: int | None  # exit status, or 128 and the signal; None: it was ended
    start_ns: int
    stop_ns: int
    cpu_ns: int


class ProgramsResult(TypedDict):
    """The result of the programs of a run."""

    end_ns: int  # when the last client ended, from the run's start
    programs: list[ProgramResult]
    missing: list[str]  # results that do not exist: host, colon, path


class RunResult(TypedDict):
    """The result of a run."""

    origin_ns: int  # the run's start, on the monotonic clock
    origin_epoch_ns: int  # the run's start, since 1970
    senders: list[str]  # standard error of each flow's sender; for a workload's flows, of its program


class ProgramsRunSession(RunSession):
    """A run with programs, for `kernel_bridge.inside.programs`."""

    user_programs: ProgramsSession


class ProgramsRunResult(RunResult):
    """The result of a run with programs."""

    programs: ProgramsResult


class ServedSession(TypedDict):
    """leo-bridge in the guest."""

    options: list[str]  # options of `leo-bridge run`
    satcp: str | None  # the registered name of SaTCP, if a flow uses it
    reports: dict[str, list[tuple[int, int]]]  # begin and end of handover reports, by destination port


class ModuleSession(TypedDict):
    """A kernel module to load."""

    file: str
    parameters: list[str]


class GuestSession(RunSession):
    """A run in the lab's guest, for `kernel_bridge.inside.guest_scenario`."""

    served: ServedSession | None  # None if no flow needs leo-bridge
    tcp_cubic: dict[str, int]  # parameters of the module tcp_cubic
    modules: list[ModuleSession]
    queue_logs: list[str] | None  # for counters of Linux's queueing disciplines; None if links are mm-leo's


class GuestProgramsSession(GuestSession, ProgramsRunSession):
    """A run with programs in the lab's guest, for `kernel_bridge.inside.guest_programs`."""


class QuicEnd(TypedDict):
    """A program that is an end of a QUIC flow."""

    program: int  # its place among the programs
    port: int  # of the flow
    first_packets: dict[
        Literal["from", "to"], str
    ]  # files for the times of the first packets from and to the port
    stop_ns: int
    stop_signal: int


class GuestQuicSession(GuestProgramsSession):
    """A run with QUIC flows in the lab's guest, for `kernel_bridge.inside.guest_quic`."""

    quic_ends: list[QuicEnd]  # senders before receivers


class ServedResult(TypedDict):
    """leo-bridge's result in the guest."""

    schemes: list[dict[str, Any]]  # its status of each scheme
    reported: int  # number of handover reports to SaTCP flows
    fault: str | None  # why the run is invalid, if handovers were reported too late


class GuestResult(RunResult):
    """The result of a run in the guest."""

    served: ServedResult | None


class GuestJob(TypedDict):
    """A job for `kernel_bridge.inside.guest_boot`, followed by the files' bytes in order."""

    seed: str  # 32 bytes, in hex
    command: list[str]
    folders: dict[str, int]  # folders to make, with their modes
    files: dict[str, tuple[int, int]]  # size in bytes and mode of each file
    results: list[str]  # files and folders to return


class GuestJobResult(TypedDict):
    """The result of a job, followed by the files' bytes in order."""

    status: int
    virtual_s: float  # time from the guest's start to the job's end
    stdout: str
    stderr: str
    files: dict[str, int]  # size of each file in bytes
