"""A run with programs of the user: hosts with their files, servers, then clients until the last one ends."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from leogym.kernel_bridge.inside import preparation, scenario
from leogym.kernel_bridge.inside.ending import describe_exit
from leogym.kernel_bridge.inside.session import (
    Branch,
    HostSession,
    ProgramResult,
    ProgramSession,
    ProgramsRunSession,
    ProgramsSession,
    RunResult,
)
from leogym.kernel_bridge.inside.shell_logs import wait_for_begin

READY_S = 10.0  # limit for a server to listen
END_S = 2.0  # time for a program to end after SIGTERM
POLL_S = 0.005  # the first pause; each is a fifth longer than the one before, so no wait is much too long
TOOLS = ("as_host", "tcp_log", "capture")  # C programs of this package
CERTIFICATE, KEY, AUTHORITY = "tls.crt", "tls.key", "ca.crt"  # in the working folder of each host
OPENSSL = "/openssl"  # in its root folder
TRUSTED = "etc/ssl/certs/ca-certificates.crt"
_DAYS = "3650"
_SETTINGS = {"ping_group_range": "0 2147483647", "ip_unprivileged_port_start": "0"}
_LISTEN = "0A"


class Program(NamedTuple):
    """A program that has been started."""

    session: ProgramSession
    process: subprocess.Popen[bytes]
    start_ns: int  # on the monotonic clock


class Programs(scenario.Run):
    """A run with programs."""

    def __init__(self, session: ProgramsRunSession) -> None:
        super().__init__(session)
        self.programs: ProgramsSession = session["user_programs"]
        self.tools = self.private
        self.running: dict[int, Program] = {}  # by the place of the program in the session
        self.results: dict[int, ProgramResult] = {}
        self.loggers: list[subprocess.Popen[bytes]] = []
        self.end_ns = 0
        self.outside: list[int] = [0]
        self.devices: list[int] = [0]  # number of links that end at each level from farther inside
        self.device_to: dict[int, str] = {}  # the device toward each level, in the level outside it
        self.listening: dict[int, set[tuple[str, int]]] = {}  # protocols and ports of each server

    def carry_out(self) -> Any:
        """Return the run's result with that of the programs."""
        result: RunResult = super().carry_out()
        missing = [line for host in self.programs["hosts"] for line in self.copy_results(host)]
        results = [self.results[place] for place in range(len(self.programs["programs"]))]
        return {**result, "programs": {"end_ns": self.end_ns, "programs": results, "missing": missing}}

    def prepare(self) -> None:
        """Make the tools, the hosts' files and the certificates."""
        super().prepare()
        self.make_tools()
        self.make_roots()
        if self.programs["tls"] is not None:
            self.make_certificates(self.programs["tls"])

    def make_tools(self) -> None:
        """Compile the C programs."""
        for name in TOOLS:
            preparation.compile_program(self.private, name)

    def make_roots(self) -> None:
        """Make the hosts' root folders; on this machine they are its own."""

    def make_certificates(self, root: str) -> None:
        """Make a certificate of all hosts' names and addresses, and an authority that signs it."""
        folder = Path(self.session["folder"]) if root == "/" else Path(root)
        names = [line.split() for line in Path(self.programs["hosts_file"]).read_text().splitlines()]
        addresses = {f"IP:{address}" for address, *_ in names}
        alternatives = sorted(addresses | {f"DNS:{name}" for _, *same in names for name in same})
        usage = "extendedKeyUsage=serverAuth,clientAuth\n"
        (folder / "extensions").write_text(f"subjectAltName={','.join(alternatives)}\n{usage}")
        (folder / "config").write_text("[req]\ndistinguished_name=name\n[name]\n")
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-config", "config")
        signs = ("-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
        authority = ("-days", _DAYS, "-subj", "/CN=LeoGym run", *signs)
        by = (
            "-CA",
            AUTHORITY,
            "-CAkey",
            "ca.key",
            "-set_serial",
            "1",
            "-days",
            _DAYS,
            "-extfile",
            "extensions",
        )
        for line in (
            ("req", "-x509", *key, *authority, "-keyout", "ca.key", "-out", AUTHORITY),
            ("req", *key, "-subj", "/CN=host", "-keyout", KEY, "-out", "request"),
            ("x509", "-req", "-in", "request", *by, "-out", CERTIFICATE),
        ):
            enter = ["openssl"] if root == "/" else ["chroot", root, OPENSSL]
            subprocess.run([*enter, *line], cwd=folder, check=True, capture_output=True)
        for host in self.programs["hosts"]:
            home = within(host, host["folder"])
            for name in (CERTIFICATE, KEY, AUTHORITY):
                shutil.copyfile(folder / name, home / name)
            if host["root"] != "/":
                trusted = within(host, TRUSTED)
                trusted.parent.mkdir(parents=True, exist_ok=True)
                with trusted.open("ab") as file:
                    file.write((folder / AUTHORITY).read_bytes())

    def prepare_level(self, level: int) -> None:
        """Set a level's addresses, IPv6 and TCP settings, and let ordinary users ping and use any port."""
        super().prepare_level(level)
        script = [f'echo "{value}" >/proc/sys/net/ipv4/{name}' for name, value in _SETTINGS.items()]
        script.append("echo 1 >/proc/sys/net/ipv4/ip_forward")
        if has_ipv6():
            script += [
                "echo 1 >/proc/sys/net/ipv6/conf/all/forwarding",
                "echo 1 >/proc/sys/net/ipv6/conf/default/addr_gen_mode",
                *allow_ipv6("lo"),
                f"ip -6 address add {address6(level)}/128 dev lo",
            ]
        preparation.call(*self.enter(level), "/bin/sh", "-ec", "\n".join(script))

    def start_branch(self, branch: Branch) -> subprocess.Popen[bytes]:
        """Start a link's shell, and make routes to the level inside."""
        process = super().start_branch(branch)
        level, outside = len(self.levels) - 1, branch["level"]
        self.outside.append(outside)
        device = f"leo{self.devices[outside]}"
        self.devices[outside] += 1
        self.devices.append(0)
        out = [f"ip route replace default dev ingress src {scenario.address(level)}"]
        if has_ipv6():
            out += [*allow_ipv6("ingress"), f"ip -6 route add default dev ingress src {address6(level)}"]
            allowed = allow_ipv6(device)
        else:
            allowed = []
        preparation.call(*self.enter(level), "/bin/sh", "-ec", "\n".join(out))
        preparation.call(*self.enter(outside), "/bin/sh", "-ec", "\n".join(allowed) or ":")
        self.device_to[level] = device
        inner = level
        while inner:
            device, inner = self.device_to[inner], self.outside[inner]
            # Servers answer from their host's address, not from that of a link's end.
            line = [f"ip route add {scenario.address(level)}/32 dev {device} src {scenario.address(inner)}"]
            if has_ipv6():
                line.append(f"ip -6 route add {address6(level)}/128 dev {device} src {address6(inner)}")
            preparation.call(*self.enter(inner), "/bin/sh", "-ec", "\n".join(line))
        return process

    def add_routes(self, level: int, outside: int, pids: Sequence[int]) -> None:
        """Leave the routes to `start_branch`."""

    def start_servers(self) -> None:
        """Start the loggers and the servers; return once each server listens."""
        self.set_clock()
        namespaces = [self.network(host["level"]) for host in self.programs["hosts"]]
        for tool, logs in (("tcp_log", self.programs["tcp_logs"]), ("capture", self.programs["captures"])):
            if logs:
                pairs = [word for pair in zip(namespaces, logs, strict=True) for word in pair]
                self.loggers.append(self.start_shell([*self.prefix(), str(self.tools / tool), *pairs]))
        for place, program in enumerate(self.programs["programs"]):
            if program["listens"] is not None:
                self.start_program(place)
                self.expect_listening(place)

    def prefix(self) -> list[str]:
        """Return words before the command lines of loggers."""
        return []

    def set_clock(self) -> None:
        """Set Unix time; only a guest has a clock of its own."""

    def planned_origin_ns(self) -> int:
        """Return the run's start, which follows from when the shells began."""
        return max(wait_for_begin(Path(log)) for log in self.session["aligned"]) + self.session["lead_ns"]

    def start_program(self, place: int) -> None:
        """Start a program."""
        program = self.programs["programs"][place]
        host = self.programs["hosts"][program["host"]]
        ids = [str(self.session["uid"]), str(self.session["gid"])]
        line = [str(self.tools / "as_host"), self.network(host["level"]), host["root"], host["name"]]
        line += [self.programs["hosts_file"], *ids, host["folder"], *program["command"]]
        with (
            open(program["stdin"], "rb") as stdin,
            open(program["stdout"], "wb") as stdout,
            open(program["stderr"], "wb") as stderr,
        ):
            process = subprocess.Popen(
                line, stdin=stdin, stdout=stdout, stderr=stderr, env=program["env"], start_new_session=True
            )
        self.running[place] = Program(program, process, time.monotonic_ns())

    def expect_listening(self, place: int) -> None:
        """Return once a server listens on its port.

        Raises:
            RuntimeError: it ended before, or does not listen in time.
        """
        program, process, _ = self.running[place]
        level = self.programs["hosts"][program["host"]]["level"]
        before = {(flow["protocol"], flow["port"]) for flow in self.session["flows"]}
        for other, ports in self.listening.items():
            if self.programs["hosts"][self.programs["programs"][other]["host"]]["level"] == level:
                before |= ports
        limit, pause_s = time.monotonic() + READY_S, POLL_S
        ended = select.poll()
        descriptor = os.pidfd_open(process.pid)
        ended.register(descriptor, select.POLLIN)
        port = program["listens"]
        with contextlib.closing(os.fdopen(descriptor)):
            while True:
                listening = listening_ports(self.levels[level]) - before
                if listening if not port else any(number == port for _, number in listening):
                    self.listening[place] = listening
                    return
                if ended.poll(min(pause_s, max(0.0, limit - time.monotonic())) * 1e3):
                    process.wait()
                    why = describe_exit(process.returncode)
                    raise RuntimeError(f"{program['name']}: {why} before it listened{self.last_words(place)}")
                pause_s *= 1.2
                if time.monotonic() > limit:
                    on = f"on port {port}" if port else "on any port"
                    raise RuntimeError(
                        f"{program['name']}: does not listen {on} after {READY_S:g} s{self.last_words(place)}"
                    )

    def last_words(self, place: int) -> str:
        """Return the last line of a program's standard error, after a colon, or nothing."""
        text = Path(self.programs["programs"][place]["stderr"]).read_text(errors="replace").strip()
        return f": {text.splitlines()[-1]}" if text else ""

    def run_clients(self, origin_ns: int) -> bool:
        """Run the clients, and end the servers when the last client has ended or the time is over."""
        programs = self.programs["programs"]
        waiting = sorted(
            (place for place, program in enumerate(programs) if program["listens"] is None),
            key=lambda place: (programs[place]["start_ns"], place),
        )
        clients = set(waiting)
        limit_ns = origin_ns + self.programs["limit_ns"]
        while clients - self.results.keys():
            due_ns = origin_ns + programs[waiting[0]]["start_ns"] if waiting else limit_ns
            self.wait_until(min(due_ns, limit_ns), clients)
            now_ns = time.monotonic_ns()
            if now_ns >= limit_ns:
                break
            while waiting and origin_ns + programs[waiting[0]]["start_ns"] <= now_ns:
                self.start_program(waiting.pop(0))
        self.end_ns = time.monotonic_ns() - origin_ns
        self.end_programs(limit_ns)
        for place in waiting:
            now_ns = time.monotonic_ns()
            self.results[place] = {"status": None, "start_ns": now_ns, "stop_ns": now_ns, "cpu_ns": 0}
        for result in self.results.values():
            result["start_ns"] -= origin_ns
            result["stop_ns"] -= origin_ns
        for logger in self.loggers:
            self.end_shell(logger)
        return False

    def wait_until(self, time_ns: int, clients: set[int]) -> None:
        """Return at a time, or once a client has ended; collect programs that have ended."""
        events = select.poll()
        descriptors = {os.pidfd_open(program.process.pid): place for place, program in self.running.items()}
        for descriptor in (*descriptors, *self.watched):
            events.register(descriptor, select.POLLIN)
        try:
            left_ms = (time_ns - time.monotonic_ns()) / 1e6
            ready = [descriptor for descriptor, _ in events.poll(max(0.0, left_ms))] if left_ms > 0 else []
        finally:
            places = {descriptor: descriptors[descriptor] for descriptor in descriptors}
            for descriptor in descriptors:
                os.close(descriptor)
        if shells := sorted({self.watched[descriptor] for descriptor in ready if descriptor in self.watched}):
            raise RuntimeError(f"{', '.join(shells)}: killed, or ended before the run did")
        for descriptor in ready:
            self.collect(places[descriptor])

    def collect(self, place: int, *, was_ended: bool = False) -> None:
        """Record the result of a program that has ended."""
        program = self.running.pop(place)
        status: int
        usage: resource.struct_rusage
        _, status, usage = os.wait4(program.process.pid, 0)
        program.process.returncode = os.waitstatus_to_exitcode(status)
        self.results[place] = {
            "status": None if was_ended else program.process.returncode,
            "start_ns": program.start_ns,
            "stop_ns": time.monotonic_ns(),
            "cpu_ns": round((usage.ru_utime + usage.ru_stime) * 1e9),
        }

    def end_programs(self, limit_ns: int) -> None:
        """End the programs that still run: SIGTERM, then SIGKILL."""
        del limit_ns
        for program in self.running.values():
            os.kill(program.process.pid, signal.SIGTERM)
        until = time.monotonic() + END_S
        for place, program in list(self.running.items()):
            descriptor = os.pidfd_open(program.process.pid)
            with contextlib.closing(os.fdopen(descriptor)):
                if not select.select([descriptor], [], [], max(0.0, until - time.monotonic()))[0]:
                    os.kill(program.process.pid, signal.SIGKILL)
            self.collect(place, was_ended=True)

    def copy_results(self, host: HostSession) -> list[str]:
        """Copy a host's results, which are regular files and folders; return those that are not."""
        missing = []
        top = within(host, host["folder"] if host["root"] == "/" else "/").resolve()
        for name in host["results"]:
            inside = os.path.normpath(os.path.join(host["folder"], name))
            source = within(host, inside)
            # A program may have made links to files that are not the host's.
            files = regular_files(source) if source.is_relative_to(top) and source.resolve() == source else []
            if not files:
                missing.append(f"{host['name']}:{name}")
            for file in files:
                place = file.relative_to(host["root"])
                home = Path(host["folder"].lstrip("/"))
                place = place.relative_to(home) if place.is_relative_to(home) else place
                target = Path(self.programs["results"]) / host["name"] / place
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
        return missing


def regular_files(path: Path) -> list[Path]:
    """Return a regular file, or those below a folder; no links, pipes and devices."""
    paths = [path] if path.exists() else []
    if path.is_dir():
        paths = [Path(folder, name) for folder, _, names in os.walk(path) for name in names]
    return sorted(path for path in paths if stat.S_ISREG(path.lstat().st_mode))


def within(host: HostSession, path: str) -> Path:
    """Return a path that is seen from within a host's root."""
    return Path(host["root"]) / path.lstrip("/")


def address6(level: int) -> str:
    """Return a level's IPv6 address, in RFC 5180's block for network tests."""
    return f"2001:2::{level + 1:x}"


def has_ipv6() -> bool:
    """Return whether this kernel has IPv6."""
    return Path("/proc/sys/net/ipv6").exists()


def allow_ipv6(device: str) -> list[str]:
    """Return the commands that turn on IPv6 on a device, without an address of its own."""
    settings = {"accept_ra": 0, "addr_gen_mode": 1, "disable_ipv6": 0}
    return [f"echo {value} >/proc/sys/net/ipv6/conf/{device}/{name}" for name, value in settings.items()]


def listening_ports(pid: int) -> set[tuple[str, int]]:
    """Return protocol and port of all sockets that wait for packets in the network namespace of a process."""
    ports = set()
    for protocol in ("tcp", "udp"):
        for family in ("", "6"):
            table = Path(f"/proc/{pid}/net/{protocol}{family}")
            lines = table.read_text().splitlines()[1:] if table.exists() else []
            for fields in map(str.split, lines):
                if protocol == "udp" or fields[3] == _LISTEN:
                    ports.add((protocol, int(fields[1].rsplit(":", 1)[1], 16)))
    return ports


if __name__ == "__main__":
    sys.exit(scenario.main(Programs))
