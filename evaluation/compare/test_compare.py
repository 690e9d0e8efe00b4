"""Tests of comparisons against formulas written out here."""

import io
import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from leogym.common.errors import InputError
from leogym.evaluation import cli
from leogym.evaluation.compare.changes import changes
from leogym.evaluation.compare.effects import Effect, effects
from leogym.evaluation.compare.formats import markdown, text
from leogym.evaluation.recorded.description import encode
from tests.support.sample_results import sample_results


def rows(values: list[float], *, scheme: str = "cubic", seed: int = 0, **others: list[float]) -> pl.DataFrame:
    n = len(values)
    return pl.DataFrame(
        {
            "suite": ["s"] * n,
            "scenario": ["path"] * n,
            "scheme": [scheme] * n,
            "run_scheme": [scheme] * n,
            "backend": ["simulator"] * n,
            "run_id": [f"r{i}" for i in range(n)],
            "repeat": list(range(n)),
            "seed": [seed + i for i in range(n)],
            "offset_s": [0.0] * n,
            "goodput_mbps": values,
            **others,
        }
    )


def one(a: pl.DataFrame, b: pl.DataFrame) -> Effect:
    [found] = effects(a, b)
    return found


def test_runs_of_equal_seeds_are_compared_in_pairs_by_students_t():
    a, b = np.array([10.0, 20.0, 30.0, 40.0]), np.array([11.0, 21.5, 30.5, 42.0])
    found = one(rows(list(a)), rows(list(b)))
    differences = b - a
    error = differences.std(ddof=1) / 2
    half = stats.t.ppf(0.975, 3) * error
    assert found.paired
    assert found.difference == pytest.approx(1.25)
    assert (found.low, found.high) == (pytest.approx(1.25 - half), pytest.approx(1.25 + half))
    assert found.p == pytest.approx(2 * stats.t.sf(1.25 / error, 3))
    assert found.verdict == "better"


def test_runs_of_other_seeds_are_compared_by_welchs_t():
    a, b = np.array([10.0, 20.0, 30.0, 40.0]), np.array([35.0, 36.0, 34.0])
    found = one(rows(list(a)), rows(list(b), seed=100))
    va, vb = a.var(ddof=1) / 4, b.var(ddof=1) / 3
    freedom = (va + vb) ** 2 / (va**2 / 3 + vb**2 / 2)
    error = np.sqrt(va + vb)
    half = stats.t.ppf(0.975, freedom) * error
    assert not found.paired
    assert (found.low, found.high) == (pytest.approx(10.0 - half), pytest.approx(10.0 + half))
    assert found.p == pytest.approx(2 * stats.t.sf(10.0 / error, freedom))
    assert found.verdict == "unclear"


def test_repeats_that_only_one_side_has_leave_the_pairs_alone():
    found = one(rows([1.0, 2.0, 3.0]), rows([1.5, 2.5, 3.4, 100.0, 200.0]))
    assert (found.paired, found.n_a, found.n_b) == (True, 3, 3)
    assert found.difference == pytest.approx(1.4 / 3)


def test_of_many_differences_those_are_significant_that_benjamini_and_hochberg_call_so():
    rng = np.random.default_rng(1)
    shifts = [*[0.0] * 30, *[0.8] * 10]
    sides: list[list[pl.DataFrame]] = [[], []]
    for index, shift in enumerate(shifts):
        a = rng.normal(10.0, 1.0, 6)
        sides[0].append(rows(list(a), scheme=f"x{index}"))
        sides[1].append(rows(list(a + shift + rng.normal(0.0, 0.4, 6)), scheme=f"x{index}"))
    found = effects(pl.concat(sides[0]), pl.concat(sides[1]))
    p = np.sort([effect.p for effect in found])
    below = np.flatnonzero(p <= 0.05 * np.arange(1, len(p) + 1) / len(p))
    bound = p[below[-1]]
    assert {e.scheme for e in found if e.significant} == {e.scheme for e in found if e.p <= bound}
    assert 5 < sum(e.significant for e in found) < 15


def test_what_is_equal_to_the_last_digit_is_the_same_and_no_test():
    a, b = [1.0, 2.0, 3.0], [1.1, 2.1, 3.2]
    alone = one(rows(a), rows(b))
    beside = pl.concat([rows(a), *(rows(a, scheme=f"x{i}") for i in range(50))])
    found = effects(beside, pl.concat([rows(b), *(rows(a, scheme=f"x{i}") for i in range(50))]))
    assert [effect.verdict for effect in found[1:]] == ["same"] * 50
    assert found[0].q == alone.q


def test_a_shift_that_no_chance_is_in_is_significant_and_one_run_tells_nothing():
    exact = one(rows([1.0, 1.0]), rows([2.0, 2.0]))
    assert (exact.low, exact.high, exact.p, exact.verdict) == (1.0, 1.0, 0.0, "better")
    single = one(rows([1.0]), rows([2.0]))
    assert (single.low, single.p, single.verdict) == (None, None, "unclear")


def test_the_largest_change_relative_to_its_means_comes_first():
    a = rows([10.0, 11.0], rtt_mean_ms=[50.0, 51.0], base_rtt_mean_ms=[5.0, 5.0])
    b = rows([20.0, 21.0], rtt_mean_ms=[49.0, 49.5], base_rtt_mean_ms=[40.0, 40.0])
    found = effects(a, b)
    assert [effect.metric for effect in found] == ["base_rtt_mean_ms", "goodput_mbps", "rtt_mean_ms"]
    assert found[0].verdict == "changed"


def test_tables_show_what_is_significant_in_the_metrics_unit():
    found = effects(rows([10.0, 10.1, 10.2]), rows([12.0, 12.1, 12.3]))
    shown = text([], found)
    assert shown.startswith("setup: nothing differs")
    assert "Goodput (Mbit/s)" in shown
    assert "+2.0" in shown
    assert "1 differences (B - A), 1 of them in pairs of equal seeds: 1 better" in shown
    assert "| s | path | cubic | Goodput (Mbit/s) | 10.1 | 12.1 | +2.0 | [1.9, 2.2] |" in markdown([], found)


def test_the_command_says_what_differs_in_setup_and_results(tmp_path, capsys):
    a, b = tmp_path / "a", tmp_path / "b"
    sample_results(a, ["leo-single"], ["cubic", "reno"], 3)
    sample_results(b, ["leo-single", "leo-pair"], ["cubic", "astraea"], 3)
    runs = pl.read_parquet(b / "runs.parquet")
    runs.with_columns(pl.col("goodput_mbps") * 1.1).write_parquet(b / "runs.parquet")
    described = json.loads((b / "run.json").read_text())
    described["seed"] = 7
    described["config"]["suites"][0]["parameters"]["duration_s"] = 17
    (b / "run.json").write_bytes(encode(described))
    assert cli.run(["compare", str(a), str(b)]) == 0
    shown = capsys.readouterr().out
    for line in (
        "seed 1 7",
        "suites in one only – leo-pair",
        "schemes in one only reno astraea",
        "leo-single: parameters.duration_s 60 17",
    ):
        assert any(" ".join(it.split()) == line for it in shown.splitlines()), line
    assert "better" in shown
    assert cli.run(["compare", str(a), str(b), "--format", "csv"]) == 0
    table = pl.read_csv(io.StringIO(capsys.readouterr().out))
    assert set(table["scheme"]) == {"cubic"}
    changed = table.filter(pl.col("difference") != 0)
    assert set(changed["metric"]) == {"goodput_mbps"}
    assert set(changed["verdict"]) == {"better"}


def test_policies_and_traces_that_changed_are_named():
    a = {
        "versions": {"leosim": "1"},
        "traces": {"sd-ny-bp": "a" * 64},
        "config": {"suites": [], "schemes": {}, "policies": {"astraea": {"sha256": "b" * 64}}},
    }
    b = {
        "versions": {"leosim": "2"},
        "traces": {"sd-ny-bp": "c" * 64},
        "config": {"suites": [], "schemes": {}, "policies": {"astraea": {"sha256": "d" * 64}}},
    }
    assert [change.label for change in changes(a, b)] == [
        "version of leosim",
        "policy of astraea",
        "trace sd-ny-bp",
    ]
    assert changes(a, a) == []


def test_folders_that_share_nothing_are_one_line(tmp_path):
    sample_results(tmp_path / "a", ["leo-single"], ["cubic"], 1)
    sample_results(tmp_path / "b", ["leo-single"], ["reno"], 1)
    with pytest.raises(InputError, match=r"a, .*b: compare: the two share no suite"):
        cli.run(["compare", str(tmp_path / "a"), str(tmp_path / "b")])
