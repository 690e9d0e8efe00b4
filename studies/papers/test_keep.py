import math
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from leogym.common.errors import InputError
from leogym.configs import suite as suites
from leogym.evaluation.recorded.results import Results
from leogym.results.intervals import Interval
from studies.papers import keep, kept_verdicts, table
from studies.papers.paper import load, parse
from tests.support.sample_results import sample_results


def not_quick(found: Results, **description: str) -> Results:
    """Return sample results, which are quick ones, as those of the whole suites."""
    whole = [
        suites.load(suite["name"]).model_dump(mode="json") for suite in found.description["config"]["suites"]
    ]
    config = {**found.description["config"], "quick": False, "suites": whole}
    return replace(found, description={**found.description, "config": config, **description})


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return not_quick(
        sample_results(tmp_path / "run", ["leo-single-leoem", "leo-pair-leoem"], ["cubic", "astraea"], 2)
    )


def test_what_is_kept_reads_with_one_line_and_is_the_same_each_time(tmp_path, results):
    files = keep.keep(results, tmp_path / "kept")
    assert {path.name for path in files} == {
        "summary.csv.gz",
        "claims.csv",
        "values.csv",
        "evaluations.csv",
        "main.svg",
        "README.md",
    }
    table = pl.read_csv(tmp_path / "kept" / "summary.csv.gz")
    assert len(table) == len(results.summary)
    assert table["mean"].to_list() == pytest.approx(results.summary["mean"].to_list(), rel=1e-4)
    about = (tmp_path / "kept" / "README.md").read_text()
    assert results.description["command"] in about
    assert f"{results.runs['run_id'].n_unique()} runs: 2 suites, 2 schemes (cubic, astraea)." in about
    before = [path.read_bytes() for path in files]
    assert [path.read_bytes() for path in keep.keep(results, tmp_path / "again")] == before


def test_the_main_figure_has_every_schemes_mean_beside_the_best_of_each_suite(results):
    power = keep.relative_power(results.summary, ["leo-single-leoem", "leo-pair-leoem"])
    assert set(power) == {"cubic", "astraea"}
    assert set(power["cubic"]) == {"leo-single-leoem", "leo-pair-leoem"}
    for suite in ("leo-single-leoem", "leo-pair-leoem"):
        assert max(of[suite] for of in power.values()) == 1.0
    means = {
        name: results.summary.filter(
            (pl.col("suite") == "leo-single-leoem")
            & (pl.col("scheme") == name)
            & (pl.col("metric") == "power")
        )["mean"].to_list()
        for name in power
    }
    ratio = math.prod(means["cubic"]) / math.prod(means["astraea"])
    assert power["cubic"]["leo-single-leoem"] == pytest.approx(ratio ** (1 / len(means["cubic"])))
    assert ">astraea<" in keep.figure(power)


def test_a_look_and_what_is_too_large_are_not_kept(tmp_path, results, monkeypatch):
    with pytest.raises(InputError, match="--quick"):
        keep.keep(Results.read(results.folder), tmp_path / "kept")
    monkeypatch.setattr(keep, "MOST_BYTES", 100)
    with pytest.raises(InputError, match="more than 100"):
        keep.keep(results, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_later_evaluation_replaces_its_suites_schemes_and_claims(tmp_path, results):
    kept = tmp_path / "kept"
    keep.keep(results, kept)
    before = keep.Kept.read(kept)
    newer = not_quick(
        sample_results(tmp_path / "newer", ["leo-pair-leoem"], ["cubic"], 4), command="the later command"
    )
    keep.keep(newer, kept, add=True)
    after = keep.Kept.read(kept)
    assert len(after.summary) == len(before.summary)
    ours = (pl.col("suite") == "leo-pair-leoem") & (pl.col("scheme") == "cubic")
    assert after.summary.filter(ours)["n"].unique().to_list() == [4]
    assert after.summary.filter(~ours).sort(pl.all()).equals(before.summary.filter(~ours).sort(pl.all()))
    assert sorted(after.claims["claim"]) == sorted(before.claims["claim"])
    decided = keep.Kept.of(newer).claims.filter(pl.col("verdict") != "not run")
    assert 0 < len(decided) < len(after.claims)
    assert (
        after.claims.join(decided, on=["paper", "claim"], how="semi")
        .sort("claim")
        .equals(decided.sort("claim"))
    )
    about = (kept / "README.md").read_text()
    assert results.description["command"] in about
    assert "the later command" in about


def test_fewer_later_runs_of_the_same_replace_nothing(tmp_path, results):
    kept = tmp_path / "kept"
    more = not_quick(sample_results(tmp_path / "more", ["leo-pair-leoem"], ["cubic"], 4))
    keep.keep(more, kept)
    keep.keep(results, kept, add=True)
    after = keep.Kept.read(kept)
    runs = after.summary.group_by("suite", "scheme").agg(pl.col("n").max())
    assert set(runs.iter_rows()) == {
        ("leo-pair-leoem", "cubic", 4),
        ("leo-pair-leoem", "astraea", 2),
        ("leo-single-leoem", "cubic", 2),
        ("leo-single-leoem", "astraea", 2),
    }
    name = pl.col("claim") == "pair.cubic-fair-on-bp"
    assert after.claims.filter(name).equals(keep.Kept.of(more).claims.filter(name))


def test_a_folder_without_kept_results_cannot_be_added_to(tmp_path, results):
    with pytest.raises(InputError, match="holds no kept results"):
        keep.keep(results, tmp_path, add=True)


def test_the_kept_claims_are_those_of_the_papers_files_and_judged_by_them():
    kept = keep.Kept.read(keep.PLACE)
    again = kept.judged_again()
    assert again.claims.equals(kept.claims), "leogym papers keep --judge"
    assert again.values.equals(kept.values)


def test_a_kept_claim_that_differs_has_a_reason_or_says_that_there_is_none():
    claims = table.own(keep.Kept.read(keep.PLACE).claims)
    assert (
        claims.filter((pl.col("verdict") == "differs") & pl.col("reason").is_null())["claim"].to_list() == []
    )


def test_a_kept_claim_that_agrees_has_no_reason_to_differ():
    claims = keep.Kept.read(keep.PLACE).claims
    reasons = claims.filter((pl.col("verdict") == "agrees") & pl.col("reason").is_not_null())
    assert reasons["claim"].to_list() == []


def test_kept_results_are_judged_again_by_their_intervals(tmp_path, results):
    keep.keep(results, tmp_path)
    kept = keep.Kept.read(tmp_path)
    assert kept.judged_again().claims.equals(kept.claims)
    name = "single.cubic-sd-ny-bp"  # at most 0.9
    for low, high, verdict in ((0.1, 0.2, "agrees"), (0.89, 0.91, "undecided"), (0.91, 0.92, "differs")):
        moved = kept.values.with_columns(
            pl.when(pl.col("claim") == name).then(edge).otherwise(pl.col(column)).alias(column)
            for column, edge in (("ci_low", low), ("ci_high", high))
        )
        claims = replace(kept, values=moved).judged_again().claims
        assert claims.filter(pl.col("claim") == name)["verdict"].to_list() == [verdict]


def test_a_claim_that_has_another_name_now_keeps_what_it_measured(tmp_path, results):
    keep.keep(results, tmp_path)
    kept = keep.Kept.read(tmp_path)
    names = {"single.cubic-sd-ny-bp": "of.before", "single.cubic-sd-ny-bp@leo-single": "of.before-elsewhere"}
    renamed = replace(
        kept,
        claims=kept.claims.with_columns(pl.col("claim").replace(names)),
        values=kept.values.with_columns(pl.col("claim").replace(names)),
        summary=kept.summary.clear(),
    )
    name = pl.col("claim") == "single.cubic-sd-ny-bp"
    again = renamed.judged_again()
    assert again.claims.filter(name).equals(kept.claims.filter(name))
    assert again.values.filter(name).equals(kept.values.filter(name))


def test_a_claim_that_measures_something_else_now_is_judged_by_the_summary(tmp_path, results):
    keep.keep(results, tmp_path)
    kept = keep.Kept.read(tmp_path)
    before = {row["claim"]: row for row in kept.claims.iter_rows(named=True)}
    stale = replace(kept, claims=kept.claims.with_columns(digest=pl.lit("of before")))
    after = {row["claim"]: row for row in stale.judged_again().claims.iter_rows(named=True)}
    assert after["single.cubic-sd-ny-bp"] == before["single.cubic-sd-ny-bp"]
    assert after["pair.astraea-fairer-later"]["why"] == "astraea's authors' weights did not run"
    assert after["pair.noise"]["why"] == "no run of bbr3"


def test_an_order_of_kept_intervals_needs_them_apart():
    paper = load("learning-cc-for-leo")
    [claim] = [claim for claim in paper.claims if claim.id == "pair.cubic-fair-on-bp"]
    order = parse(
        {
            **paper.model_dump(exclude={"claims"}),
            "claims": [
                {
                    **claim.model_dump(include={"id", "where", "says", "suite", "metric", "scenarios"}),
                    "kind": "ordering",
                    "order": ["cubic", "satcp"],
                }
            ],
        },
        "order",
    ).claims[0]
    for upper, lower, verdict in (
        ((0.8, 0.9), (0.5, 0.7), "agrees"),
        ((0.8, 0.9), (0.5, 0.85), "undecided"),
        ((0.5, 0.7), (0.8, 0.9), "differs"),
    ):
        kept = {
            ("leo-pair-leoem", "sd-ny-bp", scheme, "goodput_ratio"): Interval((low + high) / 2, low, high, 5)
            for scheme, (low, high) in (("cubic", upper), ("satcp", lower))
        }
        assert kept_verdicts.judge(order, paper, kept).outcome == verdict


def test_a_ratio_of_kept_intervals_is_that_of_the_worst_cases():
    paper = load("leotcp")
    [claim] = [claim for claim in paper.claims if claim.id == "soft.bbr-over-bbr3"]
    kept = {
        ("leotcp-reroute", "back", scheme, "utilization"): Interval(mean, mean - 0.1, mean + 0.1, 5)
        for scheme, mean in (("bbr", 0.9), ("bbr3", 0.6))
    }
    [ours] = kept_verdicts.judge(claim, paper, kept).ours
    assert (ours.interval.mean, ours.interval.low, ours.interval.high) == pytest.approx(
        (0.9 / 0.6, 0.8 / 0.7, 1.0 / 0.5)
    )


def test_the_page_says_whose_claims_the_authors_own_weights_judged(tmp_path):
    found = not_quick(sample_results(tmp_path / "run", ["leo-pair-leoem"], ["astraea-authors"], 2))
    keep.keep(found, tmp_path / "kept")
    about = (tmp_path / "kept" / "README.md").read_text()
    assert "Claims about astraea are judged by the authors' own weights" in about
