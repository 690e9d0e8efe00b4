"""QUIC stacks as flows of the guest. Each run takes some ten seconds of a core."""

import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.configs import scenario as scenarios
from leogym.kernel_bridge.lab import links, quic_flows, virtual_run
from leogym.kernel_bridge.quic import stacks

LACK = links.missing() or links.LeoInGuest().missing()
pytestmark = pytest.mark.skipif(LACK is not None, reason=LACK or "")
QUEUE = {"kind": "droptail", "bdp": 1.0}
NGTCP2, QUINN, S2N, AIOQUIC, QUICHE = (
    f"quic:{stack}-cubic" for stack in ("ngtcp2", "quinn", "s2n", "aioquic", "quiche")
)


def needs(name):
    """Skip a test without a stack."""
    lack = stacks.missing(stacks.registered()[name].stack)
    return pytest.mark.skipif(lack is not None, reason=f"{name}: {lack}")


def _scenario(*flows, duration_s=3, **link):
    return scenarios.parse(
        {
            "name": "quic",
            "duration_s": duration_s,
            "links": {"path": {"rate_mbps": 10, "delay_ms": 15, "queue": QUEUE, **link}},
            "flows": [{"route": ["path"], **flow} for flow in flows],
        },
        "test",
    )


def _same(first, second):
    assert first.flows == second.flows
    assert first.links == second.links
    for table in ("flow_series", "link_series"):
        for name, column in getattr(first, table).items():
            np.testing.assert_array_equal(column, getattr(second, table)[name])


@needs(NGTCP2)
def test_ngtcp2_fills_a_clean_link_and_the_same_seed_gives_the_same_bytes():
    described = _scenario({"scheme": NGTCP2})
    first, second = (virtual_run.execute(described, {}) for _ in range(2))
    _same(first, second)
    [flow], [link] = first.flows, first.links
    # Data are 94 % of the largest packets that ngtcp2 sends; a round trip of 30 ms is the start's.
    assert flow["normalized_goodput"] > 0.88
    assert 30 < flow["rtt_mean_ms"] < 62
    assert flow["base_rtt_mean_ms"] == pytest.approx(30)
    assert 0 < flow["start_s"] < 0.05
    # The last drops are not detected before the end.
    assert flow["lost_packets"] == pytest.approx(link["dropped_packets"], rel=0.1)
    # The sender's packets and its view of the link agree with the link's own log.
    assert flow["sent_packets"] == pytest.approx(link["offered_packets"], rel=0.01)
    sent_mbits = np.sum(first.flow_series["send_mbps"]) * 0.1
    carried = link["delivered_bytes"] * 8e-6
    assert sent_mbits == pytest.approx(carried, rel=0.05)


@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param(scheme, marks=needs(scheme))
        for scheme in (QUINN, S2N, "quic:s2n-bbr", AIOQUIC, QUICHE, "quic:quiche-bbr2")
    ],
)
def test_a_download_agrees_with_the_links_log_and_the_same_seed_gives_the_same_bytes(scheme):
    described = _scenario({"scheme": scheme, "transfer_bytes": 300_000}, duration_s=2)
    first, second = (virtual_run.execute(described, {}) for _ in range(2))
    _same(first, second)
    [flow], [link] = first.flows, first.links
    assert flow["lost_packets"] == link["dropped_packets"]
    assert flow["sent_packets"] == pytest.approx(link["offered_packets"], abs=3)
    assert flow["base_rtt_mean_ms"] == pytest.approx(30, abs=0.1)
    # At the link's rate, and with four round trips for the handshake, the request, slow start and losses.
    assert 0.24 < flow["completion_s"] < 0.24 + 4 * 0.06


@needs(QUINN)
def test_a_lost_connection_is_one_line():
    described = _scenario({"scheme": QUINN}, duration_s=32, loss=1)
    with pytest.raises(
        RuntimeError, match=r"^quic: flow 0, .*: receiver: exit status 1: leo-quinn: .*timed out$"
    ):
        virtual_run.execute(described, {})


@needs(NGTCP2)
@needs(QUINN)
def test_two_stacks_and_linux_share_a_link():
    described = _scenario(
        {"scheme": NGTCP2},
        {"scheme": "cubic"},
        {"scheme": QUINN, "transfer_bytes": 100_000, "start_s": 0.5, "extra_delay_ms": 5},
        duration_s=4,
    )
    ngtcp2, linux, quinn = virtual_run.execute(described, {}).flows
    assert [flow["scheme"] for flow in (ngtcp2, linux, quinn)] == [NGTCP2, "cubic", QUINN]
    assert 8 < ngtcp2["goodput_mbps"] + linux["goodput_mbps"] < 10
    assert min(ngtcp2["goodput_mbps"], linux["goodput_mbps"]) > 1.5
    assert quinn["base_rtt_mean_ms"] == pytest.approx(40)
    # Two round trips at least: the handshake and the request, then the data and their acknowledgement.
    assert 0.08 < quinn["completion_s"] < 2
    assert quinn["goodput_mbps"] == pytest.approx(0.8 / quinn["completion_s"])
    assert ngtcp2["completion_s"] is None


@needs(NGTCP2)
@pytest.mark.parametrize("field", quic_flows.UNSUPPORTED)
def test_what_a_stack_cannot_do_is_refused_in_one_line(field):
    values = {
        **{"rate_mbps": 1, "ecn": True, "resume": {"cwnd_packets": 9, "rtt_ms": 9}},
        "workload": {"video": {}},
    }
    described = _scenario({"scheme": NGTCP2, field: values.get(field, [4096, 9999, 9999])})
    with pytest.raises(InputError, match=rf"^quic: --backend lab: flows.0.{field}: \w"):
        virtual_run.check(described, {})


def test_a_stack_that_is_not_installed_is_one_line(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(stacks, "installed", lambda _: None)
    monkeypatch.setattr("leogym.kernel_bridge.programs.binaries.PATH", "/nowhere")
    with pytest.raises(
        InputError, match=f"flows.0.scheme: {NGTCP2}: gtlsserver: not on this machine's PATH: apt"
    ):
        quic_flows.check(_scenario({"scheme": NGTCP2}), "lab")
