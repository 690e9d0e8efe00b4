import re
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from leogym.common.errors import InputError
from leogym.traces.orbit.earth import LIGHT_KM_PER_S
from leogym.traces.orbit.ground import Site
from leogym.traces.orbit.visibility import elevation_deg
from leogym.traces.path import attachment, handover, named_paths
from leogym.traces.path.build import Builder, Path, build
from leogym.traces.path.spec import PathSpec

# All tests run in one worker, which builds each path once.
PATHS = [
    pytest.param(name, marks=pytest.mark.xdist_group(name))
    for name in ("sd-ny-isl", "sd-ny-bp", "ny-ldn-isl")
]


@cache
def _revolution(name) -> tuple[Builder, Path]:
    spec = named_paths.spec(name)
    return Builder(spec), build(spec)


def _spec(**changes) -> PathSpec:
    base = {
        "name": "test",
        "from_site": Site(name="San Diego", lat_deg=32.7157, lon_deg=-117.1647),
        "to_site": Site(name="New York", lat_deg=40.7143, lon_deg=-74.006),
        "duration_s": 90.0,
    }
    return PathSpec.model_validate(base | changes)


@pytest.mark.parametrize("name", PATHS)
def test_no_leg_is_faster_than_light_over_a_whole_revolution(name):
    builder, path = _revolution(name)
    floor_km = builder.constellation.altitude_km
    # The oracle places nodes one by one and uses plain Python arithmetic.
    for row in range(0, len(path.time_ns) - 1, 997):
        chain = path.chains[path.path_id[row]]
        positions = [builder.network.positions_km(path.time_ns[row] / 1e9)[node].tolist() for node in chain]
        straight_km = [
            sum((a - b) ** 2 for a, b in zip(*ends, strict=True)) ** 0.5 for ends in pairwise(positions)
        ]
        assert path.leg_km[row] == pytest.approx(straight_km, rel=1e-12)
    for legs_km, delay_ns in zip(path.leg_km[:-1], path.delay_ns[:-1], strict=True):
        # Printed delays are rounded up, so the legs at light speed never exceed them.
        assert legs_km.sum() / LIGHT_KM_PER_S * 1e9 <= delay_ns + 1e-3
        assert min(legs_km[0], legs_km[-1]) >= floor_km


@pytest.mark.parametrize("name", PATHS)
def test_users_are_served_from_above_the_elevation_limit_and_change_satellites_every_15_s_only(name):
    builder, path = _revolution(name)
    before = None
    for row, event in enumerate(path.event[:-1]):
        chain = path.chains[path.path_id[row]]
        users = (chain[1], chain[-2])
        if before is not None and users != before:
            assert path.time_ns[row] % 15_000_000_000 == 0
            assert event == handover.HARD
        before = users
    time_s = path.time_ns[:-1] / 1e9
    for side, place in ((0, 1), (1, -2)):
        held = np.array([path.chains[number][place] for number in path.path_id[:-1]])
        elevation = elevation_deg(builder.network.stations[side], builder.orbits.positions_km(time_s, held))
        assert elevation.min() >= 25


@pytest.mark.parametrize("name", PATHS)
def test_each_user_gets_the_nearest_satellite_at_every_re_selection(name):
    builder, path = _revolution(name)
    rows = np.searchsorted(path.time_ns, np.arange(0, 5731, 15) * 1_000_000_000)
    for row in rows.tolist():
        everyone = builder.orbits.positions_km(path.time_ns[row] / 1e9)
        chain = path.chains[path.path_id[row]]
        for side, satellite in ((0, chain[1]), (1, chain[-2])):
            slant = np.linalg.norm(everyone - builder.network.stations.position_km[side], axis=1)
            assert satellite == np.argmin(slant)


@pytest.mark.parametrize("name", PATHS)
def test_hard_handovers_take_one_and_a_half_round_trips_over_old_and_new_user_link(name):
    builder, path = _revolution(name)
    rows = [row for row, event in enumerate(path.event) if event == handover.HARD]
    assert len(rows) > 100
    for row in rows:
        old, new = path.chains[path.path_id[row - 1]], path.chains[path.path_id[row]]
        positions = builder.network.positions_km(path.time_ns[row] / 1e9)
        ends_ns = []
        for user, place in ((old[0], 1), (old[-1], -2)):
            if old[place] == new[place]:
                continue
            round_trips_km = [
                2 * np.linalg.norm(positions[user] - positions[chain[place]]) for chain in (old, new)
            ]
            ends_ns.append(1.5 * sum(round_trips_km) / LIGHT_KM_PER_S * 1e9)
        back = row + 1 + np.argmax(path.connected[row + 1 :])
        assert not path.connected[row:back].any()
        assert path.time_ns[back] - path.time_ns[row] == pytest.approx(max(ends_ns), abs=1)
        # One and a half round trips over two user links, old and new, of 550 to 1,123 km.
        assert 11_000_000 < path.time_ns[back] - path.time_ns[row] < 22_500_000


@pytest.mark.parametrize("name", PATHS)
def test_later_packets_never_overtake_and_user_links_never_freeze(name):
    _, path = _revolution(name)
    assert (np.diff(path.time_ns) > 0).all()
    assert (np.diff(path.time_ns + path.delay_ns) >= 0).all()
    user_km = np.array([legs[0] for legs in path.leg_km[:-1]])
    still = np.diff(user_km) == 0
    assert not still.any()


@pytest.mark.parametrize("name", PATHS)
def test_route_changes_are_events_and_events_are_route_changes(name):
    _, path = _revolution(name)
    changed = np.diff(path.path_id) != 0
    named = np.array([event != "" for event in path.event])[1:]
    assert (changed == named).all()
    assert {"hard_handover", "soft_handover"} <= {event.partition("(")[0] for event in path.event}
    assert not path.event[0]


@pytest.mark.parametrize("name", PATHS)
def test_soft_handovers_name_the_stretch_of_the_old_route_that_the_new_one_leaves(name):
    builder, path = _revolution(name)
    rows = [row for row, event in enumerate(path.event) if handover.is_soft(event)]
    assert len(rows) > 20
    for row in rows:
        old, new = path.chains[path.path_id[row - 1]], path.chains[path.path_id[row]]
        where_km = builder.network.positions_km(path.time_ns[row] / 1e9)
        reached_ms = [0.0]
        for near, node in pairwise(old):
            leg_km = np.linalg.norm(where_km[near] - where_km[node])
            reached_ms.append(reached_ms[-1] + leg_km / LIGHT_KM_PER_S * 1000)
        from_ms, to_ms = map(float, path.event[row].partition("(")[2].rstrip(")").split(".."))
        first, last = (int(np.argmin(np.abs(np.array(reached_ms) - at))) for at in (from_ms, to_ms))
        assert [reached_ms[first], reached_ms[last]] == pytest.approx([from_ms, to_ms], abs=6e-4)
        # Outside the stretch both routes have the same nodes; next to its ends they differ.
        assert old[: first + 1] == new[: first + 1]
        assert old[first + 1] != new[first + 1]
        assert old[last:] == new[len(new) - (len(old) - last) :]
        assert old[last - 1] != new[len(new) - (len(old) - last) - 1] or last - 1 == first


def test_re_selections_come_at_their_phase():
    path = build(_spec(duration_s=120.0, reattach_phase_s=12.0, start_s=5.0))
    before, changes = None, []
    for row, number in enumerate(path.path_id[:-1]):
        users = path.chains[number][1], path.chains[number][-2]
        if before is not None and users != before:
            changes.append(path.time_ns[row] / 1e9 + 5.0)
        before = users
    assert len(changes) >= 3
    assert all((change_s - 12) % 15 == 0 for change_s in changes)


def test_a_trace_that_starts_before_the_first_phase_is_attached_by_the_slot_before_it():
    whole = build(_spec(duration_s=30.0, reattach_phase_s=12.0, start_s=15.0))
    early = build(_spec(duration_s=45.0, reattach_phase_s=12.0))
    assert early.chains[0][1] >= 0
    rows = np.flatnonzero(early.time_ns >= 15_000_000_000)
    assert whole.delay_ns[1:].tolist() == early.delay_ns[rows][1:].tolist()


def test_shortest_holds_its_satellites_only_where_a_period_is_given():
    held = build(_spec(attach="shortest", reattach_s=15.0))
    free = build(_spec(attach="shortest"))
    assert handover.HARD in held.event
    assert handover.HARD not in free.event
    assert free.connected.all()
    assert not held.connected.all()


def test_a_bent_pipe_alternates_between_satellites_and_gateways():
    builder, path = _revolution("sd-ny-bp")
    first_gateway = builder.network.first_gateway
    for chain in path.chains.values():
        inner = chain[1:-1]
        assert all(node < first_gateway for node in inner[0::2])
        assert all(first_gateway <= node < builder.network.first_user for node in inner[1::2])
    hops = {len(chain) for chain in path.chains.values()}
    assert max(hops) >= 9  # at least four satellites and three gateways across the continent
    assert builder.network.node_name(path.chains[0][2]).endswith(
        ("CA", "AZ", "NV", "UT", "NM", "CO", "TX", "MX")
    )


def test_a_path_that_starts_later_is_the_tail_of_one_that_starts_earlier():
    whole, tail = build(_spec()), build(_spec(start_s=37.3, duration_s=90.0 - 37.3))
    shift_ns = 37_300_000_000
    rows = np.flatnonzero(whole.time_ns >= shift_ns)
    assert tail.time_ns.tolist() == (whole.time_ns[rows] - shift_ns).tolist()
    assert tail.delay_ns[1:].tolist() == whole.delay_ns[rows][1:].tolist()
    assert [tail.chains[number] for number in tail.path_id[:-1]] == [
        whole.chains[number] for number in whole.path_id[rows][:-1]
    ]


def test_the_same_spec_gives_the_same_path():
    first, second = build(_spec(links="bent-pipe")), build(_spec(links="bent-pipe"))
    assert first.delay_ns.tolist() == second.delay_ns.tolist()
    assert first.event == second.event


def test_both_directions_of_a_path_take_the_same_time():
    there = build(_spec())
    spec = _spec()
    back = build(spec.model_copy(update={"from_site": spec.to_site, "to_site": spec.from_site}))
    assert np.abs(there.delay_ns - back.delay_ns).max() <= 1


def test_two_users_under_one_satellite_share_it():
    near = Site(name="near", lat_deg=32.9, lon_deg=-117.2)
    path = build(_spec(to_site=near))
    assert len(path.chains[0]) == 3
    assert path.delay_ns.min() >= 2 * 550 / LIGHT_KM_PER_S * 1e9


def test_shortest_attachment_is_never_longer_than_nearest():
    nearest = build(_spec(duration_s=10.0))
    shortest = build(_spec(duration_s=10.0, attach="shortest", route_s=0.1))
    grid = np.arange(0, 10_000_000_000, 100_000_000)
    assert (
        shortest.delay_ns[np.searchsorted(shortest.time_ns, grid)]
        <= nearest.delay_ns[np.searchsorted(nearest.time_ns, grid)]
    ).all()


def test_steps_finer_than_an_outage_are_disconnected_throughout_it():
    path = build(_spec(duration_s=31.0, step_ms=5))
    row = path.event.index(handover.HARD)
    back = row + int(np.argmax(path.connected[row:]))
    assert back - row >= 3
    assert path.connected[:row].all()
    assert path.connected[back:].all()


def test_a_satellite_that_sets_is_replaced_at_once():
    # A pass is shorter than ten minutes.
    spec = _spec(duration_s=2000.0, reattach_s=600.0)
    builder = Builder(spec)
    station = builder.network.stations[0]
    site = attachment.Nearest(station, builder.orbits, builder.visibility, builder.clock)
    choices = list(site.choices())
    off_grid = [step for step, _ in choices if step % 6000]
    assert off_grid
    for step in off_grid:
        before = next(satellite for at, satellite in reversed(choices) if at < step)
        positions = builder.orbits.positions_km(np.array([step - 1, step]) / 10, np.array([before, before]))
        last_seen, gone = elevation_deg(station, positions)
        assert gone < 25 <= last_seen


def test_spans_without_a_satellite_are_recorded_and_hold_the_last_delay(tmp_path):
    # One plane of eight satellites leaves gaps in coverage.
    sparse = tmp_path / "sparse.yaml"
    sparse.write_text(
        "{name: sparse, source: test, min_elevation_deg: 10, shells: [{planes: 1, satellites_per_plane: 8, "
        "altitude_km: 1200, inclination_deg: 53}]}"
    )
    spec = _spec(
        constellation=str(sparse),
        to_site=Site(name="near", lat_deg=33.5, lon_deg=-116.0),
        duration_s=7000.0,
        step_ms=1000,
        start_s=30_000.0,
    )
    path = build(spec)
    gaps = [row for row, event in enumerate(path.event) if event == handover.UNREACHABLE]
    assert gaps
    for row in gaps:
        assert not path.connected[row]
        assert path.chains[path.path_id[row]] is None
        end = row + int(np.argmax(path.connected[row:]))
        if path.connected[end]:
            begin = path.event.index(handover.HARD, row)
            assert begin < end
        else:
            begin = len(path.time_ns)
        if row:
            assert set(path.delay_ns[row:begin]) == {path.delay_ns[row - 1]}
    assert (path.delay_ns > 0).all()


def _path_or_none(spec) -> Path | None:
    """Return a path, or None if a site sees no satellite or there is no route."""
    try:
        return build(spec)
    except InputError as error:
        if re.search(r"never sees a satellite|route ever joins", str(error)):
            return None
        raise


@settings(max_examples=40, deadline=None)
@given(
    constellation=st.sampled_from(
        ["starlink-1", "starlink-leoem", "starlink-4", "kuiper-630", "kuiper-590", "telesat", "oneweb"]
    ),
    origin=st.tuples(st.floats(-56, 56), st.floats(-180, 180)),
    destination=st.tuples(st.floats(-56, 56), st.floats(-180, 180)),
    attach=st.sampled_from(["nearest", "shortest"]),
    start_s=st.integers(0, 86_400),
    phase_s=st.integers(0, 14),
    epoch_days=st.integers(0, 9_000),
)
def test_anywhere_and_at_any_time_legs_are_real_and_satellites_high_enough(
    constellation, origin, destination, attach, start_s, phase_s, epoch_days
):
    assume(origin != destination)
    spec = _spec(
        constellation=constellation,
        links="bent-pipe" if constellation == "oneweb" else "isl",
        attach=attach,
        reattach_s=15.0,
        reattach_phase_s=float(phase_s),
        from_site=Site(name="here", lat_deg=origin[0], lon_deg=origin[1]),
        to_site=Site(name="there", lat_deg=destination[0], lon_deg=destination[1]),
        start_s=float(start_s),
        duration_s=40.0,
        step_ms=1000,
        epoch=datetime.fromtimestamp(946_684_800 + 86_400 * epoch_days, tz=UTC),
    )
    builder, path = Builder(spec), _path_or_none(spec)
    if path is None:
        return
    lowest_km, least_deg = builder.orbits.lowest_km(), builder.constellation.min_elevation_deg
    before = None
    for row, number in enumerate(path.path_id[:-1]):
        chain, time_s = path.chains[number], start_s + path.time_ns[row] / 1e9
        if chain is None:
            assert not path.connected[row]
            before = None
            continue
        where_km = builder.network.positions_km(time_s)
        straight_km = np.linalg.norm(np.diff(where_km[list(chain)], axis=0), axis=1)
        assert path.leg_km[row] == pytest.approx(straight_km, rel=1e-9)
        assert path.delay_ns[row] >= straight_km.sum() / LIGHT_KM_PER_S * 1e9 - 1e-3
        assert min(straight_km[0], straight_km[-1]) >= lowest_km
        users = (chain[1], chain[-2])
        for side, satellite in enumerate(users):
            assert elevation_deg(builder.network.stations[side], where_km[satellite]) >= least_deg - 1e-9
        if before is not None and users != before and (time_s - phase_s) % 15:
            # Off the grid, a satellite must be out of reach.
            gone = [
                elevation_deg(builder.network.stations[side], where_km[satellite]) < least_deg
                for side, satellite in enumerate(before)
            ]
            assert any(gone)
        before = users


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (
            {"from_site": Site(name="Alert", lat_deg=82.5, lon_deg=-62.3)},
            r"test: Alert \(82\.5, -62\.3\) never sees a satellite of starlink-1: all stay below its "
            r"horizon, the highest by \d+\.\d°: try another --start, or a --duration above ",
        ),
        (
            {"min_elevation_deg": 89.5},
            r"never sees a satellite of starlink-1 above 89\.5°: the highest reaches \d\d\.\d°: "
            r"try --min-elevation \d\d(\.\d)?, another --start, or a --duration above ",
        ),
        (
            {"constellation": "starlink-9"},
            r"constellation: 'starlink-9': neither a file nor a known constellation \(nearest: starlink-4,",
        ),
        (
            {"links": "bent-pipe", "to_site": Site(name="Tahiti", lat_deg=-17.5, lon_deg=-149.5)},
            "test: no bent-pipe route ever joins San Diego and Tahiti over starlink-1",
        ),
    ],
)
def test_what_cannot_be_built_is_named(changes, rule):
    with pytest.raises(InputError, match=rule):
        build(_spec(**changes))
