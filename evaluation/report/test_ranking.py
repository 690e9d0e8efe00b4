import math

import polars as pl
import pytest

from leogym.configs import suite as suites
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report import first_screen, ranking
from tests.support.sample_results import sample_results

SCHEMES = ["cubic", "reno", "astraea"]
SUITES = ["leo-single", "leo-pair", "shared-path"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return sample_results(tmp_path_factory.mktemp("ranked"), SUITES, SCHEMES, 2)


def with_runs(results: Results, runs: pl.DataFrame) -> Results:
    return Results(results.folder, results.description, runs)


def test_the_best_scheme_of_every_scenario_has_a_relative_power_of_one(results):
    first, *others = ranking.ranking(results)
    assert (first.scheme, first.rank, first.power.mean) == ("astraea", 1, 1.0)
    assert set(first.suites) == set(SUITES)
    assert [place.rank for place in others] == [2, 3]
    for place in others:
        assert 0 < place.power.low <= place.power.mean <= place.power.high < 1


def test_a_suite_counts_by_the_mean_of_its_scenarios(results):
    [suite] = [one for one in results.suites if one.name == "leo-single"]
    rows = results.summary.filter((pl.col("suite") == "leo-single") & (pl.col("metric") == "power"))
    cubic, best = (
        rows.filter(pl.col("scheme") == name).sort("scenario")["mean"] for name in ("cubic", "astraea")
    )
    assert ranking.of_suite(results, suite)["cubic"] == pytest.approx((cubic / best).mean())


def test_a_scheme_that_did_not_run_everywhere_has_no_rank(results):
    few = results.runs.filter((pl.col("scheme") != "reno") | (pl.col("suite") == "leo-single"))
    places = ranking.ranking(with_runs(results, few))
    assert [(place.scheme, place.rank) for place in places] == [("astraea", 1), ("cubic", 2), ("reno", None)]
    assert math.isnan(places[-1].power.low)
    row = ranking.table(places, quick=True).row(-1, named=True)
    assert (row["rank"], row["ci_low"], row["suites"], row["suites_of_all"]) == (None, None, 1, 3)


def test_two_suites_rank_nobody(results):
    places = ranking.ranking(with_runs(results, results.runs.filter(pl.col("suite") != "shared-path")))
    assert [place.scheme for place in places] == ["astraea", "cubic", "reno"]
    assert {place.rank for place in places} == {None}


def test_a_starved_scheme_leads_nowhere_and_is_no_yardstick(results):
    # It sends next to nothing; its power is made up to look good.
    starving = results.runs.with_columns(
        normalized_goodput=pl.when(pl.col("scheme") == "astraea")
        .then(0.01)
        .otherwise(pl.col("normalized_goodput"))
    )
    hungry = with_runs(results, starving)
    cubic = next(place for place in ranking.ranking(hungry) if place.scheme == "cubic")
    assert cubic.power.mean == pytest.approx(1.0, abs=0.02)
    for _, leads in first_screen.leads_by_suite(hungry):
        assert all("astraea" not in lead.schemes for lead in leads)


def test_winners_are_counted_by_scenario(results):
    [(suite, [goodput, power]), *_] = first_screen.leads_by_suite(results)
    assert suite.name == "leo-single"
    assert (power.metric.name, power.schemes, power.won, power.scenarios) == ("power", ["astraea"], 6, 6)
    assert goodput.metric.name == "normalized_goodput"


def test_nobody_leads_where_one_scheme_ran(results):
    alone = with_runs(results, results.runs.filter(pl.col("scheme") == "cubic"))
    assert first_screen.leads_by_suite(alone) == []
    assert ranking.ranking(alone) == []
    assert first_screen.lead_by(alone, suites.load("leo-single"), "power") is None


def test_what_was_run_is_told_in_natural_units(results):
    told = dict((name, number) for number, name in first_screen.counts(results))
    assert told["runs"] == str(results.runs.select("suite", "run_id").n_unique())
    assert told["scenarios"] == "15"
    spans = [first_screen.duration(seconds) for seconds in (45.2, 720, 12_240, 449_280)]
    assert spans == ["45 s", "12 min", "3.4 h", "5.2 days"]
