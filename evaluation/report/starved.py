"""Find starved schemes, which hardly use their link: their short queues and few losses mean nothing."""

from collections.abc import Iterable
from statistics import median

import polars as pl

from leogym.evaluation.recorded.results import Results
from leogym.evaluation.runs.unannounced import shortened

SHARE_OF_LINK = 0.1
SHARE_OF_MEDIAN = 0.5


def uses(results: Results, suite: str, scenario: str) -> dict[str, float]:
    """Return each scheme's use of the link: its flows' mean normalized goodput over the even share.

    The even share is one over the number of the run's flows. Transfers do not count.
    """
    endless = results.runs.filter(
        (pl.col("suite") == suite) & (pl.col("scenario") == scenario) & pl.col("transfer_bytes").is_null()
    )
    share = endless.with_columns(
        (pl.col("normalized_goodput").fill_null(0.0) * pl.len().over("run_id")).alias("use")
    )
    means = share.group_by("scheme").agg(pl.col("use").mean())
    return {name: float(use) for name, use in means.iter_rows() if name in results.schemes}


def of(uses_by_scheme: dict[str, float]) -> dict[str, float]:
    """Return the schemes below `SHARE_OF_LINK` of the even share or `SHARE_OF_MEDIAN` of the median's."""
    if not uses_by_scheme:
        return {}
    least = max(SHARE_OF_LINK, SHARE_OF_MEDIAN * median(uses_by_scheme.values()))
    return {name: use for name, use in uses_by_scheme.items() if use < least}


def lines(results: Results, suite: str) -> list[str]:
    """Return one sentence per starved scheme of a suite, with its use and the scenarios."""
    found: dict[str, dict[str, float]] = {}
    for scenario in results.scenarios(suite):
        for scheme, use in of(uses(results, suite, scenario)).items():
            found.setdefault(scheme, {})[scenario] = use
    return [_line(suite, scheme, found[scheme]) for scheme in _ordered(results, found)]


def _ordered(results: Results, found: Iterable[str]) -> list[str]:
    return [name for name in results.schemes if name in set(found)]


def _line(suite: str, scheme: str, uses_by_scenario: dict[str, float]) -> str:
    low, high = min(uses_by_scenario.values()), max(uses_by_scenario.values())
    part = f"{low:.1%}" if len(uses_by_scenario) == 1 else f"{low:.1%} to {high:.1%}"
    return (
        f"{scheme} is starved in {suite}: it uses {part} of its even share of the link in "
        f"{shortened(list(uses_by_scenario))}, where it cannot be best"
    )
