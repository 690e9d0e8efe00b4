"""Two lab runs with one seed are byte-identical and another seed differs, over a spread of scenarios.

    python -m pytest -m soak kernel_bridge/lab

A scenario's runs are concurrent, so that they disturb one another as much as they can.
"""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from leogym.configs.scenario import parse
from leogym.kernel_bridge.lab import image, links, machine, served_in_guest, virtual_run

POLICY = Path(__file__).resolve().parents[2] / "core/control/tests/fixtures/perceptron"
TRACE = """# {"format": "leogym-path-trace", "version": 1, "name": "t", "handovers": [{"predicted_s": 1.0}]}
time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event
0,20,12,12,0.001,1,1,
1,12,12,12,0.001,1,2,hard_handover
2,15,8,8,0.001,1,2,
60,15,8,8,0.001,1,2,
"""
LINK = {"rate_mbps": 10, "delay_ms": 10, "queue": {"kind": "droptail", "bdp": 1.0}, "loss": 0.002}


def _flows(*schemes, route=("l",)):
    return [{"scheme": scheme, "route": list(route)} for scheme in schemes]


def _scenarios():
    """Return scenarios with many kinds of links, queues and schemes."""
    hops = {name: LINK | {"loss": 0.0005} for name in "abc"}
    managed = {"rate_mbps": 10, "delay_ms": 10, "loss": 0.002}
    return {
        "random-loss": {"links": {"l": LINK}, "flows": _flows("reno")},
        "paced": {"links": {"l": LINK}, "flows": _flows("bbr")},
        "two-flows": {"links": {"l": LINK}, "flows": _flows("cubic", "vegas")},
        "three-hops": {"links": hops, "flows": _flows("illinois", route=("a", "b", "c"))},
        "hashed-queues": {
            "links": {"l": managed | {"queue": {"kind": "cake"}}},
            "flows": _flows("bic", "yeah"),
        },
        "drawn-drops": {"links": {"l": managed | {"queue": {"kind": "pie"}}}, "flows": _flows("htcp", "cdg")},
        "a-path-that-moves": {"links": {"l": {"trace": "t"}}, "flows": _flows("cubic", "bbr")},
        "served": {"links": {"l": {"trace": "t"}}, "flows": _flows("satcp", "vivace", "policy")},
    }


LACK = links.missing()
DURATION_S = 3.0


def _digest(name, seed):
    scenario = parse({"name": name, "duration_s": DURATION_S, "seed": seed, **_scenarios()[name]}, name)
    policies = {"policy": {path.name: path.read_bytes() for path in POLICY.iterdir()}}
    log = virtual_run.execute(
        scenario,
        {"t": TRACE.encode()} if scenario.traces else {},
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
