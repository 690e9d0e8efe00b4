import json

import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.runner.plan import Limit, plan
from leogym.kernel_bridge.workloads import app
from tests.support.scenarios import scenario

LINKS = {name: {"rate_mbps": 12, "delay_ms": 10} for name in "abcd"}
SCHEMES = ["cubic", "reno", "udp"]
PAUSES = {"on_s": 1, "off_s": 1}
BURSTS = {"scheme": "udp", "rate_mbps": 3, "on_off": {"on_s": 0.3, "off_s": 0.2}}
PAGE = {"page": {"http": "http1", "objects": [{"bytes": 1000}]}}
ARRIVALS = {"rate_per_s": 1, "mean_bytes": 1000}


def _plan(*flows, links=LINKS, **more):
    routes = ({"scheme": "cubic", **flow} for flow in flows)
    return plan(scenario(4, links, *routes, **more), {}, SCHEMES, "mahimahi")


def test_flows_cross_stretches_of_one_chain_with_the_senders_innermost():
    planned = _plan({"route": ["b", "c"]}, {"route": ["a", "b"]}, {"route": ["c"]})
    assert [link.name for link in planned.chain] == ["c", "b", "a"]
    crossed = [[link.name for link in planned.links_of(flow)] for flow in planned.flows]
    assert crossed == [["c", "b"], ["b", "a"], ["c"]]
    levels = [(flow.sender_level, flow.receiver_level) for flow in planned.flows]
    assert levels == [(2, 0), (3, 1), (1, 0)]


def test_links_that_no_flow_crosses_have_no_shells():
    assert [link.name for link in _plan({"route": ["d"]}).chain] == ["d"]


def test_a_queue_of_one_bdp_counts_the_largest_base_rtt_over_it():
    planned = _plan({"route": ["a"]}, {"route": ["a", "b"], "extra_delay_ms": 5})
    # 12 Mbit/s are 1,000 packets/s, 50 of them in 2 × (10 + 10 + 5) ms.
    assert [link.limit for link in planned.chain] == [Limit("packets", 50), Limit("packets", 50)]


def test_equal_flows_are_as_many_and_bursts_stay_in_the_flows_time():
    planned = _plan(
        {"route": ["a"], "count": 2, "start_s": 1, "stop_s": 9},
        {"route": ["a"], "count": 2, "start_s": 1, "stop_s": 3, **BURSTS},
    )
    assert [flow.scheme for flow in planned.flows] == ["cubic", "cubic", "udp", "udp"]
    assert planned.flows[0].stop_ns == 4_000_000_000, "a flow ends with its scenario"
    for flow in planned.flows[2:]:
        edges = [edge for period in flow.periods_ns for edge in period]
        assert edges == sorted(edges)
        assert edges[0] == 1_000_000_000
        assert edges[-1] <= 3_000_000_000
    assert planned.flows[2].periods_ns != planned.flows[3].periods_ns


def test_each_connection_of_a_page_is_a_flow_and_a_call_over_udp_has_no_bursts():
    planned = _plan(
        {"route": ["a"], "workload": PAGE, "count": 2, "start_s": 1},
        {"route": ["a"], "scheme": "udp", "workload": {"call": {"max_mbps": 2}}},
    )
    assert [flow.workload and flow.workload.place for flow in planned.flows] == [*range(6), *range(6), 0]
    assert {flow.start_ns for flow in planned.flows[:12]} == {1_000_000_000}
    page, call = (json.loads(planned.flows[place].workload.spec) for place in (0, 12))
    assert page["page"]["objects"] == [{"bytes": 1000, "after": [], "client": 0, "server": 0}]
    assert (call["call"]["max_bps"], call["call"]["adapts"]) == (2_000_000, False)
    assert planned.flows[12].periods_ns == ()


def test_a_machine_without_the_program_of_workloads_is_one_line(monkeypatch):
    monkeypatch.setattr(app, "program", lambda: None)
    with pytest.raises(InputError, match=r"flows\.0\.workload: leo-app: is not installed: ") as caught:
        _plan({"route": ["a"], "workload": PAGE})
    assert "\n" not in str(caught.value)


def test_the_same_seed_makes_the_same_bursts():
    flow = {"route": ["a"], **BURSTS}
    first, again, other = (_plan(flow, seed=seed).flows[0].periods_ns for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("flows", "more", "rule"),
    [
        ([{"route": ["a", "b"]}, {"route": ["a", "c"]}], {}, "flows.1.route: nested shells are one chain"),
        ([{"route": ["a", "c"]}, {"route": ["b", "c"]}], {}, "flows.1.route: nested shells are one chain"),
        ([{"route": ["a", "b"]}, {"route": ["b", "a"]}], {}, "form a circle"),
        ([{"route": ["a"], "scheme": "vegas"}], {}, r"flows.0.scheme: vegas: not .* \(cubic, reno, udp\)"),
        ([{"route": ["a"], "scheme": "prague"}], {}, r"flows.0.scheme: prague: not .* \(cubic, reno, udp\)"),
        ([{"route": ["a"], "count": 300}], {}, "300 exceed the limit of 256"),
        ([{"route": ["a"], "arrivals": ARRIVALS}], {}, "flows.0.arrivals: .* no random arrivals"),
        ([{"route": ["a"], "workload": PAGE, "count": 50}], {}, "300 exceed the limit of 256"),
        (
            [{"route": ["a"], "workload": {"call": {}}, "scheme": "gcc"}],
            {},
            r"flows.0.scheme: gcc: not .* \(cubic, reno, udp\)",
        ),
        ([{"route": ["a"], "rate_mbps": 9, "on_off": PAUSES}], {}, "flows.0.on_off: .* only for udp"),
        ([{"route": ["a"], "ecn": True}], {}, "flows.0.ecn: .* the host's setting"),
        ([{"route": ["a"], "ecn": "accurate"}], {}, "flows.0.ecn: .* the host's setting"),
        (
            [{"route": ["a"], "tcp_rmem": [4096] * 3}, {"route": ["a"]}],
            {},
            "flows: tcp_rmem: must be the same for all flows",
        ),
        (
            [{"route": ["a"]}],
            {"links": {"a": {"rate_mbps": 9, "delay_ms": 1, "reverse": {"rate_mbps": 1}}}},
            "links.a.reverse: .* no queue",
        ),
        (
            [{"route": ["a"]}],
            {"events": [{"at_s": 1, "reroute": {"flows": [0], "route": ["b"]}}]},
            "events: .* no reroutes",
        ),
    ],
)
def test_what_nested_shells_cannot_express_is_refused_in_one_line(flows, more, rule):
    with pytest.raises(InputError, match=rule) as caught:
        _plan(*flows, **more)
    assert "\n" not in str(caught.value)
