"""The options of a spec's fields, and the command line that builds a spec."""

import argparse
from collections.abc import Iterable
from typing import Any, get_args

from leogym.common.command_line import leogym_command, number, option
from leogym.traces.orbit import ground, places
from leogym.traces.orbit.legs import Delays
from leogym.traces.path import named_paths
from leogym.traces.path.network import Links
from leogym.traces.path.spec import DEFAULT_DURATION_S, PathSpec, parse_epoch

_S = {"type": number, "metavar": "S"}
_END = {"choices": ["from", "to"]}

OPTIONS = {
    "constellation": option(
        "--constellation",
        "default starlink-1; FILE: YAML, two-line elements, or OMM as CSV, JSON, XML or KVN",
        metavar="NAME|FILE",
    ),
    "links": option("--links", "default isl", choices=get_args(Links)),
    "attach": option("--attach", "default nearest", choices=["nearest", "shortest"]),
    "delays": option(
        "--delays",
        "default straight; leoem-flat: ground legs without the z axis, LeoEM's fault",
        choices=get_args(Delays),
    ),
    "reattach_s": option("--reattach-s", "re-selection period, default 15 (shortest: every step)", **_S),
    "reattach_phase_s": option(
        "--reattach-phase-s",
        "offset of re-selections from multiples of the period, default 0 (Starlink: 12)",
        **_S,
    ),
    "route_s": option("--route-s", "route update period, default 1", **_S),
    "min_elevation_deg": option(
        "--min-elevation", "default: the constellation's", type=number, metavar="DEG"
    ),
    "max_slant_km": option("--max-slant-km", "limit reach by distance instead", type=number, metavar="KM"),
    "start_s": option("--start", "first row, in s since the epoch, default 0", **_S),
    "duration_s": option("--duration", f"default {DEFAULT_DURATION_S:g}, a revolution at 550 km", **_S),
    "step_ms": option("--step-ms", "default 100", type=int, metavar="MS"),
    "capacity_mbps": option("--capacity-mbps", "both ways, default 100", type=number, metavar="MBPS"),
    "report_error": option(
        "--report-error",
        "error of predicted handover times in s, default 90 percent within 0.6 s",
        metavar="normal:SIGMA|uniform:T|empirical:FILE",
    ),
    "seed": option("--seed", "seed of all random draws, default 0", type=int, metavar="N"),
    "capacity": option(
        "--capacity", "capacity model, default constant", choices=["constant", "starlink", "uniform-steps"]
    ),
    "terminal_at": option("--terminal-at", "end with starlink's dish, default to", **_END),
    "loss": option("--loss", "loss per packet, 0 to 1, default 0", type=number, metavar="P"),
    "loss_burst": option(
        "--loss-burst", "Gilbert-Elliott bursts, such as 0.01,40", metavar="MEAN,BURST_MS[,LOSS]"
    ),
    "rain": option("--rain", "rain fade by ITU-R P.618 and P.1853", metavar="MM_PER_H|P%|any"),
    "rain_at": option("--rain-at", "end where it rains, default to", **_END),
}
"""Each field's option and the keywords of its argument, except the sites, the name and the epoch."""


def add_arguments(
    parser: argparse.ArgumentParser, fields: Iterable[str] = tuple(OPTIONS), **helps: str
) -> None:
    """Add the options of these fields and of the epoch; ``helps`` replaces the help of a field."""
    reach = parser.add_mutually_exclusive_group()
    for field in fields:
        flag, keywords = OPTIONS[field]
        into = reach if field in ("min_elevation_deg", "max_slant_km") else parser
        into.add_argument(flag, dest=field, **{**keywords, "help": helps.get(field, keywords["help"])})
    parser.add_argument(
        "--epoch",
        metavar="ISO",
        help="default 2000-01-01T00:00:00Z, or the median epoch of a file's elements",
    )


def stated_fields(arguments: argparse.Namespace, source: str) -> dict[str, Any]:
    """Return the fields whose options the user gave; raise InputError if the epoch is invalid."""
    fields = {field: getattr(arguments, field, None) for field in OPTIONS}
    epoch = None if arguments.epoch is None else parse_epoch(arguments.epoch, source)
    return {field: value for field, value in {**fields, "epoch": epoch}.items() if value is not None}


def place(site: ground.Site) -> str:
    """Format a site for ``--from`` and ``--to``."""
    for key, city in places.cities().items():
        if city == site:
            return key
    return f"{site.lat_deg!r},{site.lon_deg!r}"


def canonical(spec: PathSpec) -> str:
    """Return the shortest command that builds ``spec``, without its output file."""
    words = []
    if named_paths.is_named(spec.name):
        default = named_paths.spec(spec.name)
        words.append(spec.name)
    else:
        default = PathSpec(name=spec.name, from_site=spec.from_site, to_site=spec.to_site)
        # The = keeps argparse from taking a negative latitude for a flag.
        words += [f"--from={place(spec.from_site)}", f"--to={place(spec.to_site)}"]
    words += flags(spec, default)
    return leogym_command("traces", "build", *words)


def flags(spec: PathSpec, default: PathSpec) -> list[str]:
    """Return the flags for fields that differ from ``default``, except sites and name."""
    words = []
    for field, (flag, _) in OPTIONS.items():
        value = getattr(spec, field)
        if value != getattr(default, field):
            words += [flag, f"{value:.12g}" if isinstance(value, float) else str(value)]
    if spec.epoch is not None:
        words += ["--epoch", spec.epoch.isoformat().replace("+00:00", "Z")]
    return words
