"""The flows of a network, from its traffic patterns."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leogym.common import text_file
from leogym.common.errors import InputError
from leogym.configs.network import Network, Traffic
from leogym.traces.network.stations import MOST_BYTES, GroundStations
from leogym.traces.orbit import ground

Flow = dict[str, Any]
"""Keys of a scenario's flow; ``route`` names the sender's and the receiver's station. ``path`` numbers one of
the pair's paths."""
Pair = tuple[int, int]


def flows(network: Network, stations: GroundStations) -> list[Flow]:
    """Return the flows of all patterns, in order.

    Raises:
        InputError: a station is unknown, or gravity lacks populations.
    """
    made: list[Flow] = []
    for index, traffic in enumerate(network.traffic):
        rng = np.random.default_rng([network.seed, index])
        source = f"{network.name}: traffic.{index}"
        if traffic.file is not None:
            made += _listed(traffic, Path(traffic.file), stations, network.routing.paths, rng)
            continue
        names = [site.name for site in stations.sites]
        pairs = list(_pairs(traffic, stations, source, rng))
        common = {"start_s": traffic.start_s, "stop_s": traffic.stop_s}
        if traffic.arrivals is None:
            schemes = _by_share(traffic.schemes, len(pairs), rng)
            made += [
                common
                | {"route": [names[end] for end in pair], "scheme": scheme}
                | {"transfer_bytes": traffic.transfer_bytes}
                for pair, scheme in zip(pairs, schemes, strict=True)
            ]
            continue
        arrivals, whole = traffic.arrivals, sum(traffic.schemes.values())
        for pair in pairs:
            for scheme, share in traffic.schemes.items():
                rate = arrivals.rate_per_s * share / whole / len(pairs)
                own = arrivals.model_dump() | {"rate_per_s": max(rate, 1e-6)}
                made.append(
                    common | {"route": [names[end] for end in pair], "scheme": scheme, "arrivals": own}
                )
    return [{key: value for key, value in flow.items() if value is not None} for flow in made]


def _pairs(
    traffic: Traffic, stations: GroundStations, source: str, rng: np.random.Generator
) -> Iterator[Pair]:
    count = len(stations.sites)
    if traffic.pattern == "gravity":
        yield from _by_gravity(traffic, stations, source, rng)
        return
    order = rng.permutation(count)
    for _ in range(traffic.flows or 1):
        match traffic.pattern:
            case "permutation":
                # One cycle through all stations: none sends to itself.
                yield from zip(order.tolist(), np.roll(order, -1).tolist(), strict=True)
            case "pairing":
                for first, second in order[: count // 2 * 2].reshape(-1, 2).tolist():
                    yield from ((first, second), (second, first))
            case "to_gateways" | "from_gateways":
                for station, gateway in _nearest_gateways(traffic, stations, source):
                    up = traffic.pattern == "to_gateways"
                    yield (station, gateway) if up else (gateway, station)
            case _:
                assert traffic.to is not None
                to = stations.index(traffic.to, f"{source}.to")
                yield from ((other, to) for other in range(count) if other != to)


def _nearest_gateways(traffic: Traffic, stations: GroundStations, source: str) -> Iterator[Pair]:
    """Yield each other station and the gateway at the shortest distance."""
    assert traffic.gateways is not None
    gateways = list(
        dict.fromkeys(
            stations.index(name, f"{source}.gateways.{index}") for index, name in enumerate(traffic.gateways)
        )
    )
    position_km = ground.stations(stations.sites).position_km
    others = [station for station in range(len(stations.sites)) if station not in set(gateways)]
    if not others:
        raise InputError(f"{source}.gateways: all stations are gateways, so none has traffic")
    for station in others:
        distance_km = np.linalg.norm(position_km[gateways] - position_km[station], axis=1)
        yield station, gateways[int(distance_km.argmin())]


def _by_gravity(
    traffic: Traffic, stations: GroundStations, source: str, rng: np.random.Generator
) -> Iterator[Pair]:
    """Draw both ends of each pair with probabilities in proportion to population."""
    population = stations.population
    if population is None:
        raise InputError(
            f"{source}.pattern: gravity needs stations.grid, or a stations.file with the column population"
        )
    if np.count_nonzero(population) < 2:
        raise InputError(f"{source}.pattern: gravity needs two stations with a population above 0")
    share = population / population.sum()
    for _ in range(traffic.flows or 1):
        first, second = rng.choice(len(share), 2, replace=False, p=share).tolist()
        yield first, second


def _by_share(schemes: dict[str, float], flows: int, rng: np.random.Generator) -> list[str]:
    """Return a scheme per flow: shares are met to within one flow, in random order."""
    ends = np.round(np.cumsum(list(schemes.values())) / sum(schemes.values()) * flows).astype(int)
    counts: NDArray[np.int64] = np.diff(ends, prepend=0)
    return rng.permutation(np.repeat(np.array(list(schemes), dtype=object), counts)).tolist()


def _listed(
    traffic: Traffic, path: Path, stations: GroundStations, paths: int, rng: np.random.Generator
) -> Iterator[Flow]:
    reader = csv.DictReader(io.StringIO(text_file.read(path, MOST_BYTES)))
    header = list(reader.fieldnames or [])
    known = ("from", "to", "scheme", "start_s", "stop_s", "transfer_bytes", "path")
    for column in ("from", "to"):
        if column not in header:
            raise InputError(f"{path}:1: {column}: no such column; there must be from and to")
    if unknown := [column for column in header if column not in known]:
        raise InputError(f"{path}:1: {unknown[0]}: unknown column; there may be {', '.join(known)}")
    rows = [(reader.line_num, row) for row in reader]
    # Of the rows without a scheme: each scheme then has as many flows with every seed.
    drawn = iter(_by_share(traffic.schemes, sum(not row.get("scheme") for _, row in rows), rng))
    for line, row in rows:
        flow: Flow = {"scheme": row.get("scheme") or next(drawn), "start_s": traffic.start_s}
        flow |= {"stop_s": traffic.stop_s, "transfer_bytes": traffic.transfer_bytes}
        flow["route"] = [
            stations.sites[stations.index(row[end], f"{path}:{line}: {end}")].name for end in ("from", "to")
        ]
        for column, kind in (("start_s", float), ("stop_s", float), ("transfer_bytes", int), ("path", int)):
            if text := row.get(column):
                try:
                    flow[column] = kind(text)
                except ValueError:
                    raise InputError(f"{path}:{line}: {column}: {text!r} is not a number") from None
        if not 0 <= flow.get("path", 0) < paths:
            raise InputError(
                f"{path}:{line}: path: must be from 0 to {paths - 1}, as routing.paths is {paths}"
            )
        yield flow
