"""Real flows that leo-bridge serves: SaTCP and policies beside the kernel's schemes, and killed processes."""

import json
import os
import signal
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.host import schemes
from leogym.kernel_bridge.runner.leo_links import LeoLinks
from leogym.kernel_bridge.runner.plan import plan
from leogym.kernel_bridge.runner.run import Run, check
from leogym.kernel_bridge.runner.served_flows import expected_handovers_ns, handover_reports_ns
from tests.support.bridge_world import POLICY
from tests.support.real_time import on_a_quiet_machine, registered_schemes, skip_if_invalid
from tests.support.scenarios import one_link, path_trace

pytestmark = pytest.mark.real_time

LACK = LeoLinks().missing() or bridge_process.missing()
needs_bridge = pytest.mark.skipif(LACK is not None, reason=LACK or "")
TRACE = path_trace("0,10,24,24,0,1,0,", "60,10,24,24,0,1,0,", handovers=[{"predicted_s": 1.0}])
LINK = {"rate_mbps": 12, "delay_ms": 5}


def _planned(duration_s, link, *schemes, policies=()):
    return check(one_link(duration_s, link, *schemes), {"t": TRACE.encode()}, LeoLinks(), policies)


@needs_bridge
def test_satcp_vivace_and_a_policy_share_a_link_with_cubic_and_leave_no_scheme_behind():
    planned = _planned(5, {"trace": "t"}, "satcp", "mine", "cubic", "vivace", policies=["mine"])
    with on_a_quiet_machine(), Run(planned, LeoLinks(), {"mine": POLICY}) as run:
        run.begin()
        assert len(registered_schemes()) == 3
        assert not set(registered_schemes()) & set(schemes.available()), "they are this run's own"
        log = run.finish()
        reported = run.served.reported_handovers
    assert not registered_schemes()
    assert reported == 1, "the path announced one handover"
    skip_if_invalid(log.invalid)
    assert [flow["scheme"] for flow in log.flows] == ["satcp", "mine", "cubic", "vivace"]
    assert all(flow["goodput_mbps"] > 0.3 for flow in log.flows), log.flows
    assert 0.75 < sum(flow["normalized_goodput"] for flow in log.flows) <= 1


@needs_bridge
def test_a_run_whose_bridge_was_killed_ends_with_a_clear_error_and_its_flows_kept_moving():
    planned = _planned(10, LINK, "mine", policies=["mine"])
    with on_a_quiet_machine(), Run(planned, LeoLinks(), {"mine": POLICY}) as run:
        run.begin()
        os.kill(run.served.client().status()["pid"], signal.SIGKILL)
        with pytest.raises(RuntimeError, match="leo-bridge: ended before the run, or was killed"):
            run.finish()
    assert not registered_schemes()


@needs_bridge
@pytest.mark.parametrize(
    ("scheme", "policies", "rule"),
    [
        ("agent", [], r"flows.0.scheme: agent: not a scheme that this kernel runs .*satcp"),
        ("vegas", ["mine"], r"flows.0.scheme: vegas: .*reno, udp, gcc, copa, satcp, .*mine"),
    ],
)
def test_what_nobody_serves_is_refused_with_what_there_is(scheme, policies, rule):
    with pytest.raises(InputError, match=rule) as caught:
        _planned(1, LINK, scheme, policies=policies)
    assert "\n" not in str(caught.value)


@needs_bridge
def test_a_broken_policy_is_one_line_and_nothing_was_started(tmp_path):
    (tmp_path / "policy.json").write_text(json.dumps({"format": "wrong"}))
    (tmp_path / "policy.onnx").write_bytes(b"")
    planned = _planned(1, LINK, "p", policies=["p"])
    with (
        pytest.raises(InputError, match=r"policy\.json") as caught,
        Run(planned, LeoLinks(), {"p": tmp_path}),
    ):
        pass
    assert "\n" not in str(caught.value)
    assert not registered_schemes()
    assert not list(Path("/tmp").glob(f"leogym-run-kernel-{os.getpid()}-*"))


MS = 1_000_000


def _expected_s(handovers_s, offset_s, duration_s):
    handovers = [{"time_s": time_s, "predicted_s": time_s} for time_s in handovers_s]
    csv = path_trace("0,10,12,12,0,1,0,", "20,10,12,12,0,1,0,", handovers=handovers).encode()
    scenario = one_link(duration_s, {"trace": "t", "offset_s": offset_s}, "satcp")
    planned = plan(scenario, {"t": csv}, ["satcp"], "kernel")
    return [time_ns / 1e9 for time_ns in expected_handovers_ns(planned.chain[0], planned.duration_ns)]


def test_handovers_are_expected_from_the_offset_on_and_again_in_every_period():
    assert _expected_s([3, 11.5], 0, 20) == [3, 11.5]
    assert _expected_s([3, 11.5], 5, 34) == [6.5, 18, 26.5]
    assert _expected_s([3, 11.5], 45, 10) == [6.5]
    assert _expected_s([], 0, 20) == []


def test_a_report_comes_an_error_early_and_holds_for_one_and_a_half_seconds():
    # Predictions err by up to 0.6 s (section V-B); "2 T_err + TCP_RTO_MIN + 0.1 s" (section V-C).
    assert handover_reports_ns([10_000 * MS]) == [(9_400 * MS, 10_900 * MS)]


def test_reports_that_overlap_are_one_and_none_begins_before_the_run():
    expected = [ms * MS for ms in (30_000, 200, 10_000, 10_500)]
    # As in the simulator's SaTCP, core/cc/src/schemes/satcp/inhibition.rs.
    assert handover_reports_ns(expected) == [
        (0, 1_500 * MS),
        (9_400 * MS, 11_400 * MS),
        (29_400 * MS, 30_900 * MS),
    ]
