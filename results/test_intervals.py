import math

import numpy as np
import polars as pl
import pytest

from leogym.results.intervals import SUMMARY_COLUMNS, interval, median_interval, summarize


def rows(**columns: list[object]) -> pl.DataFrame:
    n = len(next(iter(columns.values())))
    default: dict[str, list[object]] = {
        "suite": ["s"] * n,
        "scenario": ["path"] * n,
        "scheme": ["cubic"] * n,
        "run_scheme": ["cubic"] * n,
        "backend": ["simulator"] * n,
        "repeat": list(range(n)),
        "run_id": [f"r{i}" for i in range(n)],
        "offset_s": [0.0] * n,
    }
    return pl.DataFrame({**default, **columns})


def test_one_value_has_a_mean_and_no_interval():
    result = interval([3.0], seed=1)
    assert (result.mean, result.n) == (3.0, 1)
    assert math.isnan(result.low)
    assert math.isnan(result.high)


def test_equal_values_have_an_interval_of_no_width():
    result = interval([0.25] * 5, seed=1)
    assert (result.mean, result.low, result.high, result.n) == (0.25, 0.25, 0.25, 5)


def test_two_values_have_an_interval_within_them():
    result = interval([1.0, 2.0], seed=1)
    assert 1.0 <= result.low <= result.mean == 1.5 <= result.high <= 2.0


def test_the_same_values_and_seed_give_the_same_interval():
    values = [1.0, 4.0, 2.0, 8.0, 5.0]
    assert interval(values, seed=3) == interval(values, seed=3)


def test_a_median_s_interval_does_not_reach_one_value_far_off():
    values = [*np.linspace(1.0, 2.0, 14), 100.0]
    result = median_interval(values, seed=1)
    assert result.mean == np.median(values)
    assert 1.0 <= result.low < result.mean < result.high <= 2.0
    assert math.isnan(median_interval([3.0], seed=1).low)


def test_the_interval_covers_the_true_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    results = [interval(list(rng.normal(10.0, 2.0, 25)), seed=trial) for trial in range(100)]
    covered = sum(result.low <= 10.0 <= result.high for result in results)
    assert 86 <= covered <= 99


def test_the_summary_has_the_columns_of_the_contract():
    table = summarize(rows(power=[0.5, 0.7]))
    assert tuple(table.columns) == SUMMARY_COLUMNS
    assert table.row(0)[:6] == ("s", "path", "cubic", "simulator", "power", pytest.approx(0.6))
    assert table["n"].to_list() == [2]


def test_flows_are_averaged_within_their_run_before_runs_are_counted():
    table = summarize(rows(power=[0.2, 0.4, 0.9], run_id=["a", "a", "b"], repeat=[0, 0, 1]))
    assert table["n"].to_list() == [2]
    assert table["mean"].to_list() == [pytest.approx((0.3 + 0.9) / 2)]


def test_background_flows_are_no_part_of_the_scheme_under_test():
    table = summarize(
        rows(power=[0.2, 0.8], scheme=["reno", "cubic"], run_scheme=["reno", "reno"], run_id=["a", "a"])
    )
    assert table.select("scheme", "mean").rows() == [("reno", 0.2)]


def test_every_scheme_of_a_written_mix_is_summarized():
    mix = ["cubic+reno"] * 2
    table = summarize(rows(power=[0.2, 0.8], scheme=["reno", "cubic"], run_scheme=mix, run_id=["a", "a"]))
    assert dict(table.select("scheme", "mean").rows()) == {"reno": 0.2, "cubic": 0.8}


def test_metrics_that_no_run_defines_are_left_out_and_single_runs_have_empty_intervals():
    table = summarize(rows(power=[0.5], jain=[None]))
    assert table["metric"].to_list() == ["power"]
    assert table.select("ci_low", "ci_high").rows() == [(None, None)]
    assert table.write_csv().splitlines()[1] == "s,path,cubic,simulator,power,0.5,,,1"


def test_a_call_counts_for_the_scheme_beside_it_and_only_with_the_metrics_of_calls():
    runs = rows(
        scheme=["cubic", "gcc"],
        run_id=["r", "r"],
        repeat=[0, 0],
        workload=[None, "call"],
        goodput_mbps=[18.0, 1.0],
        delay_p95_ms=[None, 70.0],
    )
    summary = summarize(runs)
    assert set(summary["scheme"]) == {"cubic"}
    means = dict(zip(summary["metric"], summary["mean"], strict=True))
    assert means == {"goodput_mbps": 18.0, "delay_p95_ms": 70.0}
