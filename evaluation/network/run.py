"""Run a network and write its tables."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import leosim
import numpy as np
import polars as pl

from leogym.common import output_folder
from leogym.common.atomic import write_atomically, write_table
from leogym.common.errors import InputError
from leogym.configs.network import Network
from leogym.configs.scenario import LEARNER
from leogym.evaluation.network import regions
from leogym.results import provenance
from leogym.traces.network.description import Description

META = "network.json"
PAYLOAD_BYTES = 1448
"""Of a full packet."""
TABLES = ("flows", "links", "pairs", "regions", "flow_series", "link_series", "routes")
"""Parquet files of a run's folder."""


@dataclass(frozen=True)
class NetworkRun:
    """The measurements of a network's run."""

    tables: dict[str, pl.DataFrame]
    """By the names in `TABLES`: the run log's tables, and what is measured of pairs, routes and regions."""
    traffic: dict[str, int]
    """The fate of all packets, see `leosim.Constellation.traffic`."""
    wall_s: float
    """Time that the run took."""


def simulate(
    description: Description,
    policies: Mapping[str, leosim.Policy],
    *,
    series_ms: float = 1000.0,
    link_series: bool = True,
    threads: int = 1,
    progress: Callable[[float], object] = lambda seconds: None,
) -> NetworkRun:
    """Run a network to its end.

    Args:
        description: the network.
        policies: policies by the names of the schemes that they steer.
        series_ms: interval of the series; 0 for none.
        link_series: whether to keep the series of links, of which a shell has thousands.
        threads: threads of the simulation, from 1 to 256; the tables are equal for every number.
        progress: called with the simulated seconds of each step.

    Raises:
        InputError: a scheme or a value is invalid, no policy steers the flows of agents, or a QUIC flow loses
            its connection.
    """
    if LEARNER not in policies and any(flow["scheme"] == LEARNER for flow in description.flows):
        raise InputError(
            f"{description.network.name}: traffic: has flows of scheme agent: name their policy with "
            f"--schemes {LEARNER}=DIR,…, or other schemes"
        )
    began = time.monotonic()
    try:
        simulation = leosim.Constellation(description.core(), policies, series_ms=series_ms, threads=threads)
    except leosim.InputError as error:
        raise InputError(str(error)) from None
    flow_rows: list[pl.DataFrame] = []
    link_rows: list[pl.DataFrame] = []
    changes: dict[str, list[Any]] = {"time_s": [], "pair": [], "rtt_ms": [], "nodes": []}
    last: dict[int, tuple[int, ...]] = {}
    for start_s, end_s in description.steps():
        description.follow(simulation, start_s)
        for pair, (nodes, rtt_ns) in enumerate(simulation.routes()):
            if last.get(pair) != (chain := tuple(nodes.tolist())):
                last[pair] = chain
                for column, value in zip(changes, (start_s, pair, rtt_ns / 1e6, list(chain)), strict=True):
                    changes[column].append(value)
        flows, links, _ = simulation.advance(end_s)
        if len(flows["time_s"]):
            flow_rows.append(pl.DataFrame(flows))
        if link_series and len(links["time_s"]):
            # Rows of idle links would be almost all.
            frame = pl.DataFrame(links)
            link_rows.append(frame.filter((pl.col("delivered_mbps") > 0) | (pl.col("dropped_packets") > 0)))
        progress(end_s - start_s)
    log = simulation.run_log()
    if log.invalid is not None:
        raise InputError(f"{description.network.name}: {log.invalid}")
    names = pl.Series([site.name for site in description.stations.sites])
    pairs = pl.DataFrame(simulation.pairs()).with_columns(
        names[pl.Series([pair[end] for pair in simulation.pairs()])].alias(end) for end in ("from", "to")
    )
    pair_of_flow = pl.Series(simulation.pairs_of_flows())
    tables = {
        "flows": pl.DataFrame(log.flows, infer_schema_length=None).with_columns(
            pairs[end][pair_of_flow].alias(end) for end in ("from", "to")
        ),
        "links": pl.DataFrame(log.links).filter(pl.col("offered_packets") > 0),
        "pairs": pairs,
        "flow_series": pl.concat(flow_rows) if flow_rows else pl.DataFrame(log.flow_series),
        "link_series": pl.concat(link_rows) if link_rows else pl.DataFrame(log.link_series),
        "routes": pl.DataFrame(changes, schema_overrides={"nodes": pl.List(pl.UInt32)}),
    }
    tables["regions"] = regions.table(tables["flows"], description.stations.sites)
    link_names = dict(enumerate(simulation.link_names))
    tables["link_series"] = tables["link_series"].with_columns(
        pl.col("link").replace_strict(link_names, default=None, return_dtype=pl.String)
    )
    return NetworkRun(tables, simulation.traffic(), time.monotonic() - began)


def save(run: NetworkRun, network: Network, folder: Path) -> None:
    """Write the tables of a run of ``network`` and what describes it into a folder of its own."""
    output_folder.require(folder, "a network's run")
    output_folder.make(folder)
    (folder / META).unlink(missing_ok=True)  # with it, a folder is whole
    for name, table in run.tables.items():
        write_table(folder / f"{name}.parquet", table)
    meta = provenance.describe(network.model_dump(), network.seed)
    meta |= {"traffic": run.traffic, "wall_s": round(run.wall_s, 3), "network": network.name}
    write_atomically(folder / META, json.dumps(meta, indent=1).encode())


def total_goodput_mbps(flows: pl.DataFrame, duration_s: float) -> float:
    """Return what all these flows delivered together per second of the run."""
    return float(flows["delivered_packets"].sum()) * PAYLOAD_BYTES * 8e-6 / duration_s


def summary(run: NetworkRun, description: Description) -> list[str]:
    """Return lines about a run for the terminal."""
    flows, traffic = run.tables["flows"], run.traffic
    lines = [
        f"{description.network.duration_s:g} s simulated in {run.wall_s:.1f} s: "
        f"{traffic['sent']:,} packets sent, {traffic['arrived']:,} arrived over {traffic['hops']:,} links, "
        f"{traffic['dropped']:,} dropped, {traffic['lost']:,} lost, "
        f"{traffic['unroutable']:,} without a route"
    ]
    for (scheme,), rows in sorted(flows.group_by("scheme"), key=lambda group: str(group[0])):
        goodput_mbps = total_goodput_mbps(rows, description.network.duration_s)
        words = f"{scheme}: {len(rows):,} flows, goodput {goodput_mbps:.1f} Mbit/s, "
        words += f"{np.nanmean(rows['delay_inflation'].to_numpy()):.2f} times the base RTT"
        completed = rows["completion_s"].drop_nulls()
        if len(completed):
            words += f", {len(completed):,} transfers completed in {completed.mean():.2f} s on average"
        lines.append(words)
    return lines
