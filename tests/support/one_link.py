"""A scenario of one link and one flow of the scheme under test, and a suite of it, as files."""

from pathlib import Path
from textwrap import indent
from typing import Any

SCENARIO = """\
duration_s: 1
links: {l: {rate_mbps: 10, delay_ms: 5}}
flows: [{scheme: $scheme, route: [l]}]
"""


def suite(name: str, **keys: Any) -> str:
    """Return the suite ``name`` of the scenario without figures, with further ``keys``."""
    lines = "".join(f"{key}: {value}\n" for key, value in keys.items())
    return f"name: {name}\ntitle: {name}\nfigures: []\n{lines}scenario:\n{indent(SCENARIO, '  ')}"


def written(folder: Path, text: str = SCENARIO, name: str = "scenario") -> str:
    """Write ``text`` to a file in ``folder``; return its path."""
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return str(path)
