"""What a scenario file may say, and what it is told when it says something else."""

from __future__ import annotations

from typing import Any

import pytest

from configs.errors import InputError
from configs.scenario import parse

ARRIVALS = {"rate_per_s": 10, "mean_bytes": 5000}


@pytest.mark.parametrize(
    ("flow", "rule"),
    [
        ({"scheme": "udp"}, "udp needs rate_mbps"),
        ({"scheme": "cubic", "on_off": {"on_s": 1, "off_s": 1}}, "on_off needs rate_mbps"),
        ({"scheme": "cubic", "rate_mbps": 5, "transfer_bytes": 1}, "give rate_mbps, transfer_bytes"),
        (
            {"scheme": "udp", "rate_mbps": 5, "on_off": {"on_s": 1, "off_s": 1, "distribution": "pareto"}},
            "distribution",
        ),
        ({"scheme": "udp", "rate_mbps": 5, "transfer_bytes": 1}, "udp sends until it stops"),
        ({"scheme": "udp", "rate_mbps": 5, "ecn": True}, "udp does not answer marks"),
        ({"scheme": "reno", "tcp_rmem": [4096, 8192, 4096]}, "must rise"),
        ({"scheme": "reno", "tcp_wmem": [1, 1000, 4096]}, "at least 4096"),
        ({"scheme": "reno", "tcp_wmem": [4096, 8192]}, "tcp_wmem"),
        ({"scheme": "reno", "rate_mbps": 5, "tcp_wmem": [4096, 8192, 8192]}, "does not wait"),
        ({"scheme": "udp", "rate_mbps": 5, "tcp_rmem": [4096, 8192, 8192]}, "udp has no tcp_rmem"),
        ({"scheme": "udp", "rate_mbps": 5, "arrivals": ARRIVALS}, "udp sends until it stops"),
        ({"scheme": "reno", "transfer_bytes": 1, "arrivals": ARRIVALS}, "at most one"),
        ({"scheme": "agent", "arrivals": ARRIVALS}, "steered from outside"),
        ({"scheme": "reno", "arrivals": {**ARRIVALS, "shape": 2.0}}, "only pareto"),
    ],
)
def test_sources_that_contradict_themselves_are_refused(flow: dict[str, Any], rule: str) -> None:
    link = {"rate_mbps": 10, "delay_ms": 5}
    with pytest.raises(InputError, match=rule):
        parse({"duration_s": 1, "links": {"a": link}, "flows": [{**flow, "route": ["a"]}]}, "test")
