import math
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from leogym.common.errors import InputError
from leogym.evaluation.recorded.results import Results
from studies.papers import keep
from tests.support.sample_results import sample_results


@pytest.fixture
def results(tmp_path: Path) -> Results:
    found = sample_results(tmp_path / "run", ["leo-single", "leo-pair"], ["cubic", "astraea"], 2)
    config = {**found.description["config"], "quick": False}
    return replace(found, description={**found.description, "config": config})


def test_what_is_kept_reads_with_one_line_and_is_the_same_each_time(tmp_path, results):
    files = keep.keep(results, tmp_path / "kept")
    assert {path.name for path in files} == {
        "summary.csv.gz",
        "claims.csv",
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
    power = keep.relative_power(results.summary, ["leo-single", "leo-pair"])
    assert set(power) == {"cubic", "astraea"}
    assert set(power["cubic"]) == {"leo-single", "leo-pair"}
    for suite in ("leo-single", "leo-pair"):
        assert max(of[suite] for of in power.values()) == 1.0
    means = {
        name: results.summary.filter(
            (pl.col("suite") == "leo-single") & (pl.col("scheme") == name) & (pl.col("metric") == "power")
        )["mean"].to_list()
        for name in power
    }
    ratio = math.prod(means["cubic"]) / math.prod(means["astraea"])
    assert power["cubic"]["leo-single"] == pytest.approx(ratio ** (1 / len(means["cubic"])))
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
    newer = sample_results(tmp_path / "newer", ["leo-pair"], ["cubic"], 4)
    config = {**newer.description["config"], "quick": False}
    newer = replace(
        newer, description={**newer.description, "config": config, "command": "the later command"}
    )
    keep.keep(newer, kept, add=True)
    after = keep.Kept.read(kept)
    assert len(after.summary) == len(before.summary)
    ours = (pl.col("suite") == "leo-pair") & (pl.col("scheme") == "cubic")
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


def test_a_folder_without_kept_results_cannot_be_added_to(tmp_path, results):
    with pytest.raises(InputError, match="holds no kept results"):
        keep.keep(results, tmp_path, add=True)


def test_the_kept_claims_have_the_papers_texts(tmp_path):
    kept = keep.Kept.read(keep.PLACE)
    assert kept.with_present_texts().claims.equals(kept.claims), "leogym papers.keep --texts"


def test_a_claims_texts_are_written_again_and_its_results_stay(tmp_path, results):
    keep.keep(results, tmp_path)
    before = keep.Kept.read(tmp_path).claims
    old = before.with_columns(reason=pl.lit("of before"), says=pl.lit("of before"))
    (tmp_path / "claims.csv").write_text(old.write_csv())
    assert keep.renew_texts(tmp_path) == tmp_path / "claims.csv"
    assert keep.Kept.read(tmp_path).claims.equals(before)


def test_the_page_says_whose_claims_the_authors_own_weights_judged(tmp_path):
    found = sample_results(tmp_path / "run", ["leo-pair"], ["astraea-authors"], 2)
    config = {**found.description["config"], "quick": False}
    keep.keep(replace(found, description={**found.description, "config": config}), tmp_path / "kept")
    about = (tmp_path / "kept" / "README.md").read_text()
    assert "Claims about astraea alone are judged by the authors' own weights" in about
