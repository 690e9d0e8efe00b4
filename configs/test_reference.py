"""References of files in the docs, and the core's structs of a scenario, are those of the schemas."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leosim
import pytest

from leogym.common.strict import Range
from leogym.configs import core_structs, file_reference, reference, schema

ROOT = Path(__file__).resolve().parents[1]
REMEDY = "python -m configs.reference"
EXAMPLE = {
    "duration_s": 1,
    "links": {"l": {"rate_mbps": 1, "delay_ms": 1}},
    "flows": [{"scheme": "cubic", "route": ["l"]}],
    "events": [{"at_s": 0, "reroute": {"flows": [0], "route": ["l"]}}],
}
PARTS = {
    "reverse": {"rate_mbps": 1},
    "arrivals": {"rate_per_s": 1, "mean_bytes": 1},
    "on_off": {"on_s": 1, "off_s": 1},
    "resume": {"cwnd_packets": 1, "rtt_ms": 1},
    "objects": [{"bytes": 1}],
}
"""Parts that the example lacks."""


def test_every_key_has_a_meaning():
    assert "|  |" not in reference.page()


def test_the_reference_is_the_schemas():
    assert (ROOT / "docs/scenario.md").read_text() == reference.page(), REMEDY


def test_the_page_of_suites_sweeps_and_samplers_is_the_schemas() -> None:
    text = (ROOT / "docs/files.md").read_text()
    assert len(file_reference.TABLES.findall(text)) == 3
    assert "|  |" not in text
    assert file_reference.page(text) == text, "python -m configs.file_reference docs/files.md"


def test_the_structs_of_the_core_are_the_schemas():
    assert (ROOT / core_structs.FILE).read_text() == core_structs.text(), REMEDY


def _outside(range_: Range, whole: bool) -> Iterator[float]:
    """Yield the numbers next to a range, but for those that the core's types of whole numbers exclude."""
    step = 1 if whole else 1e-9
    yield from (bound for bound in (range_.gt, range_.lt) if bound not in (None, 2**32, 2**64))
    if range_.ge is not None and not (whole and range_.ge == 0):
        yield range_.ge - step
    if range_.le is not None:
        yield range_.le + (step if whole else step * range_.le)


def _cases() -> Iterator[Any]:
    for part in schema.parts().values():
        place = part.place.replace("NAME", "l").replace("[]", ".0").strip(".")
        for field, node in part.fields.items():
            kind = schema.options(node)[0]
            range_, whole = schema.limits(kind), kind.get("type") == "integer"
            if range_ is not None and kind.get("type") in ("integer", "number"):
                for value in _outside(range_, whole):
                    rule = f"must be a {'whole ' if whole else ''}number {range_}"
                    yield pytest.param(place, field, value, rule, id=f"{place}.{field}={value}")


@pytest.mark.parametrize(("place", "field", "value", "rule"), list(_cases()))
def test_the_core_refuses_a_number_next_to_its_range_in_the_words_of_python(place, field, value, rule):
    data = json.loads(json.dumps(EXAMPLE))
    part: Any = data
    for key in place.split(".") if place else ():
        part = (
            part[int(key)]
            if isinstance(part, list)
            else part.setdefault(key, copy.deepcopy(PARTS.get(key, {})))
        )
    part[field] = value
    path = f"{place}.{field}".removeprefix(".")
    assert leosim.broken_rule("Scenario", json.dumps(data)) == (path, rule)
