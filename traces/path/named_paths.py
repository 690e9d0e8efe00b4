"""Paths that scenarios use by name: nine of SaTCP's evaluation, and one between any two cities."""

from pathlib import Path
from typing import Literal

from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError
from leogym.common.nearest import suggest_names
from leogym.traces.orbit import constellation, places
from leogym.traces.orbit.legs import FLAT
from leogym.traces.path.spec import PathSpec

LISTED_BY = leogym_command("traces", "list")
"""The command that lists all paths, constellations and cities."""

_PAIRS = {
    "sd-ny-isl": ("sd", "ny", "isl"),
    "sd-ny-bp": ("sd", "ny", "bent-pipe"),
    "sea-ny-isl": ("sea", "ny", "isl"),
    "sea-ny-bp": ("sea", "ny", "bent-pipe"),
    "sd-sea-isl": ("sd", "sea", "isl"),
    "sd-sea-bp": ("sd", "sea", "bent-pipe"),
    "ny-ldn-isl": ("ny", "ldn", "isl"),
    "sd-sha-isl": ("sd", "sha", "isl"),
    "sea-ba-isl": ("sea", "ba", "isl"),
}
"""User sites and links by name: the pairs in SaTCP's evaluation (Cao and Zhang, INFOCOM 2023)."""


_VARIANTS: dict[str, dict[str, str | float]] = {
    FLAT: {"delays": FLAT},
    "shortest": {"attach": "shortest", "route_s": 0.1},
}
"""Fields by what follows ~. ``shortest`` is the rule of Hypatia and of LeoTCP's model (section IV-A)."""

Links = Literal["isl", "bent-pipe"]
_LINKS: dict[str, Links] = {"isl": "isl", "bp": "bent-pipe"}


def names() -> list[str]:
    """Return the nine names."""
    return list(_PAIRS)


def _pair(path: str) -> tuple[str, str, str] | None:
    """Return the keys of a path's cities, and its links; None if ``path`` names none.

    Beside the nine, ``FROM-TO-isl`` and ``FROM-TO-bp`` name a path between the cities of any two keys.
    """
    if path in _PAIRS:
        return _PAIRS[path]
    ends, _, links = path.rpartition("-")
    if links not in _LINKS:
        return None
    cities, words = places.cities(), ends.split("-")
    for cut in range(1, len(words)):  # keys have hyphens, too
        origin, destination = "-".join(words[:cut]), "-".join(words[cut:])
        if origin != destination and origin in cities and destination in cities:
            return origin, destination, _LINKS[links]
    return None


def is_named(text: str) -> bool:
    """Return whether ``text`` is a named path or a variant of one (see `spec`)."""
    return _pair(text.partition("~")[0].partition("@")[0]) is not None


def as_sampler(name: str) -> str:
    """Return how to train on the named path ``name``, for the message where it stands for a scenario."""
    return f"is a path, not a scenario: use {{sampler: leo, paths: [{name}]}}"


def spec(name: str) -> PathSpec:
    """Return the spec of a named path: `PathSpec`'s defaults, over one revolution at 550 km.

    Variants: ``sd-ny-bp@oneweb`` uses another constellation, ``sd-ny-bp~leoem-flat`` and
    ``sd-ny-bp@oneweb~leoem-flat`` have LeoEM's faulty delays, and ``sd-ny-bp~shortest`` takes the shortest
    route at every 100 ms, without hard handovers.

    Raises:
        InputError: there is no such path, constellation or variant.
    """
    place, tilde, variant = name.partition("~")
    path, at, shell = place.partition("@")
    pair = _pair(path)
    if pair is None:
        raise InputError(f"path: {name!r}: no such named path {suggest_names(path, _PAIRS)}")
    if at and Path(shell).is_file():
        raise InputError(
            f"path: {name!r}: a name has no file: build a trace with --constellation {shell}, and name that"
        )
    if at and shell not in constellation.names():
        suggestion = suggest_names(shell, constellation.names(), LISTED_BY)
        raise InputError(f"path: {name!r}: no such constellation {suggestion}")
    if tilde and variant not in _VARIANTS:
        raise InputError(f"path: {name!r}: only {' or '.join(_VARIANTS)} may follow ~")
    origin, destination, links = pair
    cities = places.cities()
    return PathSpec.model_validate(
        {"name": name, "from_site": cities[origin], "to_site": cities[destination], "links": links}
        | ({"constellation": shell} if at else {})
        | _VARIANTS.get(variant, {})
    )
