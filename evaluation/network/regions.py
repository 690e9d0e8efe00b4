"""How continents share a network: the backlogged flows of each."""

from collections.abc import Sequence

import polars as pl

from leogym.results.metrics import jain
from leogym.traces.orbit import places
from leogym.traces.orbit.ground import Site

ALL = "all"
SCHEMA = {
    "region": pl.String,
    "flows": pl.UInt32,
    "goodput_mbps": pl.Float64,
    "normalized_goodput": pl.Float64,
    "delay_inflation": pl.Float64,
    "jain": pl.Float64,
}


def table(flows: pl.DataFrame, sites: Sequence[Site]) -> pl.DataFrame:
    """Return a row for each continent from which backlogged flows send, and one for all of them.

    Args:
        flows: the flows of a run, with the columns of its table and ``from``.
        sites: the network's stations.

    Returns:
        The columns of `SCHEMA`: the continent of the sender's nearest city, or `ALL`; the number of flows,
        their total goodput, the means of their shares of their routes' capacities and of RTTs over base RTTs,
        and Jain's index of their goodputs, null for a single flow.
    """
    backlogged = flows.filter(pl.col("transfer_bytes").is_null())
    continent = dict(zip([site.name for site in sites], places.continents(list(sites)), strict=True))
    regions = backlogged["from"].replace_strict(continent, return_dtype=pl.String)
    parts = [(region, backlogged.filter(regions == region)) for region in sorted(regions.unique())]
    if parts:
        parts.append((ALL, backlogged))
    rows = [
        {
            "region": region,
            "flows": len(part),
            "goodput_mbps": part["goodput_mbps"].sum(),
            **{name: part[name].fill_nan(None).mean() for name in ("normalized_goodput", "delay_inflation")},
            "jain": jain(part["goodput_mbps"].to_list()),
        }
        for region, part in parts
    ]
    return pl.DataFrame(rows, schema=SCHEMA)
