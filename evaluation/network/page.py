"""One HTML file of a network's run: lasers by load on a globe, figures and tables."""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from leogym.common import json_text, output_folder, text_file
from leogym.common.errors import InputError
from leogym.configs import network as schema
from leogym.evaluation.network import figures, hops
from leogym.evaluation.network.run import META, TABLES, total_goodput_mbps
from leogym.results.figure_style import css_variables, svg, themed
from leogym.traces.network import description as describing
from leogym.traces.network.description import Description
from leogym.traces.orbit import ground
from leogym.traces.plot import globe

MOST_SAMPLES = 60
"""Moments on the globe."""
NAMED_STATIONS = 40
"""With more stations, names would hide the globe."""
_MOST_BYTES = 64 << 20
_LASER = r"^satellite (\d+) > satellite (\d+)$"
_STYLE = """<style>
body.more { height: auto; } .more #globe { height: 68vh; flex: none; }
#figures { --sans: system-ui, sans-serif; display: grid; gap: 14px; padding: 14px;
  grid-template-columns: repeat(auto-fit, minmax(340px, 1fr)); }
#figures svg { width: 100%; height: auto; }
#figures h2 { font-size: 14px; margin: 0; }
.table { overflow-x: auto; margin: 0 14px 20px; flex: none; }
table { border-collapse: collapse; }
caption { text-align: left; font-weight: 600; font-size: 14px; padding-bottom: 4px; }
td, th { padding: 3px 16px 3px 0; text-align: right; }
td:first-child, th:first-child { text-align: left; }
:root { LIGHT }
@media (prefers-color-scheme: dark) { :root { DARK } }
</style>"""


def read(folder: Path) -> tuple[dict[str, Any], dict[str, pl.DataFrame], Description]:
    """Return what describes a run, its tables and its network.

    Raises:
        InputError: the folder does not hold a network's run, or a file that the network names is missing.
    """
    if output_folder.content_of(folder) != "a network's run":
        raise InputError(f"{folder}: (folder): does not hold a network's run")
    source = str(folder / META)
    meta = json_text.parse(text_file.read(folder / META, _MOST_BYTES), source)
    tables = {name: pl.read_parquet(folder / f"{name}.parquet") for name in TABLES}
    ran = set(tables["flows"]["scheme"])
    description = describing.describe(schema.parse(meta["config"], source), policies=ran)
    return meta, tables, description


def page(folder: Path) -> str:
    """Return the page of the run in ``folder``; see `read` for errors."""
    meta, tables, description = read(folder)
    capacity = description.network.lasers.rate_mbps
    series = tables["link_series"].with_columns(
        pl.col("link").str.extract(_LASER, 1).cast(pl.Int64).alias("first"),
        pl.col("link").str.extract(_LASER, 2).cast(pl.Int64).alias("second"),
    )
    lasers = series.filter(pl.col("first").is_not_null())
    rows = tables["flow_series"]["time_s"].n_unique()
    mean = lasers.group_by("link").agg(pl.col("delivered_mbps").sum() / max(rows, 1) / capacity)
    content = {
        "title": f"{description.network.name}: {description.topology.constellation.name}",
        "period_s": description.network.duration_s,
        "network": _globe(meta, tables, lasers, description),
    }
    sites = description.stations.sites
    names = [site.name if len(sites) <= NAMED_STATIONS else "" for site in sites]
    content["sites"] = [[name, site.lon_deg, site.lat_deg] for name, site in zip(names, sites, strict=True)]
    style = _STYLE.replace("LIGHT", css_variables(False)).replace("DARK", css_variables(True))
    shared = description.network.ground.shared
    queueing = hops.queueing(tables, [site.name for site in sites], description.topology.satellites, shared)
    site_of = {site.name: site for site in sites}
    first, second = ([site_of[name] for name in tables["flows"][end]] for end in ("from", "to"))
    distance_km = pl.Series("distance_km", ground.great_circle_km(first, second))
    measured = tables | {"flows": tables["flows"].with_columns(distance_km)}
    panels = figures.panels(measured, mean["delivered_mbps"].to_numpy(), queueing)
    cells = (
        f"<div><h2>{html.escape(panel.label)}</h2>{themed(svg(panel), panel.label)}</div>" for panel in panels
    )
    schemes = _schemes(tables["flows"], description.network.duration_s)
    continents = _regions(tables["regions"]) if len(tables["regions"]) else ""
    below = f'{style}<div id="figures">{"".join(cells)}</div>{schemes}{continents}'
    return globe.filled(content, "network.js", "more", below)


def _globe(
    meta: dict[str, Any], tables: dict[str, pl.DataFrame], lasers: pl.DataFrame, description: Description
) -> dict[str, Any]:
    times = np.sort(tables["flow_series"]["time_s"].unique().to_numpy())
    times = times[:: max(1, -(-len(times) // MOST_SAMPLES))]
    satellites = description.topology.satellites
    routes = tables["routes"].sort("time_s")
    used = sorted({node for nodes in routes["nodes"].to_list() for node in nodes if node < satellites})
    place = {node: index for index, node in enumerate(used)}
    # One line per laser, with the load of its busier direction.
    ends = pl.struct(pl.min_horizontal("first", "second"), pl.max_horizontal("first", "second").alias("last"))
    busier = lasers.group_by("time_s", ends.alias("ends")).agg(pl.col("delivered_mbps").max())
    loads: dict[tuple[int, int], dict[float, float]] = {}
    for time_s, pair, mbps in busier.iter_rows():
        loads.setdefault((pair["first"], pair["last"]), {})[time_s] = mbps
    drawn = [pair for pair in loads if pair[0] in place and pair[1] in place]
    capacity = description.network.lasers.rate_mbps
    goodput = tables["flow_series"].group_by("time_s").agg(pl.col("goodput_mbps").sum()).sort("time_s")
    rate = dict(goodput.iter_rows())
    at_start = list(routes.select("time_s", "pair", "nodes").iter_rows())
    ground, current, upcoming = [], {}, 0
    for time_s in times.tolist():
        while upcoming < len(at_start) and at_start[upcoming][0] < time_s:
            current[at_start[upcoming][1]] = at_start[upcoming][2]
            upcoming += 1
        links = {
            (nodes[end] - satellites, place[nodes[next_to]])
            for nodes in current.values()
            if nodes
            for end, next_to in ((0, 1), (-1, -2))
        }
        ground.append(sorted(links))
    traffic = meta["traffic"]
    return {
        "about": f"{len(tables['flows']):,} flows; {traffic['sent']:,} packets sent, "
        f"{traffic['dropped']:,} dropped, {traffic['lost']:,} lost, "
        f"{traffic['unroutable']:,} without a route",
        "time_s": times.tolist(),
        # A pixel is ten kilometres.
        "km": [
            np.rint(description.topology.positions_km(time_s)[used] / 10).astype(int).ravel().tolist()
            for time_s in times.tolist()
        ],
        "lasers": [[place[first], place[last]] for first, last in drawn],
        "load": [
            [round(100 * loads[pair].get(time_s, 0.0) / capacity) for pair in drawn]
            for time_s in times.tolist()
        ],
        "ground": ground,
        "goodput_mbps": [round(rate[time_s], 2) for time_s in times.tolist()],
    }


def _schemes(flows: pl.DataFrame, duration_s: float) -> str:
    """Return a table with a row for each scheme."""
    head = (
        "scheme",
        "flows",
        "goodput, Mbit/s",
        "mean RTT, ms",
        "RTT over base",
        "loss",
        "transfers completed",
        "mean completion, s",
    )
    rows = []
    for (scheme,), part in sorted(flows.group_by("scheme"), key=lambda group: str(group[0])):
        completed = part["completion_s"].drop_nulls()
        rows.append(
            [
                str(scheme),
                f"{len(part):,}",
                f"{total_goodput_mbps(part, duration_s):,.1f}",
                f"{np.nanmean(part['rtt_mean_ms'].to_numpy()):.1f}",
                f"{np.nanmean(part['delay_inflation'].to_numpy()):.2f}",
                f"{np.nanmean(part['loss_rate'].to_numpy()):.4f}",
                f"{len(completed):,}",
                f"{completed.mean():.3f}" if len(completed) else "",
            ]
        )
    return _table("Schemes", head, rows)


def _regions(regions: pl.DataFrame) -> str:
    """Return a table with a row for each continent."""
    head = (
        "senders in",
        "flows",
        "goodput, Mbit/s",
        "goodput over capacity",
        "RTT over base",
        "Jain's index",
    )
    rows = [
        [
            row["region"],
            f"{row['flows']:,}",
            f"{row['goodput_mbps']:,.1f}",
            *(
                "" if row[name] is None else f"{row[name]:.2f}"
                for name in ("normalized_goodput", "delay_inflation", "jain")
            ),
        ]
        for row in regions.iter_rows(named=True)
    ]
    return _table("Backlogged flows by continent", head, rows)


def _table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    titles = "".join(f"<th>{title}</th>" for title in head)
    lines = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    table = f"<table><caption>{caption}</caption><tr>{titles}</tr>{body}</table>"
    return f'<div class="table">{table}</div>'
