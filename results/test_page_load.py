"""Page loads against the critical path of their graph."""

import heapq
import random
from typing import Any

import leosim
import pytest

from leogym.configs.scenario import Scenario

RTT_S = 0.05
PACKET = 1448


def loaded(objects: list[dict[str, Any]], http: str, **more: Any) -> list[dict[str, Any]]:
    """Return the run log's rows of a page over an ideal link: no queue, no transmission time, no noise."""
    scenario = Scenario.model_validate(
        {
            "duration_s": 60.0,
            "host_jitter_us": 0.0,
            "links": {"a": {"rate_mbps": 1e6, "delay_ms": RTT_S / 2 * 1e3}},
            "flows": [
                {
                    "scheme": "reno",
                    "route": ["a"],
                    "workload": {"page": {"http": http, "objects": objects}},
                }
            ],
            **more,
        }
    )
    [log] = leosim.run([scenario.to_json()], {})
    return log.flows


def drawn(random_: random.Random, count: int, packets: int) -> list[dict[str, Any]]:
    """Return objects that wait for up to two earlier ones."""
    return [
        {
            "bytes": random_.randrange(1, packets * PACKET + 1),
            "after": sorted(random_.sample(range(index), min(index, random_.randrange(3)))),
            "client_ms": random_.choice([0.0, random_.uniform(0, 80)]),
            "server_ms": random_.choice([0.0, random_.uniform(0, 80)]),
        }
        for index in range(count)
    ]


def critical_path_s(objects: list[dict[str, Any]]) -> float:
    """Return the longest path: each object takes the browser's time, a round trip and the server's time."""
    ends: list[float] = []
    for wanted in objects:
        begin = max((ends[other] for other in wanted["after"]), default=0.0)
        ends.append(begin + RTT_S + (wanted["client_ms"] + wanted["server_ms"]) / 1e3)
    return max(ends)


def six_connections_s(objects: list[dict[str, Any]]) -> float:
    """Return when the last object arrives if at most six are on their way, in the order of requests."""
    missing = [len(wanted["after"]) for wanted in objects]
    due = [(wanted["client_ms"] / 1e3, index) for index, wanted in enumerate(objects) if not wanted["after"]]
    heapq.heapify(due)
    busy: list[tuple[float, int]] = []
    waiting: list[int] = []
    now = 0.0
    while due or busy:
        now = min([*(due[:1]), *(busy[:1])])[0]
        while busy and busy[0][0] == now:
            _, arrived = heapq.heappop(busy)
            for index, wanted in enumerate(objects):
                if arrived in wanted["after"]:
                    missing[index] -= 1
                    if missing[index] == 0:
                        heapq.heappush(due, (now + wanted["client_ms"] / 1e3, index))
        while due and due[0][0] <= now:
            waiting.append(heapq.heappop(due)[1])
        while waiting and len(busy) < 6:
            index = waiting.pop(0)
            heapq.heappush(busy, (now + RTT_S + objects[index]["server_ms"] / 1e3, index))
    return now


@pytest.mark.parametrize("seed", range(12))
def test_the_load_time_on_an_ideal_link_is_the_critical_path_of_the_graph(seed):
    objects = drawn(random.Random(seed), 10, packets=1)
    [flow] = loaded(objects, "http2")
    assert flow["workload"] == "page"
    assert flow["page_load_s"] == pytest.approx(critical_path_s(objects), abs=2e-5)
    assert flow["delivered_packets"] == len(objects)


@pytest.mark.parametrize("seed", range(12))
def test_http_1_has_six_requests_on_their_way_at_most(seed):
    objects = drawn(random.Random(seed), 40, packets=10)
    noise = random.Random(-1 - seed)
    for wanted in objects:
        # No two are due at a time: which of these goes first is the simulator's choice.
        wanted["client_ms"] += noise.uniform(0.1, 5)
    flows = loaded(objects, "http1")
    assert len(flows) == 6
    assert flows[0]["page_load_s"] == pytest.approx(six_connections_s(objects), abs=2e-5)
    assert [flow["page_load_s"] for flow in flows[1:]] == [None] * 5
    packets = sum(-(-wanted["bytes"] // PACKET) for wanted in objects)
    assert sum(flow["delivered_packets"] for flow in flows) == packets


def test_a_handshake_adds_a_round_trip_to_each_connection():
    chain = [{"bytes": 1000, "after": [index - 1] if index else []} for index in range(3)]
    [flow, *_] = loaded(chain, "http1", handshake=True)
    assert flow["page_load_s"] == pytest.approx(4 * RTT_S, abs=2e-5)
    both = [{"bytes": 1000}, {"bytes": 1000}]
    flows = loaded(both, "http1", handshake=True)
    # The second object waits for a connection of its own, and takes the first that is free.
    assert flows[0]["page_load_s"] == pytest.approx(3 * RTT_S, abs=2e-5)


def test_a_lost_request_is_repeated():
    objects = [{"bytes": 3000, "after": [index - 1] if index else []} for index in range(30)]
    link = {"rate_mbps": 100.0, "delay_ms": 25.0, "reverse": {"rate_mbps": 100.0, "loss": 0.3}}
    [flow] = loaded(objects, "http2", links={"a": link})
    # A third of the requests take 250 ms more, and some of these twice.
    assert 30 * RTT_S + 5 * 0.25 < flow["page_load_s"] < 12.0


def test_a_page_that_does_not_load_has_no_load_time():
    flows = loaded([{"bytes": 10**8}], "http2", links={"a": {"rate_mbps": 1.0, "delay_ms": 25.0}})
    assert flows[0]["page_load_s"] is None
    assert flows[0]["goodput_mbps"] > 0.9
