"""Queueing delay along routes, from the tables of a run."""

from collections.abc import Mapping, Sequence

import polars as pl

MOST_MOMENTS = 60
_PACKET_BITS = 12_000
_MOMENT_S = 1e-6
"""Less than an interval; routes that begin at the end of an interval belong to the next one."""


def queueing(
    tables: Mapping[str, pl.DataFrame], stations: Sequence[str], satellites: int, shared: bool
) -> pl.DataFrame:
    """Return the queueing delay of each link on each pair's route at up to 60 evenly spaced moments.

    Args:
        tables: a run's tables.
        stations: their names, in the order of their nodes.
        satellites: number of satellites, whose nodes come before those of the stations.
        shared: whether nodes share one transmitter for all their ground links.

    Returns:
        A row for each link of a route at a moment, with the columns ``time_s``, ``pair``, ``hop`` (0 for the
        uplink), ``links`` (of the route) and ``delay_ms``, the time that full packets in the queue take to
        leave it.
    """
    times = tables["flow_series"]["time_s"].unique().sort()
    times = times.gather_every(max(1, -(-len(times) // MOST_MOMENTS)))
    moments = pl.DataFrame({"time_s": times}).with_columns((pl.col("time_s") - _MOMENT_S).alias("moment_s"))
    routes = tables["routes"].select(pl.col("time_s").alias("since_s"), "pair", "nodes").sort("since_s")
    current = (
        moments.join(routes.select("pair").unique(), how="cross")
        .sort("moment_s")
        .join_asof(routes, left_on="moment_s", right_on="since_s", by="pair", check_sortedness=False)
        .with_columns((pl.col("nodes").list.len().cast(pl.Int64) - 1).alias("links"))
        .filter(pl.col("links") > 0)
    )
    nodes = pl.col("nodes").cast(pl.List(pl.Int64))
    hops = current.select(
        "time_s",
        "pair",
        "links",
        pl.int_ranges(0, "links").alias("hop"),
        nodes.list.slice(0, pl.col("links")).alias("from"),
        nodes.list.slice(1).alias("to"),
    ).explode("hop", "from", "to")
    names = pl.DataFrame(
        {
            "node": range(satellites + len(stations)),
            "name": [f"satellite {number}" for number in range(satellites)] + list(stations),
        }
    )
    for end in ("from", "to"):
        hops = hops.join(names.rename({"node": end, "name": f"{end}_name"}), on=end)
    # Nodes with one transmitter for all ground links have one queue.
    up = pl.lit("satellites") if shared else pl.col("to_name")
    down = pl.lit("ground") if shared else pl.col("to_name")
    is_up, is_down = pl.col("hop") == 0, pl.col("hop") == pl.col("links") - 1
    to_name = pl.when(is_up).then(up).when(is_down).then(down).otherwise(pl.col("to_name"))
    hops = hops.with_columns((pl.col("from_name") + " > " + to_name).alias("link"))
    delay_ms = pl.col("queue_packets") * _PACKET_BITS / (pl.col("capacity_mbps") * 1e3)
    queues = tables["link_series"].select("time_s", "link", delay_ms.alias("delay_ms"))
    # Series have no rows of idle links.
    joined = hops.join(queues, on=["time_s", "link"], how="left").with_columns(
        pl.col("delay_ms").fill_nan(0.0).fill_null(0.0)
    )
    return joined.select("time_s", "pair", "hop", "links", "delay_ms").sort("time_s", "pair", "hop")
