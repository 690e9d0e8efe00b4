"""The simulator beside what a real kernel did."""

import math

import pytest

from configs import suite
from configs.errors import InputError
from configs.scenario import parse
from evaluation import fidelity, golden
from evaluation.fidelity import Comparison
from evaluation.golden import FlowFigures, Golden, GoldenRun

SINGLES = golden.FOLDER / f"{fidelity.SINGLE}.json"


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
    assert math.isnan(never.startup_s)
    found = fidelity.summary("cubic", [one, one, never])
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
    first = fidelity.compare([_run(_figures())])[0]
    again = fidelity.compare([GoldenRun("suite", "cubic", first.run.scenario, first.simulated)])[0]
    assert (again.goodput, again.rtt_mean, again.cwnd) == (0, 0, 0)
    assert first.simulated[0].startup_s < 1


GOODPUT, RTT, P90 = 0.02, 0.04, 0.1
"""Bounds of the medians over paths, and of both 90th percentiles."""
FARTHER = {
    # scheme: bounds of the medians of goodput and mean RTT, and of their 90th percentiles; and why
    "cdg": (
        (0.15, RTT, 0.7, P90),
        "on the kernel work on a burst lets a round's least RTT creep up by microseconds; that gradient is "
        "positive, so the larger one of the greatest RTT, which makes it back off here, is not looked at",
    ),
    "hybla": (
        (GOODPUT, RTT, 0.15, 0.25),
        "it grows by acknowledgements, not by packets, and over 300 ms its window is beyond any buffer: how "
        "many acknowledgements a repair of thousands takes decides",
    ),
    "vegas": (
        (GOODPUT, RTT, P90, 0.2),
        "from 400 packets on a queue of one, at which slow start ends, is less than the microseconds that "
        "a burst keeps the kernel busy: it ends sooner there, with a longer queue",
    ),
}
"""The schemes that are farther from the kernel than the rest: they must not drift away either."""


def _kept(suite):
    return fidelity.compare(golden.read(golden.FOLDER / f"{suite}.json").runs)


@pytest.mark.parametrize("scheme", sorted({run.scheme for run in golden.read(SINGLES).runs}))
def test_a_schemes_goodput_and_delay_are_those_of_the_kernel(scheme):
    [found] = fidelity.fidelity([scheme])
    (goodput, rtt, goodput_p90, rtt_p90), why = FARTHER.get(scheme, ((GOODPUT, RTT, P90, P90), ""))
    assert found.runs == 24
    assert found.goodput_median <= goodput, why
    assert found.rtt_median <= rtt, why
    assert found.goodput_p90 <= goodput_p90, why
    assert found.rtt_p90 <= rtt_p90, why
    assert found.retransmit_median <= 0.05


def test_two_flows_share_as_on_the_kernel():
    for one in fidelity.sharing(_kept("fidelity-pair")):
        assert one.runs >= 20
        assert abs(one.simulator - one.kernel) <= 0.08, one


def test_ten_bbr_flows_share_as_on_the_kernel_where_the_buffer_is_deep():
    shallow, deep = sorted(fidelity.crowds(_kept("fidelity-many")), key=lambda one: one.kernel)
    assert (deep.flows, deep.scenario) == (10, "100mbps-20ms-4.0bdp-10flows")
    assert min(deep.simulator, deep.kernel) >= 0.9
    assert abs(deep.simulator - deep.kernel) <= 0.08
    # With 1 BDP the kernel's are uneven, too, and the simulator's more so: those that a full queue strikes in
    # their first second stay small, on either side.
    assert shallow.kernel <= 0.8
    assert abs(shallow.simulator - shallow.kernel) <= 0.2


def test_over_three_bottlenecks_a_flow_gets_what_it_gets_on_the_kernel():
    for one in _kept("fidelity-lot"):
        shares = [
            flows[0].goodput_mbps / sum(flow.goodput_mbps for flow in flows)
            for flows in (one.simulated, one.run.flows)
        ]
        assert shares[0] == pytest.approx(shares[1], abs=0.05), one.run.scheme


def test_queueing_disciplines_hold_the_kernels_delay():
    found = fidelity.queueing(_kept("fidelity-aqm"))
    assert len(found) >= 12
    for one in found:
        assert one.runs >= 4
        assert abs(one.error) <= 0.2, one


def test_queueing_is_the_mean_over_runs_of_one_scenario_and_scheme():
    runs = [
        Comparison(_run(_figures(rtt_mean_ms=kernel)), [_figures(rtt_mean_ms=56.0)])
        for kernel in (58.0, 62.0)
    ]
    [one] = fidelity.queueing([*runs, Comparison(_run(_figures(rtt_mean_ms=None)), [_figures()])])
    assert (one.runs, one.simulator_ms, one.kernel_ms) == (2, 6.0, 10.0)
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
    assert fidelity.sharing(compared) == [fidelity.Sharing("cubic", 2, 0.75, 0.75)]


def test_jains_index_of_many_flows_is_a_mean_over_seeds_of_those_on_one_route():
    even, most = _figures(goodput_mbps=3.0), _figures(goodput_mbps=9.0)
    three = [even] * 3
    compared = [
        Comparison(_run(*three), three),
        Comparison(_run(*three), [most, even, even]),
        Comparison(_run(even, even), [even, even]),
    ]
    lot = parse(
        {
            "name": "lot",
            "duration_s": 2,
            "links": {name: {"rate_mbps": 10, "delay_ms": 5} for name in "ab"},
            "flows": [{"scheme": "cubic", "route": route} for route in (["a", "b"], ["a"], ["b"])],
        },
        "lot",
    )
    compared.append(Comparison(GoldenRun("lot", "cubic", lot, three), three))
    # (9 + 3 + 3)^2 / (3 (81 + 9 + 9)) = 0.757...
    [found] = fidelity.crowds(compared)
    assert (found.scheme, found.flows, found.runs, found.kernel) == ("cubic", 3, 2, 1.0)
    assert found.simulator == pytest.approx((1 + 225 / 297) / 2)
