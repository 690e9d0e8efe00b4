import polars as pl

from leogym.evaluation.recorded.results import with_oracle_shares
from leogym.results.intervals import SUMMARY_COLUMNS


def row(scenario: str, scheme: str, metric: str, *values: float) -> tuple:
    return ("grid", scenario, scheme, "simulator", metric, *values, 2)


def summary(*rows: tuple) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=list(SUMMARY_COLUMNS), orient="row")


def test_where_the_oracle_ran_the_others_have_their_power_over_its_own():
    rows = [
        row("a", "oracle", "power", 0.5, 0.25, 0.75),
        row("a", "cubic", "power", 0.25, 0.125, 0.375),
        row("a", "cubic", "rtt_p95_ms", 90.0, 80.0, 99.0),
        row("b", "cubic", "power", 0.5, 0.4, 0.6),
    ]
    found = with_oracle_shares(summary(*rows))
    assert found.rows()[:4] == rows
    assert found.rows()[4:] == [row("a", "cubic", "oracle_share", 0.5, 0.25, 0.75)]


def test_without_the_oracle_nothing_is_added():
    alone = summary(row("a", "cubic", "power", 0.4, 0.3, 0.5))
    assert with_oracle_shares(alone).equals(alone)
