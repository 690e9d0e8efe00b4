"""Flows that leo-bridge serves in the guest: SaTCP, Vivace and a policy, next to the kernel's schemes."""

import json
import re
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.evaluation.runs.backends import Inputs, Lab
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.lab import image, links, served_in_guest, virtual_run
from tests.support.bridge_world import POLICY
from tests.support.scenarios import one_link, path_trace

TRACE = path_trace("0,10,12,12,0,1,0,", "60,10,12,12,0,1,0,", handovers=[{"predicted_s": 0.5}])
LINK = {"rate_mbps": 10, "delay_ms": 5}


def _lack():
    lack = links.missing()
    return served_in_guest.missing(image.latest()) if lack is None else lack


LACK = _lack()
needs_bridge = pytest.mark.skipif(LACK is not None, reason=LACK or "")


def _policy():
    return {path.name: path.read_bytes() for path in POLICY.iterdir()}


@needs_bridge
def test_satcp_vivace_and_a_policy_share_a_link_with_cubic_and_one_seed_gives_the_same_bytes(monkeypatch):
    results = []
    fault = served_in_guest.ServedInGuest.fault
    monkeypatch.setattr(
        served_in_guest.ServedInGuest,
        "fault",
        lambda self, result: results.append(result) or fault(self, result),
    )
    scenario = one_link(2, {"trace": "t"}, "satcp", "mine", "cubic", "vivace")
    first, again = (
        virtual_run.execute(scenario, {"t": TRACE.encode()}, policies={"mine": _policy()}) for _ in range(2)
    )
    assert first.invalid is None
    assert results[0]["reported"] == 1, "the path announced one handover"
    # Two seconds cover only the flows' start, where the policy takes most: check that each flow moves.
    assert all(flow["goodput_mbps"] > 0.05 for flow in first.flows), first.flows
    assert 0.5 < sum(flow["normalized_goodput"] for flow in first.flows) <= 1
    assert json.dumps(first.flows) == json.dumps(again.flows)


@needs_bridge
def test_a_broken_policy_is_one_line_from_the_guest():
    broken = _policy() | {"policy.json": b"{}"}
    backend = Lab(Inputs({}, {"mine": broken}))
    scenario = one_link(1, LINK, "mine")
    invalid = backend.run(scenario.to_json(), 30.0).invalid
    assert re.match(r"lab: .*policy\.json", invalid or "")
    assert "\n" not in str(invalid)


def _fake(monkeypatch, **manifest):
    built = image.Image(Path("kernel"), Path("initramfs"), {"kernel": "6.1", "files": {}} | manifest)
    monkeypatch.setattr(links, "missing", lambda: None)
    monkeypatch.setattr(image, "latest", lambda: built)


@pytest.mark.parametrize(
    ("manifest", "rule"),
    [
        ({"files": {}, "btf": True}, r"satcp: lab: the image has no leo-bridge: pip install"),
        (
            {"files": {"bin/leo-bridge": 1}, "btf": False},
            r"satcp: lab: Linux 6\.1 has no type information \(BTF\)",
        ),
    ],
)
def test_a_guest_that_cannot_serve_is_one_line_and_runs_the_kernels_own_schemes(monkeypatch, manifest, rule):
    _fake(monkeypatch, **manifest)
    with pytest.raises(InputError, match=rule) as caught:
        virtual_run.check(one_link(1, LINK, "cubic", "satcp"), {})
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=rule.replace("satcp", "mine", 1)):
        virtual_run.check(one_link(1, LINK, "mine"), {}, {"mine"})
    assert virtual_run.check(one_link(1, LINK, "cubic"), {}).flows[0].scheme == "cubic"


def test_a_kernels_type_information_is_a_section_of_its_file():
    assert image.has_types(b"\x7fELF...\0.symtab\0.BTF\0.BTF_ids\0")
    assert not image.has_types(b"\x7fELF...\0.symtab\0.BTF_ids\0")


def test_satcp_is_not_run_beside_cubic_without_hystart(monkeypatch):
    _fake(monkeypatch)
    with pytest.raises(InputError, match="satcp and cubic-nohystart differ in a setting"):
        virtual_run.check(one_link(1, LINK, "satcp", "cubic-nohystart"), {})


def test_cubics_of_different_parameters_are_not_run_at_once(monkeypatch):
    _fake(monkeypatch, files={"bin/leo-bridge": 1}, btf=True)
    with pytest.raises(InputError, match="cubic-hystart-delay and cubic-hystart-train differ in a setting"):
        virtual_run.check(one_link(1, LINK, "cubic-hystart-train", "cubic-hystart-delay"), {})
    for fine in (["cubic-hystart-train", "reno"], ["cubic", "satcp"], ["satcp"]):
        assert virtual_run.check(one_link(1, LINK, *fine), {}).flows[0].scheme == fine[0]


def test_decisions_that_came_too_late_and_late_reports_are_why_a_run_does_not_count(monkeypatch):
    _fake(monkeypatch, files={"bin/leo-bridge": 1}, btf=True)
    planned = virtual_run.check(one_link(1, LINK, "satcp", "mine"), {}, {"mine"})
    bridge = served_in_guest.ServedInGuest(planned, {"mine": _policy()}, "/lab")
    assert set(bridge.described(5000)["reports"]) == {"5000"}
    names = [bridge.scheme(scheme, "send") for scheme in ("satcp", "mine")]
    fine = [{"scheme": name, "too_late": None, "fallbacks": 0} for name in names]
    assert bridge.fault({"schemes": fine, "fault": None}) is None
    assert bridge.fault({"schemes": fine, "fault": "satcp: late"}) == "satcp: late"
    late = [fine[0], fine[1] | {"too_late": "3 missed"}]
    assert bridge.fault({"schemes": late, "fault": None}) == "leo-bridge: mine: 3 missed"
    assert bridge.scheme("cubic", "send") is None
    assert bridge.scheme("mine", "receive") == "reno"


def test_the_flows_that_a_policy_gave_to_cubic_are_counted_by_their_ports(monkeypatch):
    _fake(monkeypatch, files={"bin/leo-bridge": 1}, btf=True)
    scenario = one_link(1, LINK, "mine", "cubic", "mine", "plain")
    planned = virtual_run.check(scenario, {}, {"mine", "plain"})
    bridge = served_in_guest.ServedInGuest(planned, {"mine": _policy(), "plain": _policy()}, "/lab")
    fallbacks = [("10.0.0.2:5002", 3), ("10.0.0.2:15000", 9)]
    statuses = [
        {"scheme": bridge.scheme("mine", "send"), "guarded": True, "given_to_cubic": fallbacks},
        {"scheme": bridge.scheme("plain", "send"), "guarded": False, "given_to_cubic": []},
    ]
    assert bridge.fallbacks({"schemes": statuses, "reported": 0, "fault": None}, 5000) == {0: 0, 2: 3}
    assert bridge.fallbacks(None, 5000) == {}


def test_the_schemes_of_the_guest_are_the_kernels_and_the_bridges():
    assert set(Lab.schemes()) >= {"cubic", "yeah", "udp", *bridge_process.SCHEMES}
