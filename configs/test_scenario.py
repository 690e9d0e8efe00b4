from typing import Any

import leosim
import pytest

from leogym.common.errors import InputError
from leogym.configs.scenario import parse
from tests.support.scenarios import scenario

ARRIVALS = {"rate_per_s": 10, "mean_bytes": 5000}


def there_and_back(link: dict[str, Any], flow: dict[str, Any], reroute: list[str]) -> dict[str, Any]:
    """Return a scenario of one flow over link ``a``, which an event reroutes."""
    plain = {"rate_mbps": 10, "delay_ms": 5}
    return {
        "duration_s": 1,
        "links": {"a": {**plain, **link}, "b": plain},
        "flows": [{"scheme": "cubic", "route": ["a"], **flow}],
        "events": [{"at_s": 0.5, "reroute": {"flows": [0], "route": reroute}}],
    }


UDP = {"scheme": "udp", "rate_mbps": 5}
TRACED = {"rate_mbps": None, "delay_ms": None, "trace": "sd-ny-bp"}
SHAPED = {"queue": {"kind": "cake", "bandwidth_mbps": 5}}
BACKWARD = {"direction": "backward"}


@pytest.mark.parametrize(
    ("link", "flow", "rule"),
    [
        ({"trace": "sd-ny-bp"}, {}, "links.a: give exactly one of delay_ms and trace"),
        ({"rate_mbps": None}, {}, "links.a: a link without a trace needs rate_mbps"),
        ({"offset_s": 1}, {}, "links.a: offset_s needs a trace"),
        ({**TRACED, "burst_bytes": 1500}, {}, "links.a.burst_bytes: a link with a trace has no token bucket"),
        ({"outage": "drop"}, {}, "links.a.outage: a link without a trace has no outages"),
        ({**TRACED, **SHAPED, "outage": "drop"}, {}, "links.a.outage: cake's shaper holds packets back .*"),
        ({"reverse": {}}, {}, "links.a.reverse: a link without a trace needs rate_mbps"),
        ({}, {"scheme": "udp"}, "flows.0: udp needs rate_mbps"),
        ({}, {"on_off": {"on_s": 1, "off_s": 1}}, "flows.0: on_off needs rate_mbps"),
        ({}, {**UDP, "transfer_bytes": 1}, "flows.0: udp sends until it stops: it has no transfer_.*"),
        ({}, {**UDP, "arrivals": ARRIVALS}, "flows.0: udp sends until it stops: it has no transfer_.*"),
        ({}, {**UDP, "ecn": True}, "flows.0: udp does not answer marks: it has no ecn"),
        ({}, {**UDP, "ecn": "accurate"}, "flows.0: udp does not answer marks: it has no ecn"),
        ({}, {**UDP, "tcp_rmem": [4096, 8192, 8192]}, "flows.0: udp has no tcp_rmem or tcp_wmem"),
        ({}, {**UDP, "resume": {"cwnd_packets": 9, "rtt_ms": 9}}, "flows.0: udp has no window to resume"),
        ({}, {"rate_mbps": 5, "tcp_wmem": [4096, 8192, 8192]}, "flows.0: an application .* does not wait .*"),
        ({}, {"rate_mbps": 5, "transfer_bytes": 1}, "flows.0: give rate_mbps, transfer_bytes or arrivals"),
        ({}, {"transfer_bytes": 1, "arrivals": ARRIVALS}, "flows.0: give at most one of transfer_.*"),
        ({}, {"scheme": "agent", "arrivals": ARRIVALS}, "flows.0.arrivals: the scheme agent cannot .*"),
        ({}, {"arrivals": {**ARRIVALS, "shape": 2.0}}, "flows.0.arrivals.shape: only pareto has a shape"),
        (
            {},
            {"arrivals": {**ARRIVALS, "rate_per_s": 1e6}, "count": 2},
            "flows: stand for 2,000,000 flows, .*",
        ),
        ({}, {"tcp_rmem": [4096, 8192, 4096]}, "flows.0.tcp_rmem: must rise: minimum, default, maximum"),
        ({}, {"tcp_wmem": [1, 1000, 4096]}, "flows.0.tcp_wmem: the default must be at least 4096"),
        ({}, {"route": ["c"]}, r'flows.0.route: no link is named "c" \(there are: a, b\)'),
        ({}, {"start_s": 1.0}, "flows.0.start_s: must be before duration_s"),
        ({}, {"start_s": 0.5, "stop_s": 0.5}, "flows.0.stop_s: must be after start_s"),
        ({}, BACKWARD, "flows.0.direction: a backward flow needs a link that has reverse"),
        # The event reroutes to a link without reverse.
        ({"reverse": {"rate_mbps": 1}}, BACKWARD, "events.0.reroute.route: a backward flow needs .*"),
    ],
)
def test_rules_between_fields_are_named(link: dict[str, Any], flow: dict[str, Any], rule: str) -> None:
    with pytest.raises(InputError, match=rf"^test: {rule}$"):
        parse(there_and_back(link, flow, ["b"]), "test")


def test_an_event_for_a_flow_or_link_that_is_not_there_is_refused() -> None:
    data = there_and_back({}, {}, ["c"])
    with pytest.raises(InputError, match=r'events\.0\.reroute\.route: no link is named "c"'):
        parse(data, "test")
    data["events"][0]["reroute"] |= {"flows": [1], "route": ["b"]}
    with pytest.raises(InputError, match=r"events\.0\.reroute\.flows: there are only 1 flows"):
        parse(data, "test")


@pytest.mark.parametrize(
    ("link", "flow", "rule"),
    [
        ({"burst_bytes": -1}, {}, "links.a.burst_bytes"),
        ({"reverse": {"rate_mbps": 1, "loss": 2}}, {}, "links.a.reverse.loss"),
        ({"reverse": {"rate_mbps": 1, "delay_ms": 2}}, {}, "links.a.reverse.delay_ms"),
        ({}, {"direction": "up"}, "flows.0.direction"),
        ({}, {**UDP, "on_off": {"on_s": 1, "off_s": 1, "distribution": "pareto"}}, "distribution"),
        ({}, {"ecn": "ect"}, "flows.0.ecn: .*must be true, false, none, classic, accurate, or one"),
        ({}, {"ecn": {"sender": "accurate"}}, "flows.0.ecn: .*must be true"),
        ({}, {"tcp_wmem": [4096, 8192]}, "tcp_wmem"),
    ],
)
def test_values_that_a_field_does_not_have_are_named(
    link: dict[str, Any], flow: dict[str, Any], rule: str
) -> None:
    with pytest.raises(InputError, match=rule):
        parse(there_and_back(link, flow, ["b"]), "test")


def test_the_core_takes_the_way_back_and_names_its_link() -> None:
    data = there_and_back({"reverse": {"rate_mbps": 2}}, {"direction": "backward"}, ["b", "a"])
    (log,) = leosim.run([parse(data, "test").to_json()], {})
    assert log.link_names == ["a", "b", "a.reverse"]
    assert log.flows[0]["capacity_mbps"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("ecn", "marked"),
    [
        (False, True),
        (True, True),
        ("accurate", True),
        ({"sender": "accurate", "receiver": "accurate"}, True),
        ("none", False),
        ({"sender": "accurate", "receiver": "none"}, False),
    ],
)
def test_prague_uses_accurate_ecn_unless_an_end_does_not_support_it(ecn: Any, marked: bool) -> None:
    link = {"rate_mbps": 10, "delay_ms": 5, "queue": {"kind": "codel", "ecn": True}}
    flow = {"scheme": "prague", "route": ["a"], "ecn": ecn}
    (log,) = leosim.run([scenario(3, {"a": link}, flow).to_json()], {})
    assert (log.links[0]["marked_packets"] > 0) is marked
