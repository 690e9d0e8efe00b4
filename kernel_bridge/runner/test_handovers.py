from leogym.kernel_bridge.runner.handovers import expected_ns, reports_ns
from leogym.kernel_bridge.runner.plan import plan
from tests.support.scenarios import one_link, path_trace

MS = 1_000_000


def _expected_s(handovers_s, offset_s, duration_s):
    handovers = [{"time_s": time_s, "predicted_s": time_s} for time_s in handovers_s]
    csv = path_trace("0,10,12,12,0,1,0,", "20,10,12,12,0,1,0,", handovers=handovers).encode()
    scenario = one_link(duration_s, {"trace": "t", "offset_s": offset_s}, "satcp")
    planned = plan(scenario, {"t": csv}, ["satcp"], "kernel")
    return [time_ns / 1e9 for time_ns in expected_ns(planned.chain[0], planned.duration_ns)]


def test_handovers_are_expected_from_the_offset_on_and_again_in_every_period():
    assert _expected_s([3, 11.5], 0, 20) == [3, 11.5]
    assert _expected_s([3, 11.5], 5, 34) == [6.5, 18, 26.5]
    assert _expected_s([3, 11.5], 45, 10) == [6.5]
    assert _expected_s([], 0, 20) == []


def test_a_report_comes_an_error_early_and_holds_for_one_and_a_half_seconds():
    # Predictions err by up to 0.6 s (section V-B); "2 T_err + TCP_RTO_MIN + 0.1 s" (section V-C).
    assert reports_ns([10_000 * MS]) == [(9_400 * MS, 10_900 * MS)]


def test_reports_that_overlap_are_one_and_none_begins_before_the_run():
    expected = [ms * MS for ms in (30_000, 200, 10_000, 10_500)]
    # As in the simulator's SaTCP, core/cc/src/schemes/satcp/inhibition.rs.
    assert reports_ns(expected) == [
        (0, 1_500 * MS),
        (9_400 * MS, 11_400 * MS),
        (29_400 * MS, 30_900 * MS),
    ]
