import math
import sys
from dataclasses import replace

import leosim
import pytest
from rich.console import Console

from leogym.common.errors import InputError
from leogym.configs import suite
from leogym.configs.scenario import parse
from leogym.evaluation.fidelity import bounds, golden, shares, summary
from leogym.evaluation.fidelity.__main__ import table
from leogym.evaluation.fidelity.against_kernel import Comparison, compare, redrawn
from leogym.evaluation.fidelity.golden import FlowFigures, Golden, GoldenRun

SINGLES = {name: golden.read(golden.FOLDER / f"{name}.json").runs for name in summary.SINGLES}


def _figures(**changed):
    figures = {
        "scheme": "cubic",
        "goodput_mbps": 9.0,
        "rtt_mean_ms": 60.0,
        "rtt_p95_ms": 80.0,
        "base_rtt_mean_ms": 50.0,
        "retransmit_rate": 0.01,
        "startup_s": 0.5,
        "cwnd_packets": [10, 20, 40],
    }
    return FlowFigures(**figures | changed)


def _run(*flows):
    scenario = {
        "name": "s",
        "duration_s": 2,
        "links": {"l": {"rate_mbps": 10, "delay_ms": 25}},
        "flows": [{"scheme": "cubic", "route": ["l"]}],
    }
    return GoldenRun("suite", "cubic", parse(scenario, "s"), list(flows))


def _lot(scheme):
    """Return a scenario whose first flow crosses the links of the other two."""
    data = {
        "name": "lot",
        "duration_s": 2,
        "links": {name: {"rate_mbps": 10, "delay_ms": 5} for name in "ab"},
        "flows": [{"scheme": scheme, "route": route} for route in (["a", "b"], ["a"], ["b"])],
    }
    return parse(data, "lot")


def test_errors_are_relative_to_the_kernel():
    ours = _figures(
        goodput_mbps=9.9, rtt_mean_ms=57.0, retransmit_rate=0.015, startup_s=0.7, cwnd_packets=[10, 10]
    )
    one = Comparison(_run(_figures()), [ours])
    assert one.goodput == pytest.approx(0.1)
    assert one.rtt_mean == pytest.approx(-0.05)
    assert one.rtt_p95 == 0
    assert one.retransmit == pytest.approx(0.005)
    assert one.startup_s == pytest.approx(0.2)
    assert one.cwnd == pytest.approx(0.25)
    never = Comparison(_run(_figures(startup_s=None)), [ours])
    assert math.isinf(never.startup_s)
    found = summary.summary("cubic", [one, one, never])
    assert (found.runs, found.goodput_median, found.startup_median_s) == (
        3,
        pytest.approx(0.1),
        pytest.approx(0.2),
    )


def test_a_golden_file_is_read_as_it_was_written(tmp_path):
    written = Golden({"kernel": "6.1"}, [_run(_figures(), _figures(rtt_mean_ms=None))])
    golden.write(tmp_path / "g.json", written)
    assert golden.read(tmp_path / "g.json") == written
    (tmp_path / "g.json").write_text('{"format": "other"}')
    with pytest.raises(InputError, match="format, version"):
        golden.read(tmp_path / "g.json")


def test_a_run_compared_with_itself_has_no_error():
    first = compare([_run(_figures())])[0]
    again = compare([GoldenRun("suite", "cubic", first.run.scenario, first.simulated)])[0]
    assert (again.goodput, again.rtt_mean, again.cwnd) == (0, 0, 0)
    assert first.simulated[0].startup_s < 1


def _kept(suite):
    return compare(golden.read(golden.FOLDER / f"{suite}.json").runs)


@pytest.mark.parametrize("scheme", sorted({run.scheme for runs in SINGLES.values() for run in runs}))
def test_a_schemes_figures_are_those_of_the_kernel(scheme):
    [found] = summary.fidelity([scheme])
    assert found.runs == (16 if scheme in leosim.stack_schemes() else 24)
    assert bounds.misses(found) <= bounds.known(scheme), found


def test_bbr3_is_compared_on_the_paths_of_the_schemes_of_stock_kernels():
    stock, bbr3 = (suite.load(name) for name in ("fidelity", "fidelity-bbr3"))
    assert (bbr3.spread, bbr3.parameters, bbr3.scenario) == (stock.spread, stock.parameters, stock.scenario)


def test_users_of_workloads_feel_in_the_simulator_what_they_feel_on_the_kernel():
    compared = _kept("fidelity-workloads")
    runs = [comparison.run for comparison in compared]
    flows = {(run.scheme, run.scenario.name): run.scenario.flows for run in runs}
    figures = shares.workloads(compared)
    assert len(figures) == 2 * 2 * (4 + 2 + 4), "videos, pages and calls of two schemes on two paths"
    for felt in figures:
        means = felt.means
        assert means.runs == 8
        if felt.column == "freeze_s":
            assert means.simulator == pytest.approx(means.kernel, abs=bounds.FREEZE_S), felt
            continue
        page = flows[means.scheme, means.scenario][felt.flow].workload.page
        is_http1 = page is not None and page.http == "http1"
        bound = bounds.SIX_CONNECTIONS if is_http1 else bounds.FELT[felt.column]
        assert means.simulator == pytest.approx(means.kernel, rel=bound), felt


def test_over_leo_paths_windows_start_ups_and_tails_are_those_of_the_kernel():
    # The same bounds for each run.
    for one in _kept("fidelity-leo"):
        assert abs(one.goodput) <= bounds.BOUNDS["goodput_median"], one.run
        assert abs(one.rtt_mean) <= bounds.BOUNDS["rtt_median"], one.run
        assert abs(one.retransmit) <= bounds.BOUNDS["retransmit_median"], one.run
        # A start-up ends at a row of the series, every 0.1 s, but starts some milliseconds after one.
        assert round(abs(one.startup_s), 1) <= bounds.BOUNDS["startup_median_s"], one.run
        assert one.cwnd <= bounds.BOUNDS["cwnd_median"], one.run
        assert abs(one.rtt_p95) <= bounds.BOUNDS["rtt_p95_median"], one.run


def test_two_flows_share_as_on_the_kernel():
    for one in shares.sharing(_kept("fidelity-pair")):
        assert one.runs >= 20
        assert abs(one.simulator - one.kernel) <= bounds.SHARE, one


def test_ten_bbr_flows_share_as_on_the_kernel():
    found = shares.crowds(_kept("fidelity-many"))
    assert [one.flows for one in found] == [10, 10]
    for one in found:
        if "1.0bdp" not in one.scenario or bounds.CROWDS not in bounds.known(one.scheme):
            assert abs(one.simulator - one.kernel) <= bounds.SHARE, one


def test_a_flow_that_only_one_of_both_starts_up_is_a_miss():
    [run] = golden.read(golden.FOLDER / "fidelity.json").runs[:1]
    flow = replace(run.flows[0], startup_s=1.0)
    started, not_started = [replace(flow, startup_s=value) for value in (1.0, None)]

    def startup_misses(ours, theirs):
        compared = Comparison(replace(run, flows=[theirs]), [ours], 0)
        return "startup_median_s" in bounds.misses(summary.summary("reno", [compared] * 3))

    assert startup_misses(not_started, started)
    assert startup_misses(started, not_started)
    assert not startup_misses(started, started)
    assert not startup_misses(not_started, not_started)


def test_over_three_bottlenecks_a_flow_gets_what_it_gets_on_the_kernel():
    runs = golden.read(golden.FOLDER / "fidelity-lot.json").runs
    found = shares.crossings(compare(redrawn(runs, bounds.DRAWS)))
    assert {one.scheme for one in found} == {"bbr", "cubic", "reno"}
    assert all(one.runs >= 15 * bounds.DRAWS for one in found)
    for one in found:
        if bounds.RATIOS not in bounds.known(one.scheme):
            assert abs(one.error) <= bounds.RATIO, one


def test_queueing_disciplines_hold_the_kernels_delay():
    found = [queue.delay_ms for queue in shares.queueing(_kept("fidelity-aqm"))]
    assert len(found) >= 12
    for one in found:
        assert one.runs >= 4
        assert abs(one.error) <= bounds.QUEUEING, one


def test_head_drop_holds_the_kernels_delay():
    found = [queue.delay_ms for queue in shares.queueing(_kept("fidelity-head-drop"))]
    assert len(found) == 6
    for one in found:
        assert one.runs >= 4
        assert abs(one.error) <= bounds.STRICT_QUEUEING, one


def test_dualpi2_holds_the_kernels_delay_and_marks_as_much():
    runs = golden.read(golden.FOLDER / "fidelity-dualpi2.json").runs
    found = shares.queueing(compare(redrawn(runs, bounds.STRICT_DRAWS)))
    assert len(found) == 6
    for queue in found:
        delay, marked = queue.delay_ms, queue.marked
        assert delay.runs >= 4 * bounds.STRICT_DRAWS
        assert abs(delay.error) <= bounds.STRICT_QUEUEING, queue
        low = delay.scenario.endswith("low")
        assert abs(marked.error) <= (bounds.STRICT_QUEUEING if low else bounds.CLASSIC_MARKS), queue
        assert (marked.kernel > 0) == (not delay.scenario.endswith("drops"))


@pytest.mark.parametrize(
    ("figure", "value"),
    [
        ("goodput_median", 0.5),
        ("retransmit_median", 0.05),
        ("rtt_p95_median", 0.05),
        ("startup_median_s", 0.2),
        ("cwnd_median", 0.1),
    ],
)
def test_a_starved_flow_or_one_lost_packet_of_twenty_is_beyond_the_bounds(figure, value):
    good = summary.Fidelity("reno", 24, 0.01, 0.05, 0.01, 0.05, 0.01, 0.0, 0.0, 0.01)
    assert bounds.misses(good) == set()
    assert bounds.misses(replace(good, **{figure: value})) == {figure}


def test_a_flow_over_several_bottlenecks_is_compared_by_its_ratio_to_the_others():
    lot = _lot("reno")
    kernel = [_figures(goodput_mbps=value) for value in (1.0, 8.0, 8.0)]
    starved = [_figures(goodput_mbps=value) for value in (0.5, 8.5, 8.5)]
    [one] = shares.crossings(
        [
            Comparison(GoldenRun("lot", "reno", lot, kernel), starved),
            Comparison(_run(_figures(), _figures()), [_figures(), _figures()]),
        ]
    )
    assert (one.scheme, one.runs, one.kernel) == ("reno", 1, 0.125)
    # An error of 4 points, within a bound of 5 points, is half of the flow's share.
    assert one.error == pytest.approx(-0.529, abs=1e-3)


def test_what_the_command_prints_is_what_the_tests_demand(capsys):
    made = Console(file=sys.stdout, width=200)
    found = summary.fidelity(["reno", "cdg"])
    made.print(table(found))
    printed = capsys.readouterr().out
    for name in ("reno", "cdg"):
        [line] = [line for line in printed.splitlines() if line.startswith(name)]
        [one] = [one for one in found if one.scheme == name]
        assert line.count("*") == len(bounds.misses(one))


def test_queueing_is_the_mean_over_runs_of_one_scenario_and_scheme():
    runs = [
        Comparison(_run(_figures(rtt_mean_ms=kernel)), [_figures(rtt_mean_ms=56.0)])
        for kernel in (58.0, 62.0)
    ]
    [queue] = shares.queueing([*runs, Comparison(_run(_figures(rtt_mean_ms=None)), [_figures()])])
    one = queue.delay_ms
    assert (one.runs, one.simulator, one.kernel) == (2, 6.0, 10.0)
    assert one.error == pytest.approx(-0.4)


def test_the_golden_files_are_of_the_suites_as_they_are_now():
    for one in golden.shipped():
        for name in {run.suite for run in one.runs}:
            loaded = suite.load(name)
            known = {
                (scheme, case.scenario.name): case.scenario
                for scheme in loaded.schemes
                for case in loaded.cases(scheme)
            }
            for run in one.runs:
                now = known[run.scheme, run.scenario.name]
                links = {
                    key: link.model_copy(update={"offset_s": run.scenario.links[key].offset_s})
                    for key, link in now.links.items()
                }
                assert now.model_copy(update={"seed": run.scenario.seed, "links": links}) == run.scenario


def test_the_ratio_of_two_flows_is_a_mean_over_seeds():
    even, uneven = _figures(goodput_mbps=4.0), _figures(goodput_mbps=8.0)
    compared = [
        Comparison(_run(even, uneven), [even, even]),
        Comparison(_run(uneven, uneven), [uneven, even]),
    ]
    assert shares.sharing(compared) == [shares.Means("cubic", "", 2, 2, 0.75, 0.75)]


def test_jains_index_of_many_flows_is_a_mean_over_seeds_of_those_on_one_route():
    even, most = _figures(goodput_mbps=3.0), _figures(goodput_mbps=9.0)
    three = [even] * 3
    compared = [
        Comparison(_run(*three), three),
        Comparison(_run(*three), [most, even, even]),
        Comparison(_run(even, even), [even, even]),
    ]
    compared.append(Comparison(GoldenRun("lot", "cubic", _lot("cubic"), three), three))
    # (9 + 3 + 3)^2 / (3 (81 + 9 + 9)) = 0.757...
    [found] = shares.crowds(compared)
    assert (found.scheme, found.flows, found.runs, found.kernel) == ("cubic", 3, 2, 1.0)
    assert found.simulator == pytest.approx((1 + 225 / 297) / 2)
