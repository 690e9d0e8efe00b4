from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import floyd_warshall

from leogym.traces.orbit import constellation, ground, places
from leogym.traces.orbit.satellites import CircularOrbits
from leogym.traces.orbit.visibility import Visibility
from leogym.traces.path.network import Network
from leogym.traces.path.routing import chain_km, shortest, within

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def _cloud(seed):
    random = np.random.default_rng(seed)
    position_km = random.normal(size=(40, 3)) * 1000
    links = np.unique(np.sort(random.integers(0, 40, size=(90, 2)), axis=1), axis=0)
    return position_km, links[links[:, 0] != links[:, 1]]


@pytest.mark.parametrize("seed", range(20))
def test_a_bound_spares_work_and_changes_nothing(seed):
    position_km, links = _cloud(seed)
    length = np.linalg.norm(position_km[links[:, 0]] - position_km[links[:, 1]], axis=1)
    distance_km = floyd_warshall(csr_array((length, links.T), shape=(40, 40)), directed=False)
    for target in range(1, 40):
        chain = shortest(position_km, links, 0, target)
        if chain is None:
            assert np.isinf(distance_km[0, target])
            continue
        assert chain[0] == 0
        assert chain[-1] == target
        assert chain_km(position_km, chain) == pytest.approx(distance_km[0, target])
        bound_km = chain_km(position_km, chain)
        inside = within(position_km, 0, target, bound_km)
        kept = links[inside[links[:, 0]] & inside[links[:, 1]]]
        assert shortest(position_km, kept, 0, target, bound_km) == chain


@pytest.mark.parametrize("links", ["isl", "bent-pipe"])
def test_knowing_the_last_route_never_changes_the_next(links):
    data = constellation.load("starlink-1")
    orbits = CircularOrbits(data, EPOCH)
    visibility = Visibility(min_elevation_deg=25)
    cities = places.cities()
    network = Network(data, orbits, visibility, links, (cities["sd"], cities["ny"]))
    last = None
    for time_s in np.arange(0.0, 60.0, 1.0):
        ends = [
            int(
                np.argmin(visibility.slant_km(network.stations[side], orbits.positions_km(time_s // 15 * 15)))
            )
            for side in (0, 1)
        ]
        fresh = network.route(*ends, time_s, time_s + 1, None)
        last = network.route(*ends, time_s, time_s + 1, last)
        assert last == fresh


def test_a_gateway_link_holds_until_the_route_is_chosen_anew():
    data = constellation.load("starlink-1")
    orbits = CircularOrbits(data, EPOCH)
    cities = places.cities()
    network = Network(
        data, orbits, Visibility(min_elevation_deg=25), "bent-pipe", (cities["sd"], cities["ny"])
    )
    gateways = ground.stations(ground.gateways())
    checked = 0
    for start_s in range(0, 300, 10):
        chain = network.route_freely(start_s, start_s + 10, None)
        for time_s in np.linspace(start_s, start_s + 10, 21):
            for near, node in pairwise(chain[1:-1]):
                satellite, gateway = min(near, node), max(near, node) - network.first_gateway
                ray = orbits.positions_km(time_s, satellite) - gateways.position_km[gateway]
                sine = ray @ gateways.up[gateway] / np.linalg.norm(ray)
                assert np.degrees(np.arcsin(sine)) > 25 - 1e-6
                checked += 1
    assert checked > 2000
