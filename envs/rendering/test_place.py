import numpy as np
import pytest

from leogym import traces
from leogym.envs.rendering.place import places
from leogym.envs.rendering.test_course import scenario
from leogym.traces.orbit import ground
from leogym.traces.orbit.earth import LIGHT_KM_PER_S


def test_the_chain_is_as_long_as_the_trace_says_at_every_time():
    moved = scenario()
    loaded = traces.load_all(moved.traces)
    trace = loaded["sd-ny-bp"]
    place = places(moved, loaded)["orbit"]
    for time_s in np.arange(0.05, 60.0, 1.9):
        row = np.searchsorted(trace.time_ns / 1e9, place.trace_s(time_s), side="right") - 1
        if trace.connected[row]:
            chain = place.chain(time_s)
            assert chain is not None
            legs_km = np.linalg.norm(np.diff(place.position_km(chain, time_s), axis=0), axis=1)
            assert legs_km.sum() / LIGHT_KM_PER_S * 1e9 == pytest.approx(trace.delay_ns[row], rel=2e-3)
            assert place.route_number(time_s) == trace.path_id[row]


def test_the_chain_joins_the_sites():
    moved = scenario()
    place = places(moved, traces.load_all(moved.traces))["orbit"]
    chain = place.chain(30.0)
    assert chain is not None
    assert [chain.names[0], chain.names[-1]] == ["San Diego", "New York"]
    ends = place.position_km(chain, 30.0)[[0, -1]]
    assert np.allclose(ends, ground.stations(list(place.sites)).position_km)


def test_links_without_a_site_have_no_place():
    static = scenario(
        links={"static": {"rate_mbps": 10, "delay_ms": 1}, "starlink": {"trace": "starlink"}},
        flows=[{"scheme": "agent", "route": ["static", "starlink"]}],
    )
    assert places(static, traces.load_all(static.traces)) == {}
