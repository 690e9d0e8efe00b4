"""QUIC flows of a scenario: their stacks' programs run on hosts of the guest, one host for each end.

The plan's flows all have their positions and times; those of QUIC stacks leave the session's flows and become
programs. Their senders are servers, as those of downloads are.
"""

import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_S
from leogym.configs.program_run import START, Host, Program
from leogym.configs.scenario import Flow, Scenario
from leogym.kernel_bridge.inside.session import (
    Branch,
    GuestQuicSession,
    GuestSession,
    HostSession,
    ProgramSession,
    ProgramsRunResult,
    QuicEnd,
    Role,
)
from leogym.kernel_bridge.lab.initramfs import File
from leogym.kernel_bridge.programs import roots
from leogym.kernel_bridge.programs.session import FOLDERS, TRUSTED, environment, hosts_text
from leogym.kernel_bridge.quic import logs, stacks
from leogym.kernel_bridge.quic.stacks import QuicScheme
from leogym.kernel_bridge.runner.link_shells import LinkShells
from leogym.kernel_bridge.runner.plan import Plan
from leogym.kernel_bridge.runner.run_log import FlowRecord

LEAD_S, LEAD_OF_FLOW_S = 2.0, 0.3
"""Virtual time for the links, the certificates and each flow's sender to start."""
_ENDS: Mapping[Literal["sender", "receiver"], Role] = {"sender": "send", "receiver": "receive"}
_BACKLOG_BYTES = 10**12
"""What the receiver of a backlogged flow asks for; ngtcp2 takes no more."""
UNSUPPORTED: Mapping[str, tuple[object, str]] = {
    "rate_mbps": (None, "a QUIC flow is backlogged or a transfer"),
    "ecn": (False, "QUIC stacks set it themselves"),
    "tcp_rmem": (None, "a QUIC stack has windows of its own"),
    "tcp_wmem": (None, "a QUIC stack has buffers of its own"),
    "resume": (None, "the stack's connections begin anew"),
    "workload": (None, "videos and pages need TCP, calls gcc or udp"),
}
"""Fields of a flow that QUIC flows do not support: the only value, and the reason."""


def with_lead(planned: Plan) -> Plan:
    """Return the plan; with QUIC flows, its links begin early enough for the senders to start."""
    count = sum(is_quic(flow.scheme) for flow in planned.flows)
    lead_s = LEAD_S + count * LEAD_OF_FLOW_S
    return replace(planned, lead_ns=round(lead_s * NS_PER_S)) if count else planned


def is_quic(scheme: str) -> bool:
    """Return whether a scheme is that of a QUIC stack."""
    return scheme.startswith(stacks.PREFIX)


def check(scenario: Scenario, backend: str) -> None:
    """Raise an InputError if this machine lacks the stack of a flow, or the stack a feature of its flow."""
    known = stacks.registered()
    for index, flow in enumerate(scenario.flows):
        if not is_quic(flow.scheme) or flow.scheme not in known:
            continue
        where = f"{scenario.name}: --backend {backend}: flows.{index}"
        if (lack := stacks.missing(known[flow.scheme].stack)) is not None:
            raise InputError(f"{where}.scheme: {flow.scheme}: {lack}")
        if (field := _unsupported(flow)) is not None:
            raise InputError(f"{where}.{field}: {UNSUPPORTED[field][1]}")


def _unsupported(flow: Flow) -> str | None:
    return next((name for name, (only, _) in UNSUPPORTED.items() if getattr(flow, name) != only), None)


class QuicFlows:
    """The QUIC flows of one run; ``folder`` is the run's folder in the guest."""

    def __init__(self, plan: Plan, folder: str) -> None:
        known = stacks.registered()
        self._plan = plan
        self._schemes: dict[int, QuicScheme] = {
            index: known[flow.scheme] for index, flow in enumerate(plan.flows) if is_quic(flow.scheme)
        }
        self._roots = f"{folder}/hosts"
        self._openssl = f"{self._roots}/_openssl"
        self.files: dict[str, File] = {}
        """Further files of the run, by absolute path in the guest."""

    def __bool__(self) -> bool:
        return bool(self._schemes)

    @property
    def folders(self) -> Sequence[str]:
        """Folders of the run whose files are results."""
        return FOLDERS if self else ()

    @property
    def program(self) -> str:
        """The module of `kernel_bridge.inside` that runs the session."""
        return "guest_quic" if self else "guest_scenario"

    def session(self, described: GuestSession, shells: Sequence[LinkShells], root: Path) -> GuestQuicSession:
        """Return the session with programs for the QUIC flows; make `files`.

        Args:
            described: the session in which they are flows.
            shells: the links' shells, each of which becomes a branch with routes both ways.
            root: the run's folder.
        """
        hosts: dict[str, Host] = {}
        levels: dict[str, int] = {}
        ends: list[QuicEnd] = []
        programs: list[ProgramSession] = []
        for end, role in _ENDS.items():
            for index, scheme in self._schemes.items():
                flow = described["flows"][index]
                name = f"{end}-{index}"
                levels[name] = flow[role]["level"]
                command = scheme.stack.command(
                    end,
                    scheme=scheme.scheme,
                    port=flow["port"],
                    programs=stacks.PROGRAMS,
                    sender=f"sender-{index}",
                    bytes=flow["bytes"] or _BACKLOG_BYTES,
                )
                command[0] = stacks.program(command[0])
                listens = flow["port"] if end == "sender" else False
                hosts[name] = Host(
                    programs={name: Program(command=command, listens=listens)},
                    files={str(file): str(file) for file in stacks.module_files(scheme.stack)},
                    results=["."],
                )
                ends.append(
                    {
                        "program": len(programs),
                        "port": flow["port"],
                        "first_packets": {
                            way: str(root / f"programs/{name}.{way}") for way in ("from", "to")
                        },
                        "stop_ns": flow["stop_ns"],
                        "stop_signal": signal.Signals[f"SIG{scheme.stack.stop_signal}"],
                    }
                )
                programs.append(
                    {
                        "name": name,
                        "host": len(programs),
                        "command": [],
                        "env": environment(hosts[name].programs[name], roots.HOME, TRUSTED),
                        "stdin": "/dev/null",
                        "stdout": str(root / f"programs/{name}.stdout"),
                        "stderr": str(root / f"programs/{name}.stderr"),
                        "start_ns": flow["start_ns"],
                        "listens": flow["port"] if end == "sender" else None,
                    }
                )
        chain: list[Branch] = [
            {"level": link.outside, "shell": list(of_link.commands[0])}
            for link, of_link in zip(self._plan.chain, shells, strict=True)
        ]
        names = hosts_text(levels)
        archives, commands = roots.archives(self._plan.name, hosts, Path(), names)
        for program in programs:
            program["command"] = commands[program["name"]]
        self.files = {f"{self._roots}/{name}.tar": File(data) for name, data in archives.items()}
        self.files[f"{self._openssl}.tar"] = File(roots.openssl())
        (root / "hosts_file").write_text(names)
        host_sessions: list[HostSession] = [
            {
                "name": name,
                "level": level,
                "root": f"{self._roots}/{name}",
                "folder": roots.HOME,
                "results": hosts[name].results,
            }
            for name, level in levels.items()
        ]
        return {
            **described,
            "uid": roots.UID,
            "gid": roots.UID,
            "shells": [],
            "branches": [*chain, *described["branches"]],
            "aligned": [str(log) for of_link in shells for log in of_link.logs],
            "flows": [flow for index, flow in enumerate(described["flows"]) if index not in self._schemes],
            "user_programs": {
                "hosts": host_sessions,
                "programs": programs,
                "hosts_file": str(root / "hosts_file"),
                "results": str(root / "results"),
                "tcp_logs": [],
                "captures": [],
                "common": f"{self._roots}/{roots.COMMON}",
                "tls": self._openssl,
                "limit_ns": self._plan.duration_ns,
                "unix_ns": round(START.timestamp() * NS_PER_S),
            },
            "quic_ends": ends,
        }

    def records(self, root: Path, result: ProgramsRunResult) -> dict[int, FlowRecord]:
        """Return the logs of the QUIC flows of a finished run.

        Raises:
            RuntimeError: an end failed, or left no logs.
        """
        if not self:
            return {}
        ended = dict(zip(self._names(), result["programs"]["programs"], strict=True))
        records = {}
        for index, scheme in self._schemes.items():
            where = f"{self._plan.name}: flow {index}, {self._plan.flows[index].scheme}"
            for end in _ENDS:
                name = f"{end}-{index}"
                if status := ended[name]["status"]:
                    raise RuntimeError(f"{where}: {end}: exit status {status}{_last_words(root, name)}")
            first_ns: dict[tuple[str, str], int] = {}
            for end in _ENDS:
                name = f"{end}-{index}"
                for way in ("from", "to"):
                    text = (root / f"programs/{name}.{way}").read_text()
                    if not text:
                        raise RuntimeError(f"{where}: {end}: no packet {way} it{_last_words(root, name)}")
                    first_ns[end, way] = int(text) - result["origin_ns"]
            try:
                records[index] = logs.read_flow(
                    root / f"results/sender-{index}",
                    root / f"results/receiver-{index}",
                    logs.Times(
                        result["origin_ns"],
                        first_ns["receiver", "to"],
                        at_sender_ns=first_ns["sender", "to"],
                        at_receiver_ns=first_ns["receiver", "from"],
                    ),
                    self._plan.flows[index].transfer_bytes,
                    scheme.stack.rtt_unit,
                    scheme.stack.pacing_unit,
                )
            except RuntimeError as error:
                raise RuntimeError(f"{where}: {error}") from None
        return records

    def _names(self) -> list[str]:
        """Return the names of the programs, in their order."""
        return [f"{end}-{index}" for end in _ENDS for index in self._schemes]


def _last_words(root: Path, name: str) -> str:
    lines = [
        line
        for stream in ("stderr", "stdout")
        for line in (root / f"programs/{name}.{stream}").read_text(errors="replace").strip().splitlines()
    ]
    return f": {lines[-1]}" if lines else ""
