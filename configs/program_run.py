"""A run of programs: hosts with programs and files, links between them, and flows that compete with them."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from leogym.common.errors import InputError, one_line
from leogym.common.strict import Range, Strict
from leogym.configs import file_paths
from leogym.configs.scenario import Flow, Link, Scenario, Time

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
"""A host name (RFC 1123), also of programs."""
Port = Annotated[int, Range(ge=1, le=65535)]
MOST_HOSTS = 60
START = datetime(2026, 1, 1, tzinfo=UTC)


def _words(value: Any) -> Any:
    """Split a command line as a shell does; in a list, numbers are words, too."""
    if isinstance(value, list):
        return [str(word) if type(word) in (int, float) else word for word in value]
    if not isinstance(value, str):
        return value
    try:
        return shlex.split(value)
    except ValueError as error:
        raise ValueError(str(error).lower()) from None


Command = Annotated[list[str], BeforeValidator(_words), Field(min_length=1)]


class Program(Strict):
    """A program on a host: a client, or a server if it ``listens``."""

    command: Command
    """The program and its arguments: a list, or a line that is split as a shell does. It is found on this
    machine's ``PATH`` and goes to the host with its libraries. So do files that an argument names."""
    listens: Annotated[bool, Field(strict=True)] | Port = False
    """``true`` or a port: the program is a server. Clients start when all servers listen. Servers end after
    the last client."""
    start_s: Time = 0.0
    """When a client starts, in s."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables besides ``PATH``, ``HOME``, ``USER``, ``LANG`` and ``SSL_CERT_FILE``."""
    stdin: str | None = None
    """A file for its standard input; empty by default."""


class Host(Strict):
    """A host: its link, its programs and its files."""

    behind: str | None = None
    """The link that leads from this host to ``peer``. All hosts but one have a link of their own."""
    peer: Name | None = None
    """The host at the link's other end; default: the host without a link."""
    programs: dict[Name, Program] = Field(default_factory=dict)
    """Programs by name; a host without programs only forwards packets."""
    root: str | None = None
    """A folder that is the host's root folder, such as an unpacked container image. By default a host has
    what its programs need."""
    files: dict[str, str] = Field(default_factory=dict)
    """Further files, folders and programs: their path on the host, and that on this machine. Relative paths
    on the host are in the working folder."""
    results: list[str] = Field(default_factory=list)
    """Files and folders to return after the run."""


class ProgramRun(Strict):
    """Programs on hosts that are connected by the links of a scenario."""

    name: str = "programs"
    """Name in the output."""
    limit_s: Annotated[float, Range(gt=0, le=86_400)] = 60.0
    """Time after which programs that still run are ended."""
    seed: Annotated[int, Range(ge=0, lt=2**64)] = 1
    """Seed of all random numbers of links and hosts."""
    unix_time: datetime = START
    """Time of day at the start (ISO 8601, UTC unless it says otherwise)."""
    tls: bool = False
    """Whether each host gets ``tls.crt`` and ``tls.key``, a certificate of all hosts' names, and ``ca.crt``,
    the authority that hosts trust."""
    pcap: bool = False
    """Whether each host's packets are written to a file."""
    links: Annotated[dict[str, Link], Field(min_length=1)]
    """Links as in a scenario. Without ``reverse``, both directions have one capacity, loss and queue."""
    hosts: Annotated[dict[Name, Host], Field(min_length=2, max_length=MOST_HOSTS)]
    """Hosts by name."""
    flows: list[Flow] = Field(default_factory=list)
    """Flows as in a scenario, which compete with the programs until the last client ends. A route leads from
    the host behind its first link to the other end of its last."""

    @model_validator(mode="after")
    def _tree(self) -> ProgramRun:
        roots = [name for name, host in self.hosts.items() if host.behind is None]
        if len(roots) != 1:
            raise ValueError(
                f"hosts: all but one have a link (behind): {', '.join(roots) or 'none'} has none"
                if len(roots) != 1 and roots
                else "hosts: one host has no link (behind)"
            )
        used: dict[str, str] = {}
        for name, host in self.hosts.items():
            if host.behind is None:
                if host.peer is not None:
                    raise ValueError(f"hosts.{name}.peer: needs a link: give behind")
                continue
            if host.behind not in self.links:
                raise ValueError(
                    f"hosts.{name}.behind: no link {host.behind}: links are {', '.join(self.links)}"
                )
            if host.behind in used:
                raise ValueError(f"hosts.{name}.behind: {host.behind} is the link of {used[host.behind]}")
            used[host.behind] = name
            if host.peer is not None and host.peer not in self.hosts:
                raise ValueError(f"hosts.{name}.peer: no host {host.peer}: hosts are {', '.join(self.hosts)}")
        if unused := self.links.keys() - used.keys():
            raise ValueError(f"links.{min(unused)}: no host is behind it")
        if len(self.ordered_hosts()) != len(self.hosts):
            raise ValueError("hosts: their peers form a circle")
        return self

    @model_validator(mode="after")
    def _clients(self) -> ProgramRun:
        names = [name for host in self.hosts.values() for name in host.programs]
        if len(set(names)) != len(names):
            raise ValueError("hosts: programs need different names")
        if all(program.listens is not False for _, _, program in self.programs()):
            raise ValueError("hosts: no client: give a program that does not listen")
        return self

    @model_validator(mode="after")
    def _routes(self) -> ProgramRun:
        for index, flow in enumerate(self.flows):
            for name in flow.route:
                if name not in self.links:
                    raise ValueError(f"flows.{index}.route: no link {name}")
            hosts = {host.behind: host.peer or self.root for host in self.hosts.values()}
            behind = {name: host.behind for name, host in self.hosts.items()}
            for here, there in zip(flow.route, flow.route[1:], strict=False):
                if behind[hosts[here]] != there:
                    raise ValueError(f"flows.{index}.route: {there} does not follow {here}")
            if flow.direction != "forward":
                raise ValueError(f"flows.{index}.direction: only forward flows compete with programs")
        return self

    @property
    def root(self) -> str:
        """The host without a link."""
        return next(name for name, host in self.hosts.items() if host.behind is None)

    def peer(self, name: str) -> str:
        """Return the host at the other end of a host's link."""
        return self.hosts[name].peer or self.root

    def ordered_hosts(self) -> list[str]:
        """Return the names of all hosts, each after its peer; the host without a link first."""
        ordered = [self.root]
        for host in ordered:
            ordered += [
                name for name in self.hosts if self.hosts[name].behind is not None and self.peer(name) == host
            ]
        return ordered

    def programs(self) -> list[tuple[str, str, Program]]:
        """Return host, name and description of all programs."""
        return [
            (host, name, program)
            for host in self.hosts
            for name, program in self.hosts[host].programs.items()
        ]

    def scenario(self) -> Scenario:
        """Return the scenario of the links, with a flow from each host to the root for queues in BDP."""
        routes = []
        for name in self.ordered_hosts()[1:]:
            route, host = [], name
            while (link := self.hosts[host].behind) is not None:
                route.append(link)
                host = self.peer(host)
            routes.append(route)
        flows = [Flow(scheme="reno", route=route) for route in routes]
        return Scenario(
            name=self.name,
            duration_s=self.limit_s,
            seed=self.seed,
            links=self.links,
            flows=[*self.flows, *flows],
        )


def parse(data: Any, source: str) -> ProgramRun:
    """Return the description in ``data``; an `InputError` names ``source``, field and rule."""
    if isinstance(data, dict) and isinstance(data.get("unix_time"), str):
        data = {**data, "unix_time": _time(data["unix_time"], source)}
    try:
        return ProgramRun.model_validate(data)
    except ValidationError as error:
        raise InputError(one_line(source, error)) from None


def load(path: Path) -> ProgramRun:
    """Return the description in the YAML file at ``path``; its files are relative to it."""
    return parse(file_paths.read(path), str(path))


def _time(text: str, source: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{source}: unix_time: {text}: must be a time such as 2026-01-01T00:00:00Z"
        ) from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
