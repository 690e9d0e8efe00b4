"""The command line ``leogym traces``: one subcommand per module."""

import argparse
import json
import shlex
import sys
from pathlib import Path

import leosim

from leogym.common import output_folder, signals, text_file
from leogym.common.command_line import OneLineParser
from leogym.common.errors import InputError, reports_input_errors
from leogym.common.machine import require_at_a_time
from leogym.common.progress import Progress
from leogym.traces import listed, plot
from leogym.traces.calibrate import command as calibrate
from leogym.traces.calibrate import recover_command as recover
from leogym.traces.formats import cli as exchange_cli
from leogym.traces.formats import registry
from leogym.traces.orbit import places
from leogym.traces.path import (
    batch,
    cache,
    command,
    named_paths,
    path_trace,
    physics,
    report_error,
    shared,
    spec,
    synth,
)

PROGRAM = "leogym traces"
BUILT_BY = (["leogym", "traces", "build"], ["python", "-m", "traces", "build"])
"""First words of the command in a built trace; the second of traces that earlier versions built."""
BUILD_BYTES = 250_000_000
"""Memory of a process that builds a path."""


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = OneLineParser(
        prog=PROGRAM,
        description="Path traces: orbits to delay, outages and capacity.",
        examples=(
            "list",
            "build sd-ny-isl --duration 300 --out sd-ny.csv",
            "plot sd-ny.csv --out globe.html",
        ),
    )
    commands = parser.add_subparsers(dest="command", required=True)
    lists = commands.add_parser(
        "list",
        help="list named paths, constellations and cities",
        examples=("", "Frankfurt"),
    )
    lists.add_argument("city", nargs="?", metavar="CITY", help="only cities with such a name")

    build = commands.add_parser(
        "build",
        help="build a path trace",
        examples=(
            "sd-ny-bp --duration 600 --out path.csv",
            "--from Sydney --to -36.85,174.76 --duration 600 --out path.csv",
            "--from Frankfurt --to NYC --capacity starlink --rain 20 --out rain.csv",
        ),
    )
    build.add_argument("name", nargs="?", help="a named path")
    build.add_argument(
        "--all",
        action="store_true",
        help="every named path, to NAME.csv in the folder --out",
    )
    build.add_argument("--jobs", type=int, metavar="N", help="processes for --all, default one per core")
    build.add_argument("--from", dest="origin", metavar="CITY|LAT,LON", help="a city, or degrees")
    build.add_argument("--to", dest="destination", metavar="CITY|LAT,LON")
    command.add_arguments(build)
    build.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help=f"default: NAME.csv (or path.csv) in {synth.DEFAULT_FOLDER}",
    )

    check = commands.add_parser(
        "check",
        help="check format and physics; exit with 1 and name line and rule",
        examples=("path.csv", "PATH.log --format leoem"),
    )
    check.add_argument("file", type=Path)
    check.add_argument("--format", choices=registry.CHECKABLE, help="check another tool's log instead")

    pairs = commands.add_parser(
        "shared",
        help="build traces and a scenario for two paths that share links",
        examples=(
            'ny,ldn "ny,St. John\'s" --out runs/nyc',
            "sd-ny-isl lwc,ny --duration 60 --out runs/pairs",
        ),
    )
    shared.add_arguments(pairs)

    report_error.add(commands)
    exchange_cli.add(commands)
    synth.add(commands)
    calibrate.add(commands)
    recover.add(commands)

    draw = commands.add_parser(
        "plot", help="draw a path trace", examples=("sd-ny-bp --out path.png", "path.csv --out globe.html")
    )
    draw.add_argument("file", help="a path trace file or a named path")
    draw.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help=f"one of {', '.join(plot.FORMATS)}"
    )
    return parser


def _spec(arguments: argparse.Namespace) -> spec.PathSpec:
    ends = (arguments.origin, arguments.destination)
    fields = command.stated_fields(arguments, "build")
    if arguments.name is not None:
        if any(ends):
            raise InputError("build: give a named path or --from and --to, not both")
        return spec.parse({**dict(named_paths.spec(arguments.name)), **fields}, "build")
    if not all(ends):
        raise InputError("build: give a named path, or both --from and --to")
    origin, destination = places.parse(ends[0], "--from"), places.parse(ends[1], "--to")
    return spec.parse({"name": spec.UNNAMED, "from_site": origin, "to_site": destination, **fields}, "build")


def _build_all(arguments: argparse.Namespace) -> int:
    if arguments.name is not None or arguments.origin is not None or arguments.destination is not None:
        raise InputError("build: give --all, or one path")
    if arguments.jobs is not None:
        if arguments.jobs < 1:
            raise InputError(f"build: --jobs: must be at least 1, not {arguments.jobs}")
        require_at_a_time(arguments.jobs, "build: --jobs", BUILD_BYTES)
    specs = []
    for name in named_paths.names():
        arguments.name = name
        specs.append(_spec(arguments))
    with output_folder.made(arguments.out or synth.DEFAULT_FOLDER) as folder:
        for file, summary in batch.write_all(specs, folder, arguments.jobs):
            print(f"{file}: {summary}", flush=True)
    return 0


def _build(arguments: argparse.Namespace) -> int:
    if arguments.all:
        return _build_all(arguments)
    wanted = _spec(arguments)
    with (
        synth.default_file(arguments.out, wanted.name) as out,
        Progress(f"building {wanted.name}", wanted.duration_s) as progress,
    ):
        summary = path_trace.write(wanted, out, progress.advance)
    print(f"{out}: {summary}")
    if summary.detour is not None:
        print(summary.detour, file=sys.stderr)
    return 0


def _check(arguments: argparse.Namespace) -> int:
    if arguments.format is not None:
        return exchange_cli.run_check(arguments.file, arguments.format)
    data = cache.read_bytes(arguments.file)
    source = str(arguments.file)
    try:
        trace = cache.parse(data, source)
        violations = physics.check(trace, source)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    # Spreadsheets put comments in quotes.
    lines = text_file.decode(data, source).split("\n")
    first_row_line = 2 + next(
        number for number, line in enumerate(lines) if not line.removeprefix('"').startswith("#")
    )
    for violation in violations:
        more = f" ({violation.rows - 1} more rows)" if violation.rows > 1 else ""
        line = first_row_line + violation.row
        print(f"{source}:{line}: {violation.field}: {violation.rule}{more}", file=sys.stderr)
    if violations:
        return 1
    print(f"{source}: ok, {len(trace.time_ns)} rows over {trace.period_ns / 1e9:g} s")
    return 0


def _spec_of(trace: leosim.PathTrace) -> spec.PathSpec | None:
    """Return the spec from a trace's build command, or None (with a note on stderr if it builds another)."""
    metadata = json.loads(trace.metadata)
    words = shlex.split(str(metadata.get("command", "")))
    built_by = next((start for start in BUILT_BY if words[: len(start)] == start), None)
    if built_by is None:
        return None
    try:
        wanted = _spec(parser().parse_args(words[len(built_by) - 1 :]))
    except InputError as error:
        print(f"no chains are drawn: cannot parse the trace's build command: {error}", file=sys.stderr)
        return None
    try:
        path_trace.require_elements(metadata.get("elements"), wanted)
    except InputError as error:
        print(f"no chains are drawn: {error}", file=sys.stderr)
        return None
    return wanted


def _plot(arguments: argparse.Namespace) -> int:
    trace = cache.load(arguments.file)
    plot.save(trace, arguments.file, arguments.out, _spec_of(trace))
    print(arguments.out)
    return 0


@reports_input_errors
def main() -> int:
    """Run the process's command line and return its exit status."""
    arguments = parser().parse_args()
    runs = {
        "list": listed.run,
        "build": _build,
        "check": _check,
        "plot": _plot,
        "shared": shared.run,
        "report-error": report_error.run,
        "synth": synth.run,
        "calibrate": calibrate.run,
        "recover": recover.run,
        **exchange_cli.RUNS,
    }
    signals.on_interrupt(f"{arguments.command}: interrupted: nothing is half-written")  # writers are atomic
    return runs[arguments.command](arguments)


if __name__ == "__main__":
    sys.argv[0] = PROGRAM
    raise SystemExit(main())
