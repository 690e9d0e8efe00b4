"""``leogym lab exec``: run programs on hosts behind a path."""

import argparse
import sys
from pathlib import Path
from typing import Any

from leogym.common import output_folder
from leogym.common.errors import InputError
from leogym.configs import program_run
from leogym.configs.program_run import ProgramRun
from leogym.kernel_bridge.lab import program_run as virtual_time
from leogym.kernel_bridge.programs import outcome, real_time
from leogym.traces.path import cache

SERVER, CLIENT, LINK = "server", "client", "path"
EXAMPLES = (
    "--path sd-ny-bp --rate-mbps 50 --server 'iperf3 -s -1' -- iperf3 -c server -t 10",
    "--rate-mbps 20 --delay-ms 25 --server 'python3 -m http.server 80' --listens 80 -- curl -sO http://server/file",
    "RUN.yaml --seed 2 --out runs/three-hosts",
)
BACKENDS = ("lab", "kernel")
_OUT = output_folder.RUNS / "programs"
_LINK_OPTIONS = {
    "path": "trace",
    "rate_mbps": "rate_mbps",
    "delay_ms": "delay_ms",
    "loss": "loss",
    "offset_s": "offset_s",
}
_RUN_OPTIONS = ("limit_s", "seed", "unix_time", "tls", "pcap")


def add_to(commands: Any) -> None:
    """Add the command to its parent's subcommands."""
    parser = commands.add_parser(
        "exec", help="run programs behind a path, in virtual time", examples=EXAMPLES
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="-- COMMAND",
        help="the client; or a YAML file that describes hosts and programs",
    )
    add = parser.add_argument
    add("--path", metavar="NAME", help="a named path or a path trace file between client and server")
    add("--rate-mbps", type=float, metavar="R", help="capacity in both directions, instead of the trace's")
    add("--delay-ms", type=float, metavar="D", help="one-way delay, instead of a path")
    add("--loss", type=float, metavar="P", help="probability of random loss")
    add("--offset-s", type=float, metavar="S", help="trace time at the start")
    add("--queue", metavar="KIND", help="queueing discipline (droptail)")
    add("--queue-bdp", type=float, metavar="X", help="queue size in bandwidth-delay products (1)")
    add("--server", metavar="COMMAND", help="the program on the host named server")
    add(
        "--listens",
        type=int,
        metavar="PORT",
        help="wait until the server listens on this port; default: on any",
    )
    add("--file", action="append", default=[], metavar="FILE[=PLACE]", help="a file or folder for both hosts")
    add("--result", action="append", default=[], metavar="FILE", help="a file of the client to return")
    add("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable for both programs")
    add("--stdin", metavar="FILE", help="the client's standard input")
    add("--against", action="append", default=[], metavar="SCHEME", help="a flow beside the client's upload")
    add("--limit-s", type=float, metavar="S", help="end the programs after this virtual time (60)")
    add("--seed", type=int, metavar="N", help="seed of hosts and links (1)")
    add("--unix-time", metavar="TIME", help="time of day at the start (2026-01-01T00:00:00Z)")
    add("--tls", action="store_const", const=True, help="make tls.crt and tls.key, which hosts trust")
    add("--pcap", action="store_const", const=True, help="write each host's packets to a file")
    add(
        "--backend",
        choices=BACKENDS,
        default=BACKENDS[0],
        help="virtual time (lab), or this machine in real time",
    )
    add("--out", type=Path, default=_OUT, metavar="DIR", help=f"output folder ({_OUT})")


def run(options: argparse.Namespace) -> int:
    """Execute the command; return the client's exit status."""
    described, folder = describe(options)
    output_folder.require(options.out, outcome.CONTENT, *(f"{host}/*" for host in described.hosts))
    names = {link.trace for link in described.links.values() if link.trace is not None}
    traces = {name: cache.read_bytes(cache.file(name)) for name in sorted(names)}
    execute = virtual_time.execute if options.backend == "lab" else real_time.execute
    try:
        finished = execute(described, folder, traces, options.out)
    except RuntimeError as error:
        raise InputError(str(error)) from None
    clients = [(host, name) for host, name, program in described.programs() if program.listens is False]
    if len(clients) == 1:
        host, name = clients[0]
        for stream, target in (("stdout", sys.stdout), ("stderr", sys.stderr)):
            target.buffer.write((options.out / host / f"{name}.{stream}").read_bytes())
            target.flush()
    for line in finished.warnings:
        print(f"warning: {line}", file=sys.stderr)
    ended = f"{finished.virtual_s:.3f} s ({options.backend}), exit status {finished.status}"
    print(f"{ended}: {options.out}", file=sys.stderr)
    return finished.status


def describe(options: argparse.Namespace) -> tuple[ProgramRun, Path]:
    """Return the run that a command line describes, and the folder of its relative paths.

    Raises:
        InputError: the options do not describe a run.
    """
    data: dict[str, Any] = {
        name: value for name in _RUN_OPTIONS if (value := getattr(options, name)) is not None
    }
    link = {
        key: value for name, key in _LINK_OPTIONS.items() if (value := getattr(options, name)) is not None
    }
    queue = {"kind": options.queue, "bdp": options.queue_bdp}
    queue = {name: value for name, value in queue.items() if value is not None}
    if not link:
        return _from_file(options, data)
    if options.server is None or not options.words:
        raise InputError("lab exec: give a server and a client: --server 'COMMAND' -- COMMAND")
    if queue:
        link["queue"] = queue
    variables = dict(_split(text, "--env") for text in options.env)
    files = {place: name for name, place in (_split(text, None) for text in options.file)}
    client = {"command": options.words, "env": variables, "stdin": options.stdin}
    server = {"command": options.server, "env": variables, "listens": options.listens or True}
    data |= {
        "links": {LINK: link},
        "hosts": {
            SERVER: {"programs": {SERVER: server}, "files": files},
            CLIENT: {"behind": LINK, "programs": {CLIENT: client}, "files": files, "results": options.result},
        },
        "flows": [{"scheme": scheme, "route": [LINK]} for scheme in options.against],
    }
    return program_run.parse(data, "lab exec"), Path.cwd()


def _from_file(options: argparse.Namespace, data: dict[str, Any]) -> tuple[ProgramRun, Path]:
    if len(options.words) != 1:
        raise InputError(
            "lab exec: give a path (--path NAME, or --rate-mbps R --delay-ms D), or one YAML file"
        )
    names = ("server", "listens", "file", "result", "env", "stdin", "against", "queue", "queue_bdp")
    misplaced = [name.replace("_", "-") for name in names if getattr(options, name) not in (None, [])]
    if misplaced:
        rule = "is for a command line without a YAML file; write it there"
        raise InputError(f"lab exec: --{misplaced[0]}: {rule}")
    path = Path(options.words[0])
    described = program_run.load(path)
    if data:
        described = program_run.parse(described.model_dump() | data, "lab exec")
    return described, path.absolute().parent


def _split(text: str, option: str | None) -> tuple[str, str]:
    """Return both sides of ``=``; without one, the text twice, unless the option needs two sides."""
    left, equals, right = text.partition("=")
    if option is not None and (not equals or not left):
        raise InputError(f"lab exec: {option} {text}: must be NAME=VALUE")
    return left, right if equals else left
