"""The canonical command line of a spec."""

from leogym.common.command_line import leogym_command
from leogym.traces.capacity.settings import FLAGS as CONDITIONS_FLAGS
from leogym.traces.orbit import ground, places
from leogym.traces.path import named_paths
from leogym.traces.path.spec import PathSpec

_FLAGS = {
    "constellation": "--constellation",
    "links": "--links",
    "attach": "--attach",
    "delays": "--delays",
    "reattach_s": "--reattach-s",
    "reattach_phase_s": "--reattach-phase-s",
    "route_s": "--route-s",
    "min_elevation_deg": "--min-elevation",
    "max_slant_km": "--max-slant-km",
    "start_s": "--start",
    "duration_s": "--duration",
    "step_ms": "--step-ms",
    "capacity_mbps": "--capacity-mbps",
    "report_error": "--report-error",
    **CONDITIONS_FLAGS,
}


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
    for field, flag in _FLAGS.items():
        value = getattr(spec, field)
        if value != getattr(default, field):
            words += [flag, f"{value:.12g}" if isinstance(value, float) else str(value)]
    if spec.epoch is not None:
        words += ["--epoch", spec.epoch.isoformat().replace("+00:00", "Z")]
    return words
