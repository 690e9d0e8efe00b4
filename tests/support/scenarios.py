"""Scenarios and path traces for tests."""

import json
from pathlib import Path
from textwrap import indent
from typing import Any

from leogym.configs.scenario import Scenario, parse

COLUMNS = "time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event"


def scenario(duration_s: float, links: dict[str, Any], *flows: dict[str, Any], **more: Any) -> Scenario:
    """Return the scenario named `test` of these links and flows."""
    data = {"name": "test", "duration_s": duration_s, "links": links, "flows": list(flows), **more}
    return parse(data, "test")


def one_link(duration_s: float, link: dict[str, Any], *schemes: str) -> Scenario:
    """Return a scenario in which a flow of each scheme crosses the same link."""
    return scenario(duration_s, {"l": link}, *({"scheme": scheme, "route": ["l"]} for scheme in schemes))


def path_trace(*rows: str, columns: str = COLUMNS, **metadata: Any) -> str:
    """Return the text of a path trace with these rows, of version 1 unless the metadata says another."""
    head = json.dumps({"format": "leogym-path-trace", "version": 1, **metadata})
    return "\n".join([f"# {head}", columns, *rows, ""])


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
