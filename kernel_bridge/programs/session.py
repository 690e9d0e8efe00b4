"""Describe a run of programs for `kernel_bridge.inside.programs`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from leogym.common.units import NS_PER_S
from leogym.configs.program_run import Program, ProgramRun
from leogym.kernel_bridge.host.namespaces import PATH
from leogym.kernel_bridge.inside.programs import address6
from leogym.kernel_bridge.inside.scenario import address
from leogym.kernel_bridge.inside.session import (
    Branch,
    HostSession,
    ProgramSession,
    ProgramsRunSession,
    ProgramsSession,
    Role,
)
from leogym.kernel_bridge.runner.leo_links import LeoLinks
from leogym.kernel_bridge.runner.link_shells import LinkShells
from leogym.kernel_bridge.runner.plan import Plan, check_flows, flows, plan_links
from leogym.kernel_bridge.runner.run_folder import describe

FOLDERS = ("programs", "results")
"""Folders of a run: the programs' output and logs, and the files to return."""
TRUSTED = "/etc/ssl/certs/ca-certificates.crt"


def plan(
    run: ProgramRun, traces: Mapping[str, bytes], backend: LeoLinks, schemes: Sequence[str], lead_s: float
) -> Plan:
    """Return the plan of a run's links and flows.

    Raises:
        InputError: the backend cannot express it.
    """
    scenario, hosts = run.scenario(), run.ordered_hosts()
    where = f"{run.name}: --backend {backend.name}"
    levels = {name: level for level, name in enumerate(hosts)}
    outside = {str(run.hosts[name].behind): levels[run.peer(name)] for name in hosts[1:]}
    links = plan_links(scenario, traces, outside, where)
    competitors = scenario.model_copy(update={"flows": run.flows})
    check_flows(competitors, schemes, where, backend.name)
    duration_ns = round(run.limit_s * NS_PER_S)
    planned = Plan(
        run.name,
        run.seed,
        duration_ns,
        links,
        tuple(flows(competitors, links)),
        lead_ns=round(lead_s * NS_PER_S),
    )
    for link in links:
        backend.check(planned, link)
    return planned


def session(
    run: ProgramRun,
    planned: Plan,
    backend: LeoLinks,
    scheme: Callable[[str, Role], str],
    root: Path,
    work: Path,
    hosts: Sequence[HostSession],
    commands: Mapping[str, Sequence[str]],
    start_descriptor: int,
    common: str | None = None,
    tls: str | None = None,
    unix_ns: int | None = None,
) -> tuple[ProgramsRunSession, list[LinkShells]]:
    """Return a run's session, and its links' shells.

    Args:
        run: the description.
        planned: its plan.
        backend: the backend for its links.
        scheme: as in `describe`.
        root: the run's folder.
        work: the ordinary user's folder in it.
        hosts: the hosts, outermost first.
        commands: the command of each program on its host.
        start_descriptor: as in `describe`.
        common: as in `ProgramsSession`.
        tls: as in `ProgramsSession`.
        unix_ns: as in `ProgramsSession`.
    """
    described, shells = describe(planned, backend, scheme, root, work, start_descriptor)
    branches: list[Branch] = [
        {"level": link.outside, "shell": list(of_link.commands[0])}
        for link, of_link in zip(planned.chain, shells, strict=True)
    ]
    places = {host["name"]: place for place, host in enumerate(hosts)}
    (root / "hosts_file").write_text(hosts_text(levels(run)))
    programs = root / "programs"
    inputs = root / "inputs"
    inputs.mkdir()
    entries: list[ProgramSession] = []
    for host, name, program in run.programs():
        stdin = inputs / name
        stdin.write_bytes(Path(program.stdin).read_bytes() if program.stdin is not None else b"")
        trusted = TRUSTED if hosts[places[host]]["root"] != "/" else f"{hosts[places[host]]['folder']}/ca.crt"
        entries.append(
            {
                "name": name,
                "host": places[host],
                "command": list(commands[name]),
                "env": environment(program, hosts[places[host]]["folder"], trusted if run.tls else None),
                "stdin": str(stdin),
                "stdout": str(programs / f"{name}.stdout"),
                "stderr": str(programs / f"{name}.stderr"),
                "start_ns": round(program.start_s * NS_PER_S),
                "listens": _listens(program),
            }
        )
    names = [host["name"] for host in hosts]
    described_programs: ProgramsSession = {
        "hosts": list(hosts),
        "programs": entries,
        "hosts_file": str(root / "hosts_file"),
        "results": str(root / "results"),
        "tcp_logs": [str(programs / f"{name}.tcp") for name in names],
        "captures": [str(programs / f"{name}.pcap") for name in names] if run.pcap else [],
        "common": common,
        "tls": tls,
        "limit_ns": round(run.limit_s * NS_PER_S),
        "unix_ns": unix_ns,
    }
    return {
        **described,
        "shells": [],
        "branches": [*branches, *described["branches"]],
        "aligned": [str(log) for of_link in shells for log in of_link.logs],
        "user_programs": described_programs,
    }, shells


def levels(run: ProgramRun) -> dict[str, int]:
    """Return the level of each host."""
    return {name: level for level, name in enumerate(run.ordered_hosts())}


def hosts_text(levels: Mapping[str, int]) -> str:
    """Return the content of /etc/hosts for hosts at levels."""
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    for name, level in levels.items():
        lines += [f"{address(level)} {name}", f"{address6(level)} {name}"]
    return "".join(f"{line}\n" for line in lines)


def environment(program: Program, home: str, trusted: str | None) -> dict[str, str]:
    """Return a program's environment; nothing of this process's is in it."""
    own = {"PATH": f"{PATH}:/applets", "HOME": home, "USER": "user", "LANG": "C.UTF-8", "TMPDIR": "/tmp"}
    if trusted is not None:
        own["SSL_CERT_FILE"] = trusted
    return own | program.env


def _listens(program: Program) -> int | None:
    if program.listens is False:
        return None
    return 0 if program.listens is True else program.listens
