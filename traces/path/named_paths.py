"""Paths that scenarios use by name."""

from leogym.configs.errors import InputError
from leogym.configs.nearest import instead
from leogym.traces.orbit import constellation, places
from leogym.traces.orbit.legs import FLAT
from leogym.traces.path.spec import PathSpec

LISTED_BY = "leogym traces list"
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


def names() -> list[str]:
    """Return all names."""
    return list(_PAIRS)


def is_named(text: str) -> bool:
    """Return whether ``text`` is a named path or a variant of one (see `spec`)."""
    return text.partition("~")[0].partition("@")[0] in _PAIRS


def spec(name: str) -> PathSpec:
    """Return the spec of a named path: `PathSpec`'s defaults, over one revolution.

    Variants: ``sd-ny-bp@oneweb`` uses another constellation, ``sd-ny-bp~leoem-flat`` and
    ``sd-ny-bp@oneweb~leoem-flat`` have LeoEM's faulty delays.

    Raises:
        InputError: there is no such path, constellation or variant.
    """
    place, tilde, delays = name.partition("~")
    path, at, shell = place.partition("@")
    if path not in _PAIRS:
        raise InputError(f"path: {name!r}: no such named path {instead(path, _PAIRS)}")
    if at and shell not in constellation.names():
        told = instead(shell, constellation.names(), LISTED_BY)
        raise InputError(f"path: {name!r}: no such constellation {told}")
    if tilde and delays != FLAT:
        raise InputError(f"path: {name!r}: only {FLAT} may follow ~")
    origin, destination, links = _PAIRS[path]
    cities = places.cities()
    return PathSpec.model_validate(
        {"name": name, "from_site": cities[origin], "to_site": cities[destination], "links": links}
        | ({"constellation": shell} if at else {})
        | ({"delays": delays} if tilde else {})
    )
