from typing import Any

import leosim
import pytest

from leogym.common.errors import InputError
from leogym.configs.scenario import parse
from tests.support.scenarios import one_link, scenario

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
        ({"scheme": "udp", "rate_mbps": 5, "ecn": "accurate"}, "udp does not answer marks"),
        (
            {"scheme": "reno", "ecn": "ect"},
            "flows.0.ecn: .*must be true, false, none, classic, accurate, or one",
        ),
        ({"scheme": "reno", "ecn": {"sender": "accurate"}}, "flows.0.ecn: .*must be true"),
        ({"scheme": "reno", "tcp_rmem": [4096, 8192, 4096]}, "must rise"),
        ({"scheme": "reno", "tcp_wmem": [1, 1000, 4096]}, "at least 4096"),
        ({"scheme": "reno", "tcp_wmem": [4096, 8192]}, "tcp_wmem"),
        ({"scheme": "reno", "rate_mbps": 5, "tcp_wmem": [4096, 8192, 8192]}, "does not wait"),
        ({"scheme": "udp", "rate_mbps": 5, "tcp_rmem": [4096, 8192, 8192]}, "udp has no tcp_rmem"),
        ({"scheme": "udp", "rate_mbps": 5, "arrivals": ARRIVALS}, "udp sends until it stops"),
        ({"scheme": "reno", "transfer_bytes": 1, "arrivals": ARRIVALS}, "at most one"),
        ({"scheme": "agent", "arrivals": ARRIVALS}, "arrivals: the scheme agent cannot have arrivals"),
        ({"scheme": "reno", "arrivals": {**ARRIVALS, "shape": 2.0}}, "only pareto"),
    ],
)
def test_sources_that_contradict_themselves_are_refused(flow: dict[str, Any], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        scenario(1, {"a": {"rate_mbps": 10, "delay_ms": 5}}, {**flow, "route": ["a"]})


@pytest.mark.parametrize(
    ("link", "rule"),
    [
        ({"rate_mbps": 10, "delay_ms": 5, "burst_bytes": -1}, "links.l.burst_bytes"),
        ({"trace": "sd-ny-bp", "burst_bytes": 1500}, "a link with a trace has no token bucket"),
    ],
)
def test_a_token_bucket_needs_a_link_whose_rate_is_constant(link: dict[str, Any], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        one_link(1, link, "cubic")


@pytest.mark.parametrize(
    ("link", "rule"),
    [
        ({"rate_mbps": 10, "delay_ms": 5}, "outage: a link without a trace has no outages"),
        ({"trace": "sd-ny-bp", "queue": {"kind": "cake", "bandwidth_mbps": 5}}, "outage: cake's shaper"),
    ],
)
def test_an_outage_that_drops_the_queue_needs_a_trace_and_no_shaper(link: dict[str, Any], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        one_link(1, {**link, "outage": "drop"}, "cubic")


def there_and_back(link: dict[str, Any], flow: dict[str, Any], reroute: list[str]) -> dict[str, Any]:
    """Return a scenario of one flow over link ``a``, which an event reroutes."""
    plain = {"rate_mbps": 10, "delay_ms": 5}
    return {
        "duration_s": 1,
        "links": {"a": {**plain, **link}, "b": plain},
        "flows": [{"scheme": "cubic", "route": ["a"], **flow}],
        "events": [{"at_s": 0.5, "reroute": {"flows": [0], "route": reroute}}],
    }


@pytest.mark.parametrize(
    ("link", "flow", "reroute", "rule"),
    [
        ({"reverse": {}}, {}, ["b"], "reverse: a link without a trace needs rate_mbps"),
        ({"reverse": {"rate_mbps": 1, "loss": 2}}, {}, ["b"], "links.a.reverse.loss"),
        ({"reverse": {"rate_mbps": 1, "delay_ms": 2}}, {}, ["b"], "links.a.reverse.delay_ms"),
        ({}, {"direction": "up"}, ["b"], "flows.0.direction"),
        ({}, {"direction": "backward"}, ["b"], "flows.0.direction: a backward flow needs a link that"),
        (
            {"reverse": {"rate_mbps": 1}},
            {"direction": "backward"},
            ["b"],
            "events.0.reroute.route: a backward flow needs a link that has reverse",
        ),
    ],
)
def test_the_rules_of_the_way_back_are_named(
    link: dict[str, Any], flow: dict[str, Any], reroute: list[str], rule: str
) -> None:
    with pytest.raises(InputError, match=rule):
        parse(there_and_back(link, flow, reroute), "test")


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
