"""Scenarios and path traces for tests."""

import json
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
