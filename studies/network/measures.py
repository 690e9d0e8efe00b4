"""Measures of a network's run that its tables do not hold."""

import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from leogym.configs import network as schema
from leogym.evaluation.network.run import META
from leogym.traces.network.description import Description
from leogym.traces.orbit import ground

LIGHT_KM_PER_MS = 299.792458
UNUSED = 1 / 3
"""Hypatia counts intervals in which a path has this share of its capacity unused, or more."""

Floats = NDArray[np.float64]


def runs(folder: Path, network: str, schemes: str) -> dict[int, Path]:
    """Return the finished runs of a sweep's folder by seed."""
    finished = [path.parent for path in folder.glob(f"{network}--{schemes}--1--*/{META}")]
    by_seed = {int(run.name.rpartition("--")[2]): run for run in finished}
    return dict(sorted(by_seed.items()))


def dropped(run: Path) -> int:
    """Return the packets, ACKs included, that full queues dropped or nodes without a route."""
    traffic = json.loads((run / META).read_text())["traffic"]
    return traffic["dropped"] + traffic["unroutable"]


def unused_share(folder: Path) -> float:
    """Return the share of intervals in which a path has a third of its lasers' capacity unused.

    As in Hypatia, the busiest laser of a path counts, and ground links do not. A path without lasers has no
    interval, and neither has a pair without a route.
    """
    meta = json.loads((folder / META).read_text())
    capacity_mbps = schema.parse(meta["config"], str(folder)).lasers.rate_mbps
    series = pl.read_parquet(folder / "link_series.parquet", columns=["time_s", "link", "delivered_mbps"])
    times = np.sort(pl.read_parquet(folder / "flow_series.parquet", columns=["time_s"])["time_s"].unique())
    routes = pl.read_parquet(folder / "routes.parquet").sort("pair", "time_s")
    return share_below(series, times, routes, (1 - UNUSED) * capacity_mbps)


def share_below(series: pl.DataFrame, times: Floats, routes: pl.DataFrame, limit_mbps: float) -> float:
    """Return the share of intervals in which the busiest laser of a route carries less than ``limit_mbps``.

    Args:
        series: rows of links that carried packets, with the columns ``time_s`` (an interval's end), ``link``
            and ``delivered_mbps``.
        times: ends of all intervals, rising.
        routes: changes of routes, sorted by pair and time, with ``time_s``, ``pair`` and ``nodes``.
        limit_mbps: the limit.
    """
    lasers = series.with_columns(pl.col("link").str.extract_groups(r"^satellite (\d+) > satellite (\d+)$"))
    lasers = lasers.unnest("link").rename({"1": "from", "2": "to"}).drop_nulls("from")
    lasers = lasers.with_columns(pl.col("from", "to").cast(pl.UInt32))
    places = {link: place for place, link in enumerate(lasers.select("from", "to").unique().iter_rows())}
    carried = np.zeros((len(places), len(times)))
    of_row = [places[link] for link in lasers.select("from", "to").iter_rows()]
    carried[of_row, np.searchsorted(times, lasers["time_s"].to_numpy() - 1e-6)] = lasers["delivered_mbps"]
    below = intervals = 0
    for (_,), changes in routes.group_by("pair", maintain_order=True):
        # An interval has the route of its start.
        starts = np.searchsorted(times, changes["time_s"].to_numpy() + 1e-6)
        ends = [*starts[1:].tolist(), len(times)]
        for nodes, start, end in zip(changes["nodes"].to_list(), starts.tolist(), ends, strict=True):
            links = list(itertools.pairwise(nodes[1:-1]))
            if not links or start >= end:
                continue
            idle = np.zeros(len(times))
            busiest = np.max([carried[places[link]] if link in places else idle for link in links], axis=0)
            below += int(np.count_nonzero(busiest[start:end] < limit_mbps))
            intervals += end - start
    return below / intervals


def geodesic_rtt_ms(description: Description) -> Floats:
    """Return the RTT of light along the Earth's surface for each of a description's pairs, shape (pairs,)."""
    sites = {site.name: site for site in description.stations.sites}
    first, second = ([sites[pair[end]] for pair in description.pairs] for end in (0, 1))
    return 2 * ground.great_circle_km(first, second) / LIGHT_KM_PER_MS
