"""Queues as arguments of tc, and TCP's ECN setting."""

import pytest

from leogym.common.errors import InputError
from leogym.configs.queue import Queue
from leogym.kernel_bridge.lab.links import qdisc
from leogym.kernel_bridge.runner import plan
from leogym.kernel_bridge.runner.plan import Limit
from tests.support.scenarios import scenario


def test_head_drop_is_linuxs_pfifo_head_drop_which_counts_packets_only():
    assert qdisc(Queue(kind="head_drop"), Limit("packets", 7), "l") == ["pfifo_head_drop", "limit", "7"]
    with pytest.raises(
        InputError, match=r"l\.queue\.bytes: Linux's pfifo_head_drop takes a limit in packets only"
    ):
        qdisc(Queue(kind="head_drop", bytes=3000), Limit("bytes", 3000), "l")


def test_dualpi2s_parameters_have_tcs_names():
    queue = Queue(kind="dualpi2", alpha_hz=0.2, coupling=3, step_ms=0.5, classic_percent=20, any_ect=False)
    assert " ".join(qdisc(queue, None, "l")) == (
        "dualpi2 alpha 0.2 coupling_factor 3 step_thresh 0.5ms classic_protection 20 l4s_ect"
    )
    on = Queue(kind="dualpi2", any_ect=True, drop_overload=False)
    assert qdisc(on, None, "l") == ["dualpi2", "any_ect", "overflow"]


def _settings(backend, *ecn):
    flows = ({"scheme": "reno", "route": ["a"], "ecn": setting} for setting in ecn)
    data = scenario(1, {"a": {"rate_mbps": 5, "delay_ms": 5}}, *flows)
    return plan.plan(data, {}, ["reno"], backend).settings


def test_the_labs_hosts_have_the_ecn_of_the_flows_which_must_agree():
    assert [dict(_settings("lab", ecn)) for ecn in (False, True, "classic", "accurate")] == [
        {},
        {"tcp_ecn": "1"},
        {"tcp_ecn": "1"},
        {"tcp_ecn": "3"},
    ]
    for flows in ((True, False), ({"sender": "accurate", "receiver": "classic"},)):
        with pytest.raises(InputError, match="ecn: must be the same for all flows and both ends"):
            _settings("lab", *flows)
    with pytest.raises(InputError, match="this backend uses the host's setting"):
        _settings("kernel", True)
