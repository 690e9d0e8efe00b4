"""``traces list``: named paths, constellations and cities."""

import argparse
import textwrap

from leogym.common.errors import InputError
from leogym.common.nearest import suggest_names
from leogym.traces.orbit import constellation, ground, places
from leogym.traces.path import named_paths, shared, synth

WIDTH = 100


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand and return its exit status."""
    if arguments.city is not None:
        _cities_like(arguments.city)
        return 0
    print(f"{'path':<12} {'from':<14} {'to':<14} {'links':<10} constellation")
    for name in named_paths.names():
        path = named_paths.spec(name)
        print(
            f"{name:<12} {path.from_site.name:<14} {path.to_site.name:<14} "
            f"{path.links:<10} {path.constellation}"
        )
    print()
    print(
        f"{'constellation':<14} {'satellites':>10} {'altitude km':>12} {'inclination':>12} {'elevation':>10}"
    )
    for name in constellation.names():
        data = constellation.load(name)
        shell = data.shells[0]
        print(
            f"{name:<14} {len(data.elements.radius_km):>10} {shell.altitude_km:>12g} "
            f"{shell.inclination_deg:>11g}° {data.min_elevation_deg:>9g}°"
        )
    print()
    # Non-breaking spaces keep each city on one line.
    best = places.best_known()
    cities = ", ".join(f"{city.key} ({city.site.name})".replace(" ", "\xa0") for city in best)
    print(textwrap.fill(f"cities: {cities}", WIDTH, subsequent_indent="  ").replace("\xa0", " "))
    print(f"  and {len(places.table()) - len(best)} more: {places.LISTED_BY}")
    print(f"gateways: {len(ground.gateways())}")
    print(f"shared paths: {', '.join(shared.names())}")
    print(f"paths without an orbit (synth): {', '.join(synth.PRESETS)}")
    return 0


def _cities_like(text: str) -> None:
    cities = places.like(text)
    if not cities:
        names = [name for city in places.table() for name in city.names]
        raise InputError(
            f"list: {text!r}: no city has such a name {suggest_names(text, names, named_paths.LISTED_BY)}"
        )
    for city in cities:
        aliases = f" ({', '.join(city.aliases)})" if city.aliases else ""
        at = f"{city.site.lat_deg:g},{city.site.lon_deg:g}"
        print(f"{city.key:<20} {city.full_name}{aliases}, {at}")
