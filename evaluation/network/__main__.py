"""``leogym network``: check, build, run, sweep and plot whole networks of satellites."""

import argparse
import csv
import io
import sys
from pathlib import Path

import leosim
import numpy as np

from leogym.common import output_folder
from leogym.common.atomic import write_atomically
from leogym.common.command_line import OneLineParser, as_folder
from leogym.common.errors import InputError, reports_input_errors
from leogym.common.progress import Progress
from leogym.configs import network as schema
from leogym.evaluation.network import cells, sweep_command
from leogym.evaluation.network import run as running
from leogym.evaluation.runs.backends import policy_of
from leogym.evaluation.runs.schemes import Policy, shipped
from leogym.evaluation.runs.schemes import parse as parse_schemes
from leogym.traces.network import description as describing
from leogym.traces.network.description import Description

PROGRAM = "leogym network"
MOST_THREADS = 256
"""As in `leosim.Constellation`."""


def parser() -> OneLineParser:
    """Return the command line's parser."""
    parser = OneLineParser(
        prog=PROGRAM,
        description="Networks of satellites: thousands of flows over every satellite of a constellation.",
        examples=("info hotspot", "run kuiper-630 --out runs/kuiper"),
    )
    commands = parser.add_subparsers(dest="what", required=True, metavar="info|check|build|run|sweep|plot")
    help_text = f"a network file, or one of {', '.join(schema.names())}"

    def add(name: str, text: str, examples: tuple[str, ...]) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, examples=examples)
        command.add_argument("network", metavar="FILE", help=help_text)
        return command

    add("info", "print what a network consists of", ("hotspot",))
    checks = add("check", "find stations without a satellite, and pairs without a route", ("hotspot",))
    checks.add_argument("--step-s", type=float, default=1.0, help="time between two looks (default: 1)")
    builds = add("build", "write stations, flows and the routes over time", ("kuiper-630 --out runs/routes",))
    builds.add_argument("--out", type=as_folder, required=True, metavar="DIR", help="the output folder")
    runs = add("run", "simulate a network", ("kuiper-630 --out runs/kuiper",))
    runs.add_argument("--out", type=as_folder, required=True, metavar="DIR", help="the output folder")
    runs.add_argument("--duration", type=float, metavar="S", help="replaces duration_s")
    runs.add_argument(
        "--schemes",
        metavar="NAME[=DIR],…",
        help="replaces the schemes of all traffic, in equal shares; DIR has the policy of a trained one",
    )
    runs.add_argument(
        "--series-ms", type=float, default=1000.0, help="interval of the series (default: 1000)"
    )
    runs.add_argument(
        "--threads", type=int, default=1, metavar="N", help="threads; the tables are the same (default: 1)"
    )
    sweep_command.add_to(commands, help_text)
    plots = commands.add_parser(
        "plot", help="draw a run as one HTML page", examples=("runs/kuiper --out runs/kuiper.html",)
    )
    plots.add_argument("folder", type=Path, metavar="DIR", help="the output folder of a run")
    plots.add_argument("--out", type=Path, required=True, metavar="FILE", help="the page, .html")
    return parser


@reports_input_errors
def main() -> int:
    """Run the process's command line and return its exit status."""
    return run(sys.argv[1:])


def run(arguments: list[str]) -> int:
    """Run the command line ``arguments``; return the exit status."""
    options = parser().parse_args(arguments)
    match options.what:
        case "info":
            print(*_info(describing.load(options.network, shipped())), sep="\n")
        case "check":
            return _check(options)
        case "build":
            _build(describing.load(options.network, shipped()), options.out)
        case "plot":
            _plot(options)
        case "sweep":
            sweep_command.run(options)
        case _:
            _run(options)
    return 0


def _info(description: Description) -> list[str]:
    network, topology = description.network, description.topology
    moment = topology.moment(0.0)
    in_reach = np.bincount(moment.station, minlength=len(description.stations.sites))
    _, routes = next(description.routes(network.duration_s))
    routes = routes[:: network.routing.paths]
    connected = [(len(nodes) - 1, rtt_ms) for nodes, rtt_ms in routes if nodes]
    lines = [
        f"{network.name}: {network.duration_s:g} s, seed {network.seed}",
        f"{topology.constellation.name}: {topology.satellites:,} satellites, {len(topology.lasers):,} lasers "
        f"of {network.lasers.rate_mbps:g} Mbit/s",
        f"{len(in_reach):,} stations with {in_reach.min()} to {in_reach.max()} satellites in reach; "
        f"{network.ground.uplink.rate_mbps:g} Mbit/s up, {network.ground.downlink.rate_mbps:g} down",
        f"{len(description.flows):,} flows between {len(routes):,} pairs of stations",
    ]
    if connected:
        hops, rtts_ms = zip(*connected, strict=True)
        lines.append(
            f"at the start {len(connected):,} pairs have a route, of {min(hops)} to {max(hops)} links and "
            f"{min(rtts_ms):.1f} to {max(rtts_ms):.1f} ms RTT"
        )
    return lines


def _check(options: argparse.Namespace) -> int:
    if not 0.01 <= options.step_s <= 3600:
        raise InputError(f"--step-s: must be a number from 0.01 to 3600, not {options.step_s:g}")
    description = describing.load(options.network, shipped())
    faults = describing.check(description, options.step_s)
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print(f"{description.network.name}: every station sees a satellite, and every pair has a route")
    return 1 if faults else 0


def _build(description: Description, folder: Path) -> None:
    output_folder.make(folder)
    sites = [[site.name, site.lat_deg, site.lon_deg] for site in description.stations.sites]
    _write(folder / "stations.csv", ["name", "lat_deg", "lon_deg"], sites)
    columns = ["from", "to", "scheme", "start_s", "stop_s", "transfer_bytes"]
    flows = [
        [*flow["route"], *(flow.get(column, "") for column in columns[2:])] for flow in description.flows
    ]
    _write(folder / "flows.csv", columns, flows)
    rows: list[list[object]] = []
    last: dict[int, list[int]] = {}
    pairs, paths = description.pairs, description.network.routing.paths
    interval_s = description.network.routing.interval_ms / 1e3
    with Progress(f"routing {description.network.name}", description.network.duration_s) as progress:
        for time_s, routes in description.routes(interval_s):
            for index, (nodes, rtt_ms) in enumerate(routes):
                if last.get(index) != nodes:
                    last[index] = nodes
                    names = " > ".join(map(description.node_name, nodes))
                    pair, path = divmod(index, paths)
                    rtt = f"{rtt_ms:.6f}" if nodes else ""
                    rows.append([f"{time_s:.3f}", *pairs[pair], path, rtt, names])
            progress.advance(interval_s)
    _write(folder / "routes.csv", ["time_s", "from", "to", "path", "rtt_ms", "nodes"], rows)
    print(f"{folder}: {len(sites):,} stations, {len(flows):,} flows, {len(rows):,} routes")


def _write(path: Path, header: list[str], rows: list[list[object]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([header, *rows])
    write_atomically(path, text.getvalue().encode())


def _plot(options: argparse.Namespace) -> None:
    if options.out.suffix != ".html":
        raise InputError(f"--out: {options.out}: must end in .html")
    from leogym.evaluation.network import page  # here, because matplotlib takes a second to import

    write_atomically(options.out, page.page(options.folder).encode())
    print(f"page: {options.out}")


def _run(options: argparse.Namespace) -> None:
    if not 1 <= options.threads <= MOST_THREADS:
        raise InputError(f"--threads: must be from 1 to {MOST_THREADS}, not {options.threads}")
    network = schema.load(options.network)
    if options.duration is not None:
        network = schema.parse(network.model_dump() | {"duration_s": options.duration}, "--duration")
    given: dict[str, Policy] = {}
    if options.schemes is not None:
        contestants = parse_schemes(options.schemes, [*leosim.schemes(), *leosim.stack_schemes()])
        given = contestants.policies
        network = cells.with_schemes(network, contestants.names or [])
    description = describing.describe(network, cells.steered(given))
    output_folder.require(options.out, "a network's run")
    policies = {name: policy_of(policy.files) for name, policy in cells.policies(description, given).items()}
    with Progress(f"running {network.name}", network.duration_s) as progress:
        measured = running.simulate(
            description,
            policies,
            series_ms=options.series_ms,
            threads=options.threads,
            progress=progress.advance,
        )
    running.save(measured, network, options.out)
    print(*running.summary(measured, description), sep="\n")
    print(f"tables: {options.out}")


if __name__ == "__main__":
    raise SystemExit(main())
