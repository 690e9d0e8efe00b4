"""Power as a share of the oracle's, the scheme that knows its path."""

import polars as pl

from leogym.results.metrics import ORACLE, ORACLE_SHARE

_WHERE = ["suite", "scenario", "backend"]
_VALUES = ["mean", "ci_low", "ci_high"]


def with_shares(summary: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``summary.csv``, and one of `ORACLE_SHARE` per scheme where the oracle ran.

    Each is the scheme's power and its interval over the oracle's mean power.
    """
    power = summary.filter(pl.col("metric") == "power")
    mine = pl.col("scheme") == ORACLE
    most = power.filter(mine & (pl.col("mean") > 0)).select(*_WHERE, pl.col("mean").alias("most"))
    shares = (
        power.filter(~mine)
        .join(most, on=_WHERE, maintain_order="left")
        .with_columns(
            pl.lit(ORACLE_SHARE.name).alias("metric"), *(pl.col(name) / pl.col("most") for name in _VALUES)
        )
    )
    return pl.concat([summary, shares.select(summary.columns)])
