from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

from leogym import traces
from leogym.common.errors import InputError
from leogym.configs import scenario, suite
from leogym.traces.orbit.earth import LIGHT_KM_PER_S
from leogym.traces.path import cache as trace_cache
from leogym.traces.path import physics, shared, shared_stretch
from leogym.traces.path.build import Builder
from leogym.traces.path.path import Block
from leogym.traces.path.shared_stretch import Sharing, common_run, split

SCENARIOS = Path(__file__).resolve().parents[2] / "configs" / "scenarios"
BENT_PIPE = {"links": "bent-pipe", "duration_s": 200.0}


@cache
def _pairs(name: str) -> shared.Pairs:
    if name == "bent-pipe":
        return shared.pairs("sd,ny", "lwc,ny", BENT_PIPE)
    if name == "sometimes unreachable":
        # A shell of 53° is sparse near the equator, and more so above 40° of elevation.
        return shared.pairs("bog,ny", "mia,ny", {"duration_s": 120.0, "min_elevation_deg": 40.0})
    return shared.named(name)


@cache
def _built(name: str) -> tuple[Sharing, list[list[Block]]]:
    """Return two paths, split, and the blocks of each path's own rows: to build them takes seconds."""
    built = []

    class Recorded(Builder):
        def blocks(self) -> Iterator[Block]:
            built.append(list(super().blocks()))
            return iter(built[-1])

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(shared_stretch, "Builder", Recorded)
        return split(_pairs(name).specs), built


def _split(name: str) -> Sharing:
    sharing, _ = _built(name)
    return sharing


# One worker for each pair of paths: to split them takes seconds.
NAMED = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in shared.names()]
ALL = [*NAMED, "bent-pipe", "sometimes unreachable"]


def _value_at(stretch, time_ns):
    """Return the delay at each time."""
    return stretch.delay_ns[np.searchsorted(stretch.time_ns, time_ns, side="right") - 1]


@pytest.mark.parametrize("name", ALL)
def test_the_stretches_of_a_route_add_up_to_the_path_at_every_instant(name):
    sharing = _split(name)
    stretches = shared.stretches(_pairs(name), sharing)
    every_row = np.unique(np.concatenate([stretch.time_ns[:-1] for stretch in stretches.values()]))
    # Between the rows too: 1 ns before each row, and halfway to the next.
    between = (every_row[1:] + every_row[:-1]) // 2
    instants = np.unique(np.concatenate([every_row, every_row[1:] - 1, between]))
    starts = np.array([span.start_ns for span in sharing.spans])
    together = np.array([bool(span.nodes) for span in sharing.spans])
    together = together[np.searchsorted(starts, instants, side="right") - 1]
    for side in sharing.sides:
        whole = side.delay_ns[np.searchsorted(side.time_ns, instants, side="right") - 1]
        parts = _value_at(side.up, instants)
        if side.alone is not None:
            parts = parts + np.where(together, 0, _value_at(side.alone, instants))
        if side.rest is not None:
            rest = _value_at(side.rest, instants) + _value_at(sharing.shared, instants)
            parts = parts + np.where(together, rest, 0)
        assert (parts == whole).all()


@pytest.mark.parametrize("name", ALL)
def test_stretches_are_path_traces_that_pass_the_check(name, tmp_path):
    wanted, sharing = _pairs(name), _split(name)
    for link, stretch in shared.stretches(wanted, sharing).items():
        trace = trace_cache.parse(shared.trace_text(wanted, link, stretch).encode(), link)
        assert physics.check(trace, link) == []
        assert (np.diff(stretch.time_ns + stretch.delay_ns) >= 0).all()
        assert trace.period_ns == round(wanted.specs[0].duration_s * 1e9)


@pytest.mark.parametrize("name", ALL)
def test_spans_of_sharing_are_those_that_comparing_all_hops_step_by_step_finds(name):
    sharing, built = _built(name)
    hops: list[list[set[tuple[int, int]]]] = []
    for spec, blocks in zip(_pairs(name).specs, built, strict=True):
        first_user = Builder(spec).network.first_user
        own = []
        for block in blocks[:-1]:
            chain = block.chain or ()
            links = {link for link in pairwise(chain) if max(link) < first_user}
            own += [links for time_ns in block.time_ns.tolist() if time_ns % 100_000_000 == 0]
        hops.append(own)
    expected = [bool(first & second) for first, second in zip(*hops, strict=True)]
    starts = np.array([span.start_ns for span in sharing.spans])
    grid_ns = np.arange(len(expected)) * 100_000_000
    index = np.searchsorted(starts, grid_ns, side="right") - 1
    found = [bool(sharing.spans[at].nodes) for at in index.tolist()]
    assert found == expected
    assert sharing.share == pytest.approx(np.mean(expected), abs=1e-12)
    for at, first, second in zip(index.tolist(), *hops, strict=True):
        # Shortest ways between two nodes are equal, so the shared hops form one run.
        assert set(pairwise(sharing.spans[at].nodes)) == first & second


@pytest.mark.xdist_group("shared-sd-lwc-ny")
def test_the_shared_stretch_is_as_long_as_its_legs():
    sharing = _split("shared-sd-lwc-ny")
    network = Builder(_pairs("shared-sd-lwc-ny").specs[0]).network
    for span in sharing.spans:
        if not span.nodes:
            continue
        positions = network.positions_km(span.start_ns / 1e9)
        km = sum(
            float(np.linalg.norm(positions[near] - positions[far])) for near, far in pairwise(span.nodes)
        )
        assert _value_at(sharing.shared, span.start_ns) / 1e9 * LIGHT_KM_PER_S == pytest.approx(km, rel=1e-6)


@pytest.mark.xdist_group("shared-sd-lwc-ny")
def test_an_outage_takes_down_the_link_of_the_user_that_hands_over():
    sharing = _split("shared-sd-lwc-ny")
    far_outages = 0
    for side in sharing.sides:
        parts = [part for part in (side.up, side.alone, side.rest) if part is not None]
        kinds = [{kind for kind in part.event if kind} for part in parts]
        assert "hard_handover" in kinds[0]
        far_outages += sum("hard_handover" in kind for kind in kinds[1:])
        for part in parts:
            hard = np.array([kind == "hard_handover" for kind in part.event])
            assert not part.connected[hard].any()
    # Both pairs use the same satellite over New York, so they lose it together.
    assert far_outages >= 2
    assert sharing.shared.connected.all()


@pytest.mark.parametrize(
    ("first", "second", "run"),
    [
        ((90, 1, 2, 3, 91), (92, 7, 2, 3, 8, 93), (2, 3)),
        ((90, 1, 2, 3, 91), (92, 3, 2, 1, 93), ()),
        ((90, 1, 2, 3, 91), (90, 1, 93), ()),
        ((90, 1, 2, 9, 3, 4, 5, 91), (92, 1, 2, 3, 4, 5, 93), (3, 4, 5)),
        ((90, 1, 2, 91), None, ()),
    ],
)
def test_common_runs_have_one_direction_and_leave_users_out(first, second, run):
    assert common_run(first, second, 90) == run


@pytest.mark.parametrize("name", NAMED)
def test_the_scenario_that_comes_with_leogym_is_what_the_command_makes(name, monkeypatch):
    def split_once(specs):
        assert specs == _pairs(name).specs
        return _split(name)

    monkeypatch.setattr(shared, "split", split_once)
    # After a change of the model, write `shared.named_scenario_text(name)` to the file.
    assert (SCENARIOS / f"{name}.yaml").read_text() == shared.named_scenario_text(name)


@pytest.mark.parametrize("name", NAMED)
def test_queues_hold_the_longer_path_and_repeats_do_not_move_traces_under_the_events(name):
    loaded = suite.load(str(SCENARIOS / f"{name}.yaml"))
    assert not loaded.vary_offset
    longest_ms = max(float(np.mean(side.delay_ns)) / 1e6 for side in _split(name).sides)
    (case,) = loaded.cases("cubic")
    for link in case.scenario.links.values():
        # 100 Mbit/s is 25 packets per 3 ms; rows are almost evenly spaced.
        assert link.queue.packets == pytest.approx(2 * longest_ms * 25 / 3, abs=2)


@pytest.mark.xdist_group("shared-sd-lwc-ny")
def test_events_follow_the_spans():
    sharing = _split("shared-sd-lwc-ny")
    document = yaml.safe_load((SCENARIOS / "shared-sd-lwc-ny.yaml").read_text())
    at_s = [event["at_s"] for event in document["events"]]
    assert at_s == sorted(at_s)
    for event in document["events"]:
        (span,) = (span for span in sharing.spans if span.start_ns == round(event["at_s"] * 1e9))
        assert ("shared" in event["reroute"]["route"]) == bool(span.nodes)


def test_a_written_scenario_runs_and_both_flows_get_through(tmp_path):
    import leosim

    wanted = shared.pairs("sd-ny-isl", "lwc,ny", {"duration_s": 60.0, "capacity_mbps": 20.0, "start_s": 30.0})
    sharing = shared.write(wanted, tmp_path / "out", "cubic")
    assert 0 < sharing.share < 1
    loaded = scenario.load(tmp_path / "out" / "scenario.yaml")
    (log,) = leosim.run([loaded.to_json()], traces.load_all(loaded.traces))
    assert len(log.flows) == 2
    for flow in log.flows:
        # Half of an even share of 20 Mbit/s.
        assert flow["goodput_mbps"] > 5
    assert sum(link["delivered_packets"] > 0 for link in log.links) == len(loaded.links)
    # Over all reroutes, the simulator's base RTT is twice the path's delay wherever that is constant.
    series = log.flow_series
    for flow, side in enumerate(sharing.sides):
        own = series["flow"] == flow
        base_ms, at_ns = series["base_rtt_ms"][own], np.rint(series["time_s"][own] * 1e9).astype(np.int64)
        early, late = (
            2 * side.delay_ns[np.searchsorted(side.time_ns, at_ns - back_ns, side="right") - 1] / 1e6
            for back_ns in (250_000_000, 0)
        )
        # The traces repeat at the very end.
        steady = (np.abs(early - late) < 0.05) & np.isfinite(base_ms) & (at_ns < 60_000_000_000)
        assert steady.mean() > 0.8
        assert base_ms[steady] == pytest.approx(late[steady], abs=0.05)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("sd,ny sd,atlantis --out x", "shared: 'sd,atlantis': must be FROM,TO"),
        ("sd,ny lwc,ny --duration -1 --out x", "shared: duration_s: must be a number above 0"),
        ("sd,ny lwc,ny --duration 30 --out file/x", "file/x: cannot be written: Not a directory"),
        ("sd,ny lwc,ny", "the following arguments are required: --out"),
    ],
)
def test_bad_input_to_the_command_is_one_line_with_exit_status_2(
    refused_traces, monkeypatch, tmp_path, words, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert message in refused_traces("shared", words)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_same_command_writes_the_same_bytes(tmp_path):
    wanted = shared.pairs("sd,ny", "lwc,ny", {"duration_s": 20.0, "start_s": 45.0})
    first, second = (split(wanted.specs) for _ in range(2))
    for link, stretch in shared.stretches(wanted, first).items():
        again = shared.stretches(wanted, second)[link]
        assert shared.trace_text(wanted, link, stretch) == shared.trace_text(wanted, link, again)
    assert "--start 45" in shared.command_line(wanted)
    assert shared.command_line(wanted).endswith("sd,ny lwc,ny")


def test_named_stretches_load_by_name_and_unknown_ones_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path))
    trace = traces.load("shared-sd-lwc-ny/shared")
    assert trace.period_ns == 300_000_000_000
    with pytest.raises(InputError, match="shared-sd-lwc-ny/left: trace: no such stretch"):
        traces.load("shared-sd-lwc-ny/left")


@pytest.mark.parametrize(
    ("first", "second", "fields", "message"),
    [
        ("sd,atlantis", "sd,ny", {}, "shared: 'sd,atlantis': must be FROM,TO"),
        ("sd-ny-isl", "sd-ny-bp", {}, "must have the same links and constellation"),
        ("sd,ny", "San Diego,new york", {}, "are the same pair"),
        ("sd,ny", "lwc,ny", {"duration_s": 0.05}, "shared: duration_s: 0.05 is not a multiple"),
    ],
)
def test_bad_pairs_are_one_line(first, second, fields, message):
    with pytest.raises(InputError) as caught:
        shared.pairs(first, second, fields)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_cities_and_coordinates_mix():
    wanted = shared.pairs("40.7,-74,ldn", "St. John's,40.7,-74", {})
    assert [spec.to_site.name for spec in wanted.specs] == ["London", "40.7,-74"]
    assert wanted.labels == ("first", "second")


def test_a_scenario_of_the_users_is_not_replaced(tmp_path):
    (tmp_path / "scenario.yaml").write_text("name: mine\n")
    with pytest.raises(InputError, match=r"scenario\.yaml: .*would be replaced by another scenario"):
        shared.write(shared.pairs("sd,ny", "lwc,ny", BENT_PIPE), tmp_path, "cubic")
    assert [path.name for path in tmp_path.iterdir()] == ["scenario.yaml"]
