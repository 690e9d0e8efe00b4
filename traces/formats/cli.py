"""The subcommands ``export`` and ``import``, and ``check`` for other tools' logs."""

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError
from leogym.common.strict import Range
from leogym.traces.formats import exporting, importing, plausible, registry, starlink_csv
from leogym.traces.formats import series as rows
from leogym.traces.formats.announced import MAX_REATTACH_S, ReattachOptions
from leogym.traces.formats.format import REATTACH_OPTIONS, Options


class _Option(NamedTuple):
    """An option of ``import``."""

    name: str
    type: type[Path | float | int | str]
    metavar: str | None
    help: str
    range: Range | None = None
    choices: tuple[str, ...] | None = None

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"


_OPTIONS = (
    _Option("uplink", Path, "FILE", "the uplink's trace, as mahimahi writes it"),
    _Option("downlink", Path, "FILE", "the downlink's trace"),
    _Option("pings", Path, "FILE", "net_ping.csv, by default the one next to the file"),
    _Option(
        "delay_ms", float, "MS", "one-way delay, for files without it", Range(gt=0, le=rows.MAX_DELAY_MS)
    ),
    _Option(
        "capacity_mbps",
        float,
        "MBPS",
        "capacity both ways, for files without it, default 100",
        Range(gt=0, le=rows.MAX_MBPS),
    ),
    _Option("bin_ms", int, "MS", "length of a row, default 100 (irtt, ping: 10)", Range(gt=0, le=60_000)),
    _Option(
        "columns",
        str,
        "FIELD=COLUMN,…",
        f"columns of the fields {', '.join(starlink_csv.FIELDS)}",
    ),
    _Option(
        "terminal_at",
        str,
        None,
        "the user's end; to, the default, makes from → to the download",
        choices=("from", "to"),
    ),
    _Option(
        "altitude_km",
        float,
        "KM",
        "the lowest satellite's altitude; RTTs below what light needs are not measured. Default "
        f"{plausible.STARLINK_KM:g} for starlink-csv and wetlinks, else 0: no such limit",
        Range(ge=0, le=100_000),
    ),
    _Option(
        "reattach_s",
        float,
        "S",
        "period of re-selections, instead of the period detected in the data",
        Range(gt=0, le=MAX_REATTACH_S),
    ),
    _Option(
        "reattach_phase_s",
        float,
        "S",
        "time from the file's first row to the first re-selection",
        Range(ge=0, lt=MAX_REATTACH_S),
    ),
)
"""In the order of the command that a trace's metadata state."""


_CATALOGUES = (
    f"satellites need no import: `{leogym_command('traces', 'build', '--constellation', 'FILE.tle')}` reads "
    "two-line elements and OMM"
)


def _source_format(name: str) -> str:
    """Return the name of a format, for argparse's ``type``; hint at `build` for satellite catalogues."""
    if name.casefold() in ("tle", "3le", "omm"):
        raise argparse.ArgumentTypeError(_CATALOGUES)
    return name


def add(commands: argparse._SubParsersAction) -> None:
    """Add both subcommands."""
    out = commands.add_parser(
        "export",
        help="write a path trace in another tool's format",
        examples=(
            "sd-ny-bp --format mahimahi --out runs/shells",
            "path.csv --format netem-trace --out runs/netem",
        ),
        epilog=registry.listing("export"),
    )
    out.add_argument("file", help="a path trace file or a named path")
    out.add_argument("--format", required=True, choices=registry.WRITABLE)
    out.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new or empty folder")

    into = commands.add_parser(
        "import",
        help="convert another tool's trace to a path trace",
        examples=("PATH.log --format leoem --out path.csv", "runs/shells --format mahimahi --out path.csv"),
        epilog=f"{registry.listing('import')}\n\nNote: {_CATALOGUES}.",
    )
    into.add_argument("file", type=Path, help="a file, or for mahimahi and leoreplayer an exported folder")
    into.add_argument("--format", required=True, type=_source_format, choices=registry.READABLE)
    into.add_argument("--out", type=Path, required=True, metavar="FILE")
    for option in _OPTIONS:
        formats = "" if option.name in REATTACH_OPTIONS else f"{registry.taking(option.name)}: "
        into.add_argument(
            option.flag,
            type=option.type,
            metavar=option.metavar,
            choices=option.choices,
            help=formats + option.help,
        )


def run_export(arguments: argparse.Namespace) -> int:
    """Run ``export``."""
    for line in exporting.export(arguments.file, arguments.format, arguments.out):
        print(line)
    return 0


def _options(form: str, values: dict[str, Any]) -> Options:
    """Return the options; raise InputError if one is out of its range, or does not apply to the format."""
    for option in _OPTIONS:
        value = values.get(option.name)
        if value is None:
            continue
        if option.name not in (*registry.FORMATS[form].options, *REATTACH_OPTIONS):
            raise InputError(f"import: {option.flag}: does not apply to {form}")
        if option.range is not None and not option.range.holds(value):
            raise InputError(f"import: {option.flag}: must be {option.range}, not {value:g}")
    period_s, phase_s = (values.pop(name, None) for name in REATTACH_OPTIONS)
    return Options(**values, reattach=ReattachOptions(period_s, phase_s))


def run_import(arguments: argparse.Namespace) -> int:
    """Run ``import``. Notes and warnings go to standard error."""
    words = [str(arguments.file), "--format", arguments.format]
    values = {}
    for option in _OPTIONS:
        value = getattr(arguments, option.name)
        if value is not None:
            values[option.name] = value
            words += [option.flag, f"{value:.12g}" if isinstance(value, float) else str(value)]
    summary, warnings = importing.import_file(
        arguments.file,
        arguments.format,
        _options(arguments.format, values),
        leogym_command("traces", "import", *words),
        arguments.out,
    )
    for line in warnings:
        print(f"note: {line}", file=sys.stderr)
    print(summary)
    return 0


def run_check(file: Path, form: str) -> int:
    """Check another tool's log; name the line and the rule of each fault."""
    check = registry.FORMATS[form].check
    assert check is not None, f"{form} cannot be checked"
    try:
        count, faults = check(file)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    for fault in faults:
        print(f"{file}:{fault.line}: {fault.field}: {fault.rule}", file=sys.stderr)
    if faults:
        return 1
    print(f"{file}: ok, {count} rows")
    return 0


RUNS = {"export": run_export, "import": run_import}
