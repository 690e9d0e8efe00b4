"""The paths that scenarios call by name."""

from __future__ import annotations

from configs.errors import InputError
from traces import ground
from traces.spec import PathSpec

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
"""Name to user sites and links: the pairs that SaTCP's evaluation runs over (Cao and Zhang, INFOCOM 2023)."""


def names() -> list[str]:
    """Return all names."""
    return list(_PAIRS)


def spec(name: str) -> PathSpec:
    """Return what a named path is built from: `PathSpec`'s defaults, over one revolution.

    Raises:
        InputError: there is no path of this name.
    """
    if name not in _PAIRS:
        raise InputError(f"path: {name!r}: no such named path (there are: {', '.join(_PAIRS)})")
    origin, destination, links = _PAIRS[name]
    cities = ground.cities()
    return PathSpec.model_validate(
        {"name": name, "from_site": cities[origin], "to_site": cities[destination], "links": links}
    )
