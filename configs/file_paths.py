"""Read YAML files that name other files by paths relative to their own folder."""

import glob
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leogym.common import yaml_text
from leogym.common.errors import InputError

FILE = re.compile(r"\S+\.(csv|ya?ml|har)")
"""A text that names a path trace, a scenario, a suite or settings."""
PLACEHOLDER = re.compile(r"\$(?:\{\w+\}|\w+)")


def read(path: Path) -> Any:
    """Return the data of a YAML file, with the paths of the files that it names from the working folder.

    A file's path is relative to the YAML file, or else to the working folder.

    Raises:
        InputError: the file cannot be read, or a path trace that it names is in neither folder.
    """
    return _resolved(yaml_text.read(path), path, ())


def _resolved(node: Any, source: Path, keys: tuple[str, ...]) -> Any:
    if isinstance(node, dict):
        return {key: _resolved(child, source, (*keys, str(key))) for key, child in node.items()}
    if isinstance(node, list):
        return [_resolved(child, source, (*keys, str(index))) for index, child in enumerate(node)]
    if not isinstance(node, str) or FILE.fullmatch(node) is None:
        return node
    folders = list(dict.fromkeys((source.parent, Path())))
    for folder in folders:
        if any(_files(folder, node)):
            return str(folder / node)
    if node.endswith(".csv"):
        places = " nor in ".join(str(folder.resolve()) for folder in folders)
        raise InputError(f"{source}: {'.'.join(keys)}: {node}: no such file in {places}")
    return node


def _files(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files that a name stands for; a suite's placeholders stand for any text."""
    pattern = "*".join(map(glob.escape, PLACEHOLDER.split(name)))
    places = map(Path, glob.iglob(str(Path(glob.escape(str(folder)), pattern))))
    return (place for place in places if place.is_file())
