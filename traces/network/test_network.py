"""Networks: Hypatia's routes, the links of a moment, patterns of traffic, and errors in one line."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import networkx
import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.configs import network as schema
from leogym.traces.network import description

HYPATIA = Path(__file__).resolve().parents[3] / "shared" / "data" / "hypatia"
RATE = {"rate_mbps": 10.0}
STATIONS = """name,lat_deg,lon_deg,population
Manila,14.6042,120.9822,23
Dalian,38.913811,121.602322,7
Lisbon,38.72,-9.14,3
Nairobi,-1.29,36.82,5
"""


def network(folder, pattern, **fields):
    """Return the description of a network between the stations above."""
    (folder / "stations.csv").write_text(STATIONS)
    ground = {"uplink": RATE, "downlink": RATE, "max_slant_km": 1260.0} | fields.pop("ground", {})
    data = {
        "name": "test",
        "constellation": "kuiper-630",
        "duration_s": 200.0,
        "stations": {"file": str(folder / "stations.csv")},
        "lasers": RATE,
        "ground": ground,
        "traffic": [pattern],
    }
    return description.describe(schema.parse(data | fields, "test"))


def pairs(folder, *rows):
    path = folder / "pairs.csv"
    path.write_text("\n".join(("from,to", *rows)) + "\n")
    return {"pattern": "pairs", "file": str(path)}


def test_routes_and_rtts_are_hypatias(tmp_path):
    if not HYPATIA.is_dir():
        pytest.skip(f"Hypatia's reference data is not at {HYPATIA}")
    rtts_ms = np.loadtxt(HYPATIA / "rtt_manila_dalian.txt", delimiter=",")[:, 1] / 1e6
    rows = [line.split(",") for line in (HYPATIA / "path_manila_dalian.txt").read_text().split()]
    changes = [(int(time_ns), [int(node) for node in nodes.split("-")[1:-1]]) for time_ns, nodes in rows]
    ours_ms, ours = [], []
    for time_s, [(nodes, rtt_ms)] in network(tmp_path, pairs(tmp_path, "Manila,Dalian")).routes(0.1):
        ours_ms.append(rtt_ms)
        if not ours or ours[-1][1] != nodes[1:-1]:
            ours.append((round(time_s * 1e9), nodes[1:-1]))
    # The requirement is 0.1 ms.
    assert np.array(ours_ms) == pytest.approx(rtts_ms, abs=0.001)
    assert ours == changes


def test_no_route_is_faster_than_light(tmp_path):
    described = network(tmp_path, {"pattern": "permutation"}, constellation="starlink-1", ground={})
    kilometres = described.topology.positions_km
    for time_s, routes in described.routes(20.0):
        position = kilometres(time_s)
        for nodes, rtt_ms in routes:
            if nodes:
                straight_km = np.linalg.norm(position[nodes[0]] - position[nodes[-1]])
                assert rtt_ms >= 2 * straight_km / 299.792458


def test_disjoint_paths_are_those_that_networkx_finds_without_the_links_of_shorter_ones(tmp_path):
    described = network(tmp_path, {"pattern": "permutation"}, routing={"paths": 4})
    moment, satellites = described.topology.moment(0.0), described.topology.satellites
    graph = networkx.Graph()
    for (first, second), km in zip(described.topology.lasers.tolist(), moment.laser_km, strict=True):
        if np.isfinite(km):
            graph.add_edge(first, second, km=km)
    # Stations do not relay: a station is two nodes without a way through, here left out but for a pair's own.
    ground = list(zip(moment.station.tolist(), moment.satellite.tolist(), moment.km, strict=True))
    _, routes = next(described.routes(200.0))
    for number, pair in enumerate(described.pairs):
        ends = [described.stations.index(name, "test") for name in pair]
        links = graph.copy()
        links.add_edges_from(
            (satellites + station, satellite, {"km": km})
            for station, satellite, km in ground
            if station in ends
        )
        start, end = (satellites + station for station in ends)
        paths = routes[4 * number : 4 * number + 4]
        expected = []
        while len(expected) < 4 and networkx.has_path(links, start, end):
            nodes = networkx.dijkstra_path(links, start, end, "km")
            kilometres = [links[one][two]["km"] for one, two in pairwise(nodes)]
            expected.append((nodes, 2 * sum(np.ceil(np.array(kilometres) / 299_792.458 * 1e9)) / 1e6))
            links.remove_edges_from(list(pairwise(nodes)))
        assert len(expected) >= 2
        for index, (nodes, rtt_ms) in enumerate(paths):
            assert nodes == expected[index % len(expected)][0]
            assert rtt_ms == pytest.approx(expected[index % len(expected)][1], abs=1e-6)


def test_limits_leave_each_station_and_satellite_its_nearest(tmp_path):
    free = network(tmp_path, {"pattern": "permutation"}).topology.moment(0.0)
    limits = {"satellites_per_station": 2, "stations_per_satellite": 1}
    limited = network(tmp_path, {"pattern": "permutation"}, ground=limits).topology.moment(0.0)
    assert max(Counter(limited.station.tolist()).values()) <= 2 < max(Counter(free.station.tolist()).values())
    assert max(Counter(limited.satellite.tolist()).values()) == 1
    for station in range(4):
        nearest = np.sort(free.km[free.station == station])[:2]
        assert set(limited.km[limited.station == station]) <= set(nearest)


def test_patterns_join_the_stations_that_they_say(tmp_path):
    def ends(traffic):
        return [tuple(flow["route"]) for flow in network(tmp_path, traffic).flows]

    permuted = ends({"pattern": "permutation", "flows": 2})
    assert Counter(start for start, _ in permuted) == Counter(end for _, end in permuted)
    assert len(permuted) == 8
    assert all(start != end for start, end in permuted)
    paired = ends({"pattern": "pairing"})
    assert {(end, start) for start, end in paired} == set(paired)
    assert len(paired) == 4
    assert {end for _, end in ends({"pattern": "all_to_one", "to": "Lisbon"})} == {"Lisbon"}
    gateways = ["Dalian", "Lisbon"]
    up = ends({"pattern": "to_gateways", "gateways": gateways})
    assert sorted(up) == [("Manila", "Dalian"), ("Nairobi", "Lisbon")]
    down = ends({"pattern": "from_gateways", "gateways": gateways, "flows": 2})
    assert Counter(down) == dict.fromkeys([end[::-1] for end in up], 2)
    drawn = Counter(ends({"pattern": "gravity", "flows": 1000}))
    assert drawn["Manila", "Dalian"] > 3 * drawn["Lisbon", "Nairobi"]


def test_a_grid_by_population_has_a_station_in_each_cell_and_gravity_follows_its_people(tmp_path):
    traffic = {"pattern": "gravity", "flows": 4000}
    described = network(tmp_path, traffic, stations={"grid": {"cell_deg": 30, "cells": 6}})
    people = described.stations.population
    assert people is not None
    ends = Counter(end for flow in described.flows for end in flow["route"])
    # A cell is the first end with its share of the people, and the second with its share of the others'.
    share = people / people.sum()
    expected = share + [
        sum(share * share[cell] / (1 - share)) - share[cell] ** 2 / (1 - share[cell]) for cell in range(6)
    ]
    assert [ends[site.name] / 4000 for site in described.stations.sites] == pytest.approx(expected, abs=0.03)


def test_schemes_have_their_shares_and_arrivals_their_rate(tmp_path):
    shares = {"cubic": 3.0, "bbr3": 1.0}
    flows = network(tmp_path, {"pattern": "permutation", "flows": 10, "schemes": shares}).flows
    assert Counter(flow["scheme"] for flow in flows) == {"cubic": 30, "bbr3": 10}
    arrivals = {"rate_per_s": 20.0, "mean_bytes": 10_000}
    flows = network(tmp_path, {"pattern": "permutation", "schemes": shares, "arrivals": arrivals}).flows
    rates = Counter()
    for flow in flows:
        rates[flow["scheme"]] += flow["arrivals"]["rate_per_s"]
    assert rates == pytest.approx({"cubic": 15.0, "bbr3": 5.0})


def test_check_names_stations_without_a_satellite_and_pairs_without_a_route_and_when(tmp_path):
    path = tmp_path / "stations.csv"
    rows = "Manila,14.6042,120.9822\nDalian,38.913811,121.602322\nPetersburg,59.929858,30.326228\n"
    fields = {"stations": {"file": str(path)}}
    reachable = network(tmp_path, pairs(tmp_path, "Manila,Dalian"))
    assert description.check(reachable, 10.0) == []
    path.write_text("name,lat_deg,lon_deg\n" + rows)
    data = reachable.network.model_dump() | fields
    data["traffic"] = [pairs(tmp_path, "Manila,Petersburg")]
    petersburg = description.describe(schema.parse(data, "test"))
    # Hypatia has no route from 155.4 to 165.2 s.
    assert description.check(petersburg, 1.0) == ["test: Manila > Petersburg: no route from 156 to 166 s"]
    path.write_text("name,lat_deg,lon_deg\n" + rows + "Pole,90,0\n")
    with pytest.raises(
        InputError, match="test: stations: Pole: no satellite of kuiper-630 comes into its reach"
    ):
        description.check(description.describe(schema.parse(data, "test")), 10.0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lasers": {"rate_mbps": 0.0}}, "lasers.rate_mbps: must be a number above 1e-6"),
        ({"lasers": RATE | {"queue": {"bdp": 1.0}}}, "lasers.queue: .*bdp: routes change"),
        ({"stations": {"names": ["Lisbon", "Lisbon"]}}, "stations: 'Lisbon': two stations have this name"),
        ({"stations": {"names": ["Lisbon", "Tokio, Mars"]}}, "stations.names.1: 'Tokio, Mars'"),
        ({"traffic": [{"pattern": "all_to_one"}]}, "to: all_to_one needs it"),
        ({"traffic": [{"pattern": "all_to_one", "to": "Rome"}]}, "traffic.0.to: 'Rome': no station"),
        ({"traffic": [{"pattern": "to_gateways"}]}, "gateways: to_gateways and from_gateways need it"),
        (
            {"traffic": [{"pattern": "to_gateways", "gateways": ["Lisbon", "Nairobi", "Manila", "Dalian"]}]},
            "traffic.0.gateways: all stations are gateways",
        ),
        ({"traffic": [{"pattern": "pairing", "gateways": ["Lisbon"]}]}, "no other pattern has it"),
        (
            {"traffic": [{"pattern": "from_gateways", "gateways": ["Lisbon", "Rome"]}]},
            "traffic.0.gateways.1: 'Rome': no station",
        ),
        ({"traffic": [{"pattern": "permutation", "schemes": {"satcp": 1.0}}]}, "announces no handovers"),
        (
            {"traffic": [{"pattern": "permutation", "schemes": {"cubic": 1.0, "cubik": 1.0}}]},
            'does not run the scheme "cubik"',
        ),
        ({"colour": "red"}, "colour"),
        (
            {"routing": {"by_load": {"period_ms": 150.0}}},
            "by_load.period_ms: must be a multiple of interval_ms, 100",
        ),
        ({"routing": {"paths": 0}}, "routing.paths: must be"),
        (
            {"stations": {"grid": {"cell_deg": 30, "cells": 99}}},
            "stations.grid.cells: 55 cells of 30 degrees",
        ),
        ({"stations": {"grid": {"cell_deg": 31, "cells": 9}}}, "stations.grid.cell_deg: must be"),
        (
            {"stations": {"cities": 9, "grid": {"cell_deg": 3, "cells": 9}}},
            "give one of names, file, cities and",
        ),
    ],
)
def test_an_invalid_network_is_one_line(tmp_path, fields, message):
    with pytest.raises(InputError, match=message) as error:
        network(tmp_path, {"pattern": "permutation"}, **fields)
    assert "\n" not in str(error.value)


def test_with_every_seed_a_scheme_has_as_many_of_the_listed_flows(tmp_path):
    traffic = pairs(tmp_path) | {"schemes": {"agent": 1.0, "cubic": 1.0}}
    rows = ["Manila,Dalian,agent", *["Manila,Dalian,"] * 4, "Dalian,Manila,reno"]
    Path(traffic["file"]).write_text("\n".join(("from,to,scheme", *rows)) + "\n")
    orders = set()
    for seed in range(8):
        schemes = [flow["scheme"] for flow in network(tmp_path, traffic, seed=seed).flows]
        assert (schemes[0], schemes[5]) == ("agent", "reno")
        assert sorted(schemes[1:5]) == ["agent", "agent", "cubic", "cubic"]
        orders.add(tuple(schemes))
    assert len(orders) > 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("stations.csv", "name,lat_deg\nA,1\n", "stations.csv:1: lon_deg: no such column"),
        ("stations.csv", "name,lat_deg,lon_deg\nA,95,0\nB,0,0\n", "stations.csv:2: lat_deg: must be"),
        ("stations.csv", "name,lat_deg,lon_deg\nA,x,0\nB,0,0\n", "stations.csv:2: lat_deg, lon_deg"),
        ("pairs.csv", "from,to\nManila,Oslo\n", "pairs.csv:2: to: 'Oslo': no station"),
        (
            "pairs.csv",
            "from,to,start_s\nManila,Dalian,soon\n",
            "pairs.csv:2: start_s: 'soon' is not a number",
        ),
        ("pairs.csv", "from,to,path\nManila,Dalian,1\n", "pairs.csv:2: path: must be from 0 to 0"),
    ],
)
def test_an_error_in_a_csv_file_names_line_and_rule(tmp_path, name, text, message):
    traffic = pairs(tmp_path, "Manila,Dalian")
    valid = network(tmp_path, traffic).network
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        description.describe(valid)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lasers: {rate_mbps: 0}", "mine.yaml:3: lasers.rate_mbps: must be a number above"),
        ("lasers:\n  queue: {packets: 9}\n  rate_mbps: -1", "mine.yaml:5: lasers.rate_mbps"),
        ("colour: red", "mine.yaml:3: colour"),
        (
            "lasers: {rate_mbps: 1}\ntraffic:\n  - {pattern: permutation}\n  - {pattern: gravity}",
            "mine.yaml:6: traffic.1",
        ),
    ],
)
def test_an_error_in_a_network_file_names_its_line(tmp_path, text, message):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "duration_s: 3\nground: {uplink: {rate_mbps: 1}, downlink: {rate_mbps: 1}, shared: false}\n"
        f"{text}\nstations: {{cities: 4}}\n"
    )
    with pytest.raises(InputError, match=message):
        schema.load(str(path))


@pytest.mark.parametrize("name", schema.names())
def test_the_networks_that_come_with_leogym_have_stations_routes_and_flows(name):
    described = description.load(name)
    _, routes = next(described.routes(1e6))
    assert len(described.flows) >= len(described.pairs) >= 8
    assert len(routes) == len(described.pairs) * described.network.routing.paths
    assert np.mean([bool(nodes) for nodes, _ in routes]) > 0.8
