"""Two lab runs with one seed are byte-identical and another seed differs, over a spread of scenarios.

    python -m pytest -m soak kernel_bridge/lab

A scenario's runs are concurrent, so that they disturb one another as much as they can.
"""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from leogym.kernel_bridge.lab import image, links, machine, served_in_guest, virtual_run
from tests.support.bridge_world import POLICY
from tests.support.scenarios import path_trace, scenario

TRACE = path_trace(
    "0,20,12,12,0.001,1,1,",
    "1,12,12,12,0.001,1,2,hard_handover",
    "2,15,8,8,0.001,1,2,",
    "60,15,8,8,0.001,1,2,",
    handovers=[{"predicted_s": 1.0}],
)
LINK = {"rate_mbps": 10, "delay_ms": 10, "queue": {"kind": "droptail", "bdp": 1.0}, "loss": 0.002}


def _flows(*schemes, route=("l",)):
    return [{"scheme": scheme, "route": list(route)} for scheme in schemes]


def _scenarios():
    """Return the links and flows of scenarios with many kinds of links, queues and schemes."""
    hops = {name: LINK | {"loss": 0.0005} for name in "abc"}
    managed = {"rate_mbps": 10, "delay_ms": 10, "loss": 0.002}
    return {
        "random-loss": ({"l": LINK}, _flows("reno")),
        "paced": ({"l": LINK}, _flows("bbr")),
        "two-flows": ({"l": LINK}, _flows("cubic", "vegas")),
        "three-hops": (hops, _flows("illinois", route=("a", "b", "c"))),
        "hashed-queues": ({"l": managed | {"queue": {"kind": "cake"}}}, _flows("bic", "yeah")),
        "drawn-drops": ({"l": managed | {"queue": {"kind": "pie"}}}, _flows("htcp", "cdg")),
        "a-path-that-moves": ({"l": {"trace": "t"}}, _flows("cubic", "bbr")),
        "served": ({"l": {"trace": "t"}}, _flows("satcp", "vivace", "policy")),
    }


LACK = links.missing()
DURATION_S = 3.0


def _digest(name, seed):
    links, flows = _scenarios()[name]
    data = scenario(DURATION_S, links, *flows, seed=seed)
    policies = {"policy": {path.name: path.read_bytes() for path in POLICY.iterdir()}}
    log = virtual_run.execute(
        data,
        {"t": TRACE.encode()} if data.traces else {},
        policies=policies if name == "served" else {},
    )
    series = [column.tobytes() for table in (log.flow_series, log.link_series) for column in table.values()]
    return hashlib.sha256(json.dumps([log.flows, log.links]).encode() + b"".join(series)).hexdigest()


@pytest.mark.soak
@pytest.mark.skipif(LACK is not None, reason=LACK or "")
@pytest.mark.parametrize("name", _scenarios())
def test_runs_with_one_seed_are_byte_identical_and_another_seed_differs(name):
    if name == "served" and (lack := served_in_guest.missing(image.latest())) is not None:
        pytest.skip(lack)
    machine.ready(image.latest())
    with ThreadPoolExecutor(2) as pool:
        first, again, other = pool.map(lambda seed: _digest(name, seed), (1, 1, 2))
    assert first == again
    assert first != other
