"""Tell how often policies gave flows to their fallback: there the results are the fallback's."""

import polars as pl

from leogym.evaluation.recorded.results import Results
from leogym.evaluation.runs.unannounced import shortened


def lines(results: Results, suite: str) -> list[str]:
    """Return one sentence per scheme of a suite whose flows fell back, with the number and the scenarios."""
    if "fallbacks" not in results.runs.columns:
        return []  # recorded before policies had known ranges
    runs = results.runs.filter(pl.col("suite") == suite)
    found = []
    for scheme in results.schemes:
        mine = runs.filter(pl.col("scheme") == scheme)
        fell = mine.filter(pl.col("fallbacks").fill_null(0) > 0)
        if len(fell):
            where = shortened([name for name in results.scenarios(suite) if name in set(fell["scenario"])])
            found.append(
                f"{scheme} fell back to Cubic {fell['fallbacks'].sum():,} times in {suite}, in "
                f"{len(fell):,} of {len(mine):,} flows: {where}; there it met what its policy does not know"
            )
    return found
