"""The subcommands ``export`` and ``import``, and ``check`` for other tools' logs."""

import argparse
import shlex
import sys
from pathlib import Path

from leogym.common.errors import InputError
from leogym.traces.formats import announced, exchange, exporting, leoem, plausible, starlink_csv
from leogym.traces.formats import series as rows

DEFAULT_CAPACITY_MBPS = 100.0
_HIGHEST_KM = 100_000.0

_OPTIONS = (
    *("uplink", "downlink", "pings", "delay_ms", "capacity_mbps", "bin_ms", "columns", "terminal_at"),
    "altitude_km",
    *("reattach_s", "reattach_phase_s"),
)
_ALWAYS = {"reattach_s", "reattach_phase_s"}  # options of all formats
_TAKES = {
    "leoem": {"capacity_mbps"},
    "hypatia": {"capacity_mbps"},
    "leoreplayer": {"uplink", "downlink", "capacity_mbps"},
    "mahimahi": {"uplink", "downlink", "delay_ms", "bin_ms"},
    "starlink-csv": {"terminal_at", "columns", "delay_ms", "capacity_mbps", "bin_ms", "altitude_km"},
    "irtt": {"terminal_at", "uplink", "downlink", "capacity_mbps", "bin_ms", "altitude_km"},
    "ping": {"terminal_at", "uplink", "downlink", "capacity_mbps", "bin_ms", "altitude_km"},
    "wetlinks": {"terminal_at", "pings", "delay_ms", "altitude_km"},
}
"""Further options of each format."""

CHECKS = ("leoem",)  # formats that ``check --format`` supports


def add(commands: argparse._SubParsersAction) -> None:
    """Add both subcommands."""
    out = commands.add_parser(
        "export",
        help="write a path trace in another tool's format",
        examples=(
            "sd-ny-bp --format mahimahi --out runs/shells",
            "path.csv --format netem-trace --out runs/netem",
        ),
    )
    out.add_argument("file", help="a path trace file or a named path")
    out.add_argument("--format", required=True, choices=exporting.EXPORTS)
    out.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new or empty folder")

    into = commands.add_parser(
        "import",
        help="convert another tool's trace to a path trace",
        examples=("PATH.log --format leoem --out path.csv", "runs/shells --format mahimahi --out path.csv"),
    )
    into.add_argument("file", type=Path, help="a file, or for mahimahi and leoreplayer an exported folder")
    into.add_argument("--format", required=True, choices=exchange.IMPORTS)
    into.add_argument("--out", type=Path, required=True, metavar="FILE")
    into.add_argument(
        "--uplink",
        type=Path,
        metavar="FILE",
        help="mahimahi, leoreplayer, irtt, ping: the uplink's own trace, as mahimahi writes it",
    )
    into.add_argument("--downlink", type=Path, metavar="FILE")
    into.add_argument(
        "--pings",
        type=Path,
        metavar="FILE",
        help="wetlinks: net_ping.csv, by default the one beside the file",
    )
    into.add_argument("--delay-ms", type=float, metavar="MS", help="one-way delay, for files without it")
    into.add_argument(
        "--capacity-mbps",
        type=float,
        metavar="MBPS",
        help="capacity both ways, for files without it, default 100",
    )
    into.add_argument("--bin-ms", type=int, metavar="MS", help="length of a row, default 100; irtt, ping: 10")
    into.add_argument(
        "--terminal-at",
        choices=["from", "to"],
        help="measurements: the user's end; to, the default, makes from → to the download",
    )
    into.add_argument(
        "--altitude-km",
        type=float,
        metavar="KM",
        help="measurements: the lowest satellite's altitude; RTTs below what light needs are not measured. "
        f"Default {plausible.STARLINK_KM:g} for starlink-csv and wetlinks, else 0: no such limit",
    )
    into.add_argument(
        "--reattach-s",
        type=float,
        metavar="S",
        help="period of re-selections, instead of the one found in the data",
    )
    into.add_argument(
        "--reattach-phase-s",
        type=float,
        metavar="S",
        help="time from the file's first row to the first re-selection",
    )
    into.add_argument(
        "--columns",
        metavar="FIELD=COLUMN,…",
        help=f"starlink-csv: columns of the fields {', '.join(starlink_csv.FIELDS)}",
    )


def run_export(arguments: argparse.Namespace) -> int:
    """Run ``export``."""
    for line in exporting.export(arguments.file, arguments.format, arguments.out):
        print(line)
    return 0


def _options(arguments: argparse.Namespace) -> exchange.Options:
    for name in _OPTIONS:
        if getattr(arguments, name) is not None and name not in _TAKES[arguments.format] | _ALWAYS:
            flag = name.replace("_", "-")
            raise InputError(f"import: --{flag}: does not apply to {arguments.format}")
    for name, low, high in (
        ("delay_ms", 0.0, rows.MAX_DELAY_MS),
        ("capacity_mbps", 0.0, rows.MAX_MBPS),
        ("bin_ms", 0, 60_000),
        ("reattach_s", 0.0, announced.MAX_REATTACH_S),
    ):
        value = getattr(arguments, name)
        if value is not None and not low < value <= high:
            flag = name.replace("_", "-")
            raise InputError(f"import: --{flag}: must be above {low:g} and at most {high:g}, not {value:g}")
    altitude_km = arguments.altitude_km
    if altitude_km is not None and not 0 <= altitude_km <= _HIGHEST_KM:
        raise InputError(f"import: --altitude-km: must be from 0 to {_HIGHEST_KM:g}, not {altitude_km:g}")
    phase_s = arguments.reattach_phase_s
    if phase_s is not None and not 0 <= phase_s < announced.MAX_REATTACH_S:
        limit = f"at least 0 and below {announced.MAX_REATTACH_S:g}"
        raise InputError(f"import: --reattach-phase-s: must be {limit}, not {phase_s:g}")
    return exchange.Options(
        arguments.uplink,
        arguments.downlink,
        arguments.delay_ms,
        DEFAULT_CAPACITY_MBPS if arguments.capacity_mbps is None else arguments.capacity_mbps,
        arguments.bin_ms,
        arguments.columns,
        announced.Told(arguments.reattach_s, phase_s),
        arguments.terminal_at or "to",
        arguments.pings,
        arguments.altitude_km,
    )


def run_import(arguments: argparse.Namespace) -> int:
    """Run ``import``. Notes and warnings go to standard error."""
    words = ["python", "-m", "traces", "import", str(arguments.file), "--format", arguments.format]
    for name in _OPTIONS:
        value = getattr(arguments, name)
        if value is not None:
            words += [
                f"--{name.replace('_', '-')}",
                f"{value:.12g}" if isinstance(value, float) else str(value),
            ]
    done, warnings = exchange.import_file(
        arguments.file, arguments.format, _options(arguments), shlex.join(words), arguments.out
    )
    for line in warnings:
        print(f"note: {line}", file=sys.stderr)
    print(done)
    return 0


def run_check(file: Path) -> int:
    """Check a LeoEM log: format, physical floor, moving user legs, the 15 s grid."""
    try:
        seconds = leoem.read_log(file)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    found = leoem.faults(seconds)
    for fault in found:
        print(f"{file}:{fault.line}: {fault.field}: {fault.rule}", file=sys.stderr)
    if found:
        return 1
    print(f"{file}: ok, {len(seconds)} rows")
    return 0


RUNS = {"export": run_export, "import": run_import}
