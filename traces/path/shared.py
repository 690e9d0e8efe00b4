"""Two user pairs that share links part of the time: their path traces and a scenario over them."""

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from leogym.common import yaml_text
from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError
from leogym.common.output_file import write_file
from leogym.traces.capacity.columns import COLUMNS, FORMAT, VERSION, plain_lines
from leogym.traces.orbit import ground, places
from leogym.traces.orbit.flown import iso
from leogym.traces.path import command, named_paths
from leogym.traces.path.shared_stretch import Sharing, Side, Stretch, split
from leogym.traces.path.spec import DEFAULT_EPOCH, PathSpec, parse

DEFAULT_DURATION_S = 300.0
ANY_SCHEME = "$scheme"  # placeholder in scenarios for the schemes under evaluation

_PACKET_BITS = 12_000

_SOFT = {"attach": "shortest", "route_s": 0.1, "min_elevation_deg": 40.0}
"""The shortest route at every 100 ms, without hard handovers. The elevation decides how often paths meet."""

_NAMED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "shared-ny-ldn-yyt": ("ny,ldn", "ny,yyt", {"attach": "shortest", "reattach_s": 15.0}),
    "shared-sd-lwc-ny": ("sd,ny", "lwc,ny", {}),
    "shared-ny-ldn-yyt-soft": ("ny,ldn", "ny,yyt", {**_SOFT, "start_s": 300.0}),
    "shared-sd-lwc-ny-soft": ("sd,ny", "lwc,ny", {**_SOFT, "start_s": 2100.0}),
}
"""The pairs of LeoTCP's evaluation, whose scenarios are in configs/scenarios."""

_FIELDS = (
    "constellation",
    "links",
    "attach",
    "reattach_s",
    "route_s",
    "min_elevation_deg",
    "start_s",
    "duration_s",
    "step_ms",
    "capacity_mbps",
)
"""The fields with an option of ``leogym traces shared``."""


@dataclass(frozen=True)
class Pairs:
    """Two paths that differ only in their sites, with their labels and the scenario's name."""

    specs: tuple[PathSpec, PathSpec]
    labels: tuple[str, str]
    name: str


def names() -> list[str]:
    """Return the names of the pairs that come with LeoGym."""
    return list(_NAMED)


def pairs_of_trace(name: str) -> str | None:
    """Return the name of the pairs that the stretch ``NAME/LINK`` belongs to, or None."""
    owner, _, link = name.partition("/")
    return owner if owner in _NAMED and link else None


def named(name: str) -> Pairs:
    """Return the pairs with a name from `names`."""
    first, second, fields = _NAMED[name]
    return replace(pairs(first, second, fields), name=name)


def pairs(first: str, second: str, fields: dict[str, Any]) -> Pairs:
    """Return two paths over the same constellation.

    Args:
        first: a named path or ``FROM,TO``: ``sd-ny-isl``, ``ny,St. John's`` or ``40.7,-74,ldn``.
        second: the same for the other path.
        fields: override those of the named path, or else `PathSpec`'s defaults.

    Raises:
        InputError: a path is not valid, both are the same, or a field is out of range.
    """
    stated_fields = {"duration_s": DEFAULT_DURATION_S, **fields}
    base: dict[str, Any] = {}
    ends = []
    for text in (first, second):
        if text in named_paths.names():
            path = named_paths.spec(text)
            base = base or dict(path)
            if (path.links, path.constellation) != (base["links"], base["constellation"]):
                raise InputError(f"shared: {first} and {second}: must have the same links and constellation")
            ends.append((path.from_site, path.to_site))
        else:
            ends.append(_ends(text))
    if ends[0] == ends[1]:
        raise InputError(f"shared: {first} and {second}: are the same pair")
    keys = [_keys(*pair) for pair in ends]
    labels = (keys[0] or "first", keys[1] or "second")
    specs = [
        parse({**base, "name": label, "from_site": pair[0], "to_site": pair[1], **stated_fields}, "shared")
        for label, pair in zip(labels, ends, strict=True)
    ]
    return Pairs((specs[0], specs[1]), labels, f"shared-{labels[0]}-{labels[1]}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``leogym traces shared``."""
    parser.add_argument("first", metavar="A", help="a named path, or FROM,TO: cities or LAT,LON")
    parser.add_argument("second", metavar="B")
    command.add_arguments(
        parser,
        _FIELDS,
        duration_s=f"default {DEFAULT_DURATION_S:g}",
        capacity_mbps="capacity of every link, default 100",
    )
    default = f"default those of {leogym_command('evaluate', '--schemes')}"
    parser.add_argument("--scheme", default=ANY_SCHEME, help=f"scheme of both flows, {default}")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand and return its exit status."""
    fields = command.stated_fields(arguments, "shared")
    wanted = pairs(arguments.first, arguments.second, fields)
    sharing = write(wanted, arguments.out, arguments.scheme)
    spells = sum(shared for _, shared in sharing.changes())
    links = len(stretches(wanted, sharing))
    print(
        f"{arguments.out / 'scenario.yaml'}: {links} links, shared for {sharing.share:.1%} of "
        f"{wanted.specs[0].duration_s:g} s in {spells} spells"
    )
    return 0


def _ends(text: str) -> tuple[ground.Site, ground.Site]:
    words = text.split(",")
    for cut in range(1, len(words)):
        sides = [",".join(words[:cut]), ",".join(words[cut:])]
        try:
            origin, destination = (places.parse(side, "shared") for side in sides)
        except InputError:
            continue
        return origin, destination
    named = ", ".join(named_paths.names())
    raise InputError(
        f"shared: {text!r}: must be FROM,TO (cities, see {places.LISTED_BY}, or LAT,LON) or one of {named}"
    )


def _keys(origin: ground.Site, destination: ground.Site) -> str | None:
    keys = [key for site in (origin, destination) for key, city in places.cities().items() if city == site]
    return "-".join(keys) if len(keys) == 2 else None


def stretches(wanted: Pairs, sharing: Sharing) -> dict[str, Stretch]:
    """Return the stretches by link name: ``shared``, and ``-up``, ``-alone`` and ``-rest`` of each pair."""
    links: dict[str, Stretch] = {}
    for label, side in zip(wanted.labels, sharing.sides, strict=True):
        for part in ("up", "alone", "rest"):
            stretch = getattr(side, part)
            if stretch is not None:
                links[f"{label}-{part}"] = stretch
    if sharing.shared is not None:
        links["shared"] = sharing.shared
    return links


def command_line(wanted: Pairs) -> str:
    """Return the command that writes the same traces, without its folder."""
    words = [",".join(command.place(site) for site in (own.from_site, own.to_site)) for own in wanted.specs]
    # Without --, argparse takes a negative latitude for a flag.
    dashes = ["--"] if any(word.startswith("-") for word in words) else []
    first = wanted.specs[0]
    default = PathSpec(
        name=first.name,
        from_site=first.from_site,
        to_site=first.to_site,
        duration_s=DEFAULT_DURATION_S,
    )
    return leogym_command("traces", "shared", *command.flags(first, default), *dashes, *words)


def scenario(wanted: Pairs, sharing: Sharing, traces: dict[str, str], scheme: str) -> dict[str, Any]:
    """Return the scenario: one flow per pair, and the same capacity on all links.

    Queues hold the bandwidth-delay product of the longer path, as in LeoTCP's evaluation. ``traces`` maps
    each link to its trace's name or file.
    """
    spec = wanted.specs[0]
    rtt_s = max(2 * _mean_delay_ns(side, sharing) / 1e9 for side in sharing.sides)
    packets = int(np.ceil(spec.capacity_mbps * 1e6 * rtt_s / _PACKET_BITS))
    (_, starts_shared), *changes = sharing.changes()
    return {
        "name": wanted.name,
        "duration_s": spec.duration_s,
        "links": {
            # A stated offset stays the same in all repeats; the events' times depend on it.
            link: {
                "trace": trace,
                "offset_s": 0.0,
                "rate_mbps": spec.capacity_mbps,
                "queue": {"packets": packets},
            }
            for link, trace in traces.items()
        },
        "flows": [{"scheme": scheme, "route": _route(label, starts_shared)} for label in wanted.labels],
        "events": [
            {"at_s": at_ns / 1e9, "reroute": {"flows": [flow], "route": _route(label, shared)}}
            for at_ns, shared in changes
            for flow, label in enumerate(wanted.labels)
        ],
    }


def _route(label: str, shared: bool) -> list[str]:
    return [f"{label}-up", "shared", f"{label}-rest"] if shared else [f"{label}-up", f"{label}-alone"]


def _mean_delay_ns(side: Side, sharing: Sharing) -> float:
    length_ns = np.diff(np.append(side.time_ns, sharing.spans[-1].end_ns))
    # Floats: the sum of products exceeds 64-bit integers.
    return float(np.average(side.delay_ns, weights=length_ns.astype(np.float64)))


def scenario_text(wanted: Pairs, sharing: Sharing, traces: dict[str, str], scheme: str) -> str:
    """Return the scenario as YAML, with a description in its first lines."""
    first, second = ([spec.from_site.name, spec.to_site.name] for spec in wanted.specs)
    starts = sum(shared for _, shared in sharing.changes())
    lines = [
        f"# {' - '.join(first)} and {' - '.join(second)}: they share links for {sharing.share:.1%} "
        f"of the time, in {starts} spells.",
        f"# {command_line(wanted)}",
    ]
    document = scenario(wanted, sharing, traces, scheme)
    for key, value in document.items():
        if key in ("flows", "events"):
            lines += [f"{key}:", *(f"  - {_flow_style(entry)}" for entry in value)] if value else []
        elif key == "links":
            lines += ["links:", *(f"  {name}: {_flow_style(entry)}" for name, entry in value.items())]
        else:
            lines.append(f"{key}: {_flow_style(value)}")
    return "\n".join(lines) + "\n"


def named_scenario_text(name: str) -> str:
    """Return the text in configs/scenarios for a name from `names`, whose traces are built when needed."""
    wanted = named(name)
    sharing = split(wanted.specs)
    traces = {link: f"{name}/{link}" for link in stretches(wanted, sharing)}
    return scenario_text(wanted, sharing, traces, ANY_SCHEME)


def _flow_style(value: Any) -> str:
    text = yaml_text.dump(value, default_flow_style=True, width=10_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")


def trace_text(wanted: Pairs, link: str, stretch: Stretch) -> str:
    """Return the path trace of one stretch."""
    spec = wanted.specs[0]
    # No "from" and "to": `physics` would check the stretch against the distance of the whole path.
    about = {
        "format": FORMAT,
        "version": VERSION,
        "name": f"{wanted.name}/{link}",
        "pairs": [
            {"name": label, "from": own.from_site.model_dump(), "to": own.to_site.model_dump()}
            for label, own in zip(wanted.labels, wanted.specs, strict=True)
        ],
        "links": spec.links,
        "attach": spec.attach,
        "step_ms": spec.step_ms,
        "start_s": spec.start_s,
        "duration_s": spec.duration_s,
        "epoch": iso(spec.epoch or DEFAULT_EPOCH),
        "over": spec.constellation,
        "command": command_line(wanted),
        "provenance": "computed by LeoGym: a stretch of two paths that share links (traces/README.md)",
    }
    columns = stretch.time_ns, stretch.delay_ns, stretch.connected, stretch.path_id, stretch.event
    return f"# {json.dumps(about)}\n{COLUMNS}\n{plain_lines(*columns, spec.capacity_mbps)}"


def write(wanted: Pairs, folder: Path, scheme: str) -> Sharing:
    """Write a path trace for every stretch and ``scenario.yaml`` into ``folder``.

    Raises:
        InputError: a path cannot be built, the folder cannot be written, or it has another ``scenario.yaml``.
    """
    path = folder / "scenario.yaml"
    if path.exists() and leogym_command("traces", "shared").encode() not in path.read_bytes():
        raise InputError(f"{path}: (file): would be replaced by another scenario: name another folder")
    sharing = split(wanted.specs)
    wanted = replace(wanted, specs=(sharing.sides[0].spec, sharing.sides[1].spec))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    files = {link: folder / f"{link}.csv" for link in stretches(wanted, sharing)}
    write_traces(wanted, sharing, folder)
    text = scenario_text(wanted, sharing, {link: file.as_posix() for link, file in files.items()}, scheme)
    # Last, so a scenario never names a missing trace.
    write_file(path, text.encode())
    return sharing


def write_traces(wanted: Pairs, sharing: Sharing, folder: Path) -> None:
    """Write a path trace for every stretch into an existing ``folder``."""
    for link, stretch in stretches(wanted, sharing).items():
        write_file(folder / f"{link}.csv", trace_text(wanted, link, stretch).encode())
