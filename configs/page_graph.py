"""Dependency graphs of pages: those in ``configs/pages``, and HAR and YAML files.

HAR 1.2 (W3C Web Performance Group) records requests of a page load. An object depends on its initiator where
the file has Chrome's ``_initiator``, else on the object that arrived last before it was requested.
"""

import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any

from leogym.common import text_file, yaml_text
from leogym.common.errors import InputError
from leogym.common.nearest import nearest

FOLDER = Path(__file__).parent / "pages"

MOST_HAR_BYTES = 256 << 20
"""A HAR file may hold the contents of all responses."""

Objects = list[dict[str, Any]]


def shipped() -> list[str]:
    """Return the names of the pages in ``configs/pages``."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load(name: str) -> Objects:
    """Return the objects of a shipped page, or of a HAR or YAML file, as `configs.scenario.PageObject`.

    Raises:
        InputError: there is no such page, or the file is invalid.
    """
    if name in shipped():
        return _of_yaml(FOLDER / f"{name}.yaml")
    path = Path(name)
    if path.suffix == ".har":
        return of_har(path)
    if path.suffix in (".yaml", ".yml"):
        return _of_yaml(path)
    near = ", ".join(nearest(name, shipped()) or shipped())
    raise InputError(f"graph: {name}: neither a page ({near}) nor a HAR or YAML file")


def _of_yaml(path: Path) -> Objects:
    data = yaml_text.read(path)
    if not isinstance(data, dict) or not isinstance(data.get("objects"), list):
        raise InputError(f"{path}: objects: must be a list of a page's objects")
    return data["objects"]


def of_har(path: Path) -> Objects:
    """Return the objects of a HAR file, in the order of their requests; an `InputError` names its fault."""
    try:
        entries = json.loads(text_file.read(path, MOST_HAR_BYTES))["log"]["entries"]
        requests = [_request(entry, f"{path}: log.entries.{index}") for index, entry in enumerate(entries)]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a HAR 1.2 file: {type(error).__name__}: {error}") from None
    requests = sorted((request for request in requests if request), key=lambda request: request["begin_ms"])
    if not requests:
        raise InputError(f"{path}: log.entries: must have at least one request over HTTP")
    first_of_url: dict[str, int] = {}
    objects: Objects = []
    for index, request in enumerate(requests):
        parent = first_of_url.get(request["initiator"])
        if parent is None and index > 0:
            arrived = [n for n in range(index) if requests[n]["end_ms"] <= request["begin_ms"]]
            parent = max(arrived, key=lambda n: requests[n]["end_ms"], default=None)
        before_ms = requests[0]["begin_ms"] if parent is None else requests[parent]["end_ms"]
        objects.append(
            {
                "bytes": request["bytes"],
                "after": [] if parent is None else [parent],
                "client_ms": max(0.0, request["begin_ms"] - before_ms),
            }
        )
        first_of_url.setdefault(request["url"], index)
    return objects


def _request(entry: dict[str, Any], where: str) -> dict[str, Any] | None:
    """Return what the graph needs of an entry; None for a response that no server sent over HTTP."""
    url, response = entry["request"]["url"], entry["response"]
    if not url.startswith(("http://", "https://")) or response["status"] <= 0:
        return None
    begin_ms = datetime.fromisoformat(entry["startedDateTime"]).timestamp() * 1e3
    # Time in the browser's queue is what the simulated connections bring about.
    begin_ms += max(0.0, entry.get("timings", {}).get("blocked", 0.0))
    end_ms = begin_ms + float(entry["time"]) - max(0.0, entry.get("timings", {}).get("blocked", 0.0))
    sizes = [response.get("_transferSize"), response.get("bodySize"), response["content"].get("size")]
    body = next((size for size in sizes if isinstance(size, int) and size > 0), 0)
    headers = response.get("headersSize", -1)
    size = body + (headers if headers > 0 and body != response.get("_transferSize") else 0)
    if not (math.isfinite(begin_ms) and math.isfinite(end_ms)):
        raise InputError(f"{where}: time: must be a number of ms")
    initiator = entry.get("_initiator") or {}
    return {
        "url": url,
        "begin_ms": begin_ms,
        "end_ms": end_ms,
        "bytes": max(1, size),
        "initiator": initiator.get("url", "") if isinstance(initiator, dict) else "",
    }
