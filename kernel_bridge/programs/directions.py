"""What both directions of each link carried, from mm-leo's logs."""

from pathlib import Path

import polars as pl

from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.kernel_bridge.runner.leo_links import header_of, link_events
from leogym.kernel_bridge.runner.plan import Plan


def table(planned: Plan, root: Path, origin_ns: int, series_ms: float) -> pl.DataFrame:
    """Return a row per link, direction and interval.

    Columns: time_s (the interval's end), link, direction (``up`` leaves the host behind the link),
    offered_packets, dropped_packets, lost_packets, delivered_mbps, and delay_ms, the mean from a packet's
    arrival at the link to its delivery.
    """
    step_ns = round(series_ms * NS_PER_MS)
    tables = []
    for link in planned.chain:
        log = root / "work" / f"{link.file_stem}.log"
        shift_ns = header_of(log)["began_monotonic_ns"] - origin_ns
        for direction, letter in (("up", "u"), ("down", "d")):
            events = link_events(log, letter).with_columns(at_ns=pl.col("at_ns") + shift_ns)
            number = (pl.col("at_ns") // step_ns).alias("number")
            kind, count = pl.col("kind"), pl.col("count")
            rows = (
                events.filter(pl.col("at_ns") >= 0)
                .group_by(number)
                .agg(
                    offered_packets=(kind == "+").sum(),
                    dropped_packets=count.filter(kind == "d").sum(),
                    lost_packets=count.filter(kind == "l").sum(),
                    delivered_mbps=count.filter(kind == "-").sum() * 8e3 / step_ns,
                    delay_ms=pl.col("after_ns").filter(kind == "-").mean() / NS_PER_MS,
                )
                .sort("number")
            )
            measured = [column for column in rows.columns if column != "number"]
            names = [pl.lit(link.name).alias("link"), pl.lit(direction).alias("direction")]
            end_s = ((pl.col("number") + 1) * step_ns / NS_PER_S).alias("time_s")
            tables.append(rows.select(end_s, *names, *measured))
    return pl.concat(tables)
