"""What a scenario file may say, and what it is told when it says something else."""

from __future__ import annotations

from typing import Any

import pytest

from configs.errors import InputError
from configs.scenario import parse


@pytest.mark.parametrize(
    ("flow", "rule"),
    [
        ({"scheme": "udp"}, "udp needs rate_mbps"),
        ({"scheme": "cubic", "rate_mbps": 5}, "only the scheme udp has rate_mbps and on_off"),
        (
            {"scheme": "cubic", "on_off": {"on_s": 1, "off_s": 1}},
            "only the scheme udp has rate_mbps and on_off",
        ),
        (
            {"scheme": "udp", "rate_mbps": 5, "on_off": {"on_s": 1, "off_s": 1, "distribution": "pareto"}},
            "distribution",
        ),
        ({"scheme": "udp", "rate_mbps": 5, "transfer_bytes": 1}, "udp sends until it stops"),
    ],
)
def test_only_udp_has_a_rate_and_bursts(flow: dict[str, Any], rule: str) -> None:
    link = {"rate_mbps": 10, "delay_ms": 5}
    with pytest.raises(InputError, match=rule):
        parse({"duration_s": 1, "links": {"a": link}, "flows": [{**flow, "route": ["a"]}]}, "test")
