import json
import shlex

import leosim
import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.configs import scenario
from leogym.traces.__main__ import parser
from leogym.traces.capacity import terminal
from leogym.traces.path import cache, named_paths, path_trace, physics, synth


def _spec(name, **fields):
    return synth.parse({"name": name, **fields}, "here")


def _made(spec, folder):
    out = folder / "trace.csv"
    synth.write(spec, out)
    return out.read_bytes()


def _built(folder, **fields):
    spec = named_paths.spec("sd-ny-bp").model_copy(update={"duration_s": 40.0, **fields})
    out = folder / "built.csv"
    path_trace.write(spec, out)
    return out.read_bytes()


def _trace(data):
    return leosim.PathTrace.parse(data.decode(), "here")


def _carried_mbit(trace, bps):
    length_ns = np.diff(np.append(trace.time_ns, trace.period_ns).astype(np.int64))
    return float((bps * length_ns * trace.connected).sum() / 1e15)


@pytest.mark.parametrize("name", synth.PRESETS)
def test_every_preset_makes_the_same_bytes_twice_and_breaks_no_rule(name, tmp_path):
    spec = _spec(name, duration_s=40.0)
    data = _made(spec, tmp_path)
    assert data == _made(spec, tmp_path)
    assert physics.check(_trace(data), "here") == []
    assert _trace(data).period_ns == 40_000_000_000


def test_starlink_announces_its_grid_and_every_re_selection_on_it(tmp_path):
    about = json.loads(_trace(_made(_spec("starlink", duration_s=40.0), tmp_path)).metadata)
    assert (about["reattach_s"], about["reattach_phase_s"]) == (15.0, 0.0)
    assert [one["predicted_s"] for one in about["handovers"]] == [0.0, 15.0, 30.0]


@pytest.mark.parametrize("name", ["uniform-steps", "uniform-steps-lossy", "starlink"])
def test_another_seed_makes_another_trace(name, tmp_path):
    assert (
        _trace(_made(_spec(name, seed=1), tmp_path)).delay_ns[0]
        != (_trace(_made(_spec(name, seed=2), tmp_path)).delay_ns[0])
    )


def test_uniform_steps_change_every_15_s_within_the_papers_ranges(tmp_path):
    trace = _trace(_made(_spec("uniform-steps-lossy", duration_s=30_000.0), tmp_path))
    assert np.array_equal(trace.time_ns, np.arange(2000) * 15_000_000_000)
    for values, low, high in (
        (trace.uplink_bps / 1e6, 50, 100),
        (2 * trace.delay_ns / 1e6, 10, 100),
        (trace.loss, 0, 0.01),
    ):
        assert low <= values.min() < values.max() <= high
        assert values.mean() == pytest.approx((low + high) / 2, abs=4 * (high - low) / 12**0.5 / 2000**0.5)
    assert trace.connected.all()


def test_geo_is_600_ms_and_144_mbit_per_s(tmp_path):
    trace = _trace(_made(_spec("geo"), tmp_path))
    assert set(trace.delay_ns.tolist()) == {300_000_000}
    assert set(trace.uplink_bps.tolist()) == {144_000_000}
    assert trace.period_ns == 300_000_000_000


def test_a_name_may_give_fields_of_its_preset(tmp_path, monkeypatch):
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path))
    trace = cache.load("uniform-steps@3:duration_s=900:rtt_ms=5,100")
    assert trace.period_ns == 900_000_000_000
    expected = _made(_spec("uniform-steps", seed=3, duration_s=900.0, rtt_ms=(5.0, 100.0)), tmp_path)
    assert trace.delay_ns.tolist() == _trace(expected).delay_ns.tolist()


def test_outages_silence_the_end_of_every_period_and_are_announced(tmp_path):
    trace = _trace(_made(_spec("outages", outage_ms=20.0), tmp_path))
    down = trace.time_ns[~np.asarray(trace.connected, dtype=bool)]
    assert (down / 1e9).tolist() == pytest.approx([5 * slot + 4.98 for slot in range(20)])
    # The link is down for 20 ms of every 5 s.
    assert _carried_mbit(trace, trace.uplink_bps) == pytest.approx(100 * 100 * (1 - 0.02 / 5))
    about = json.loads(trace.metadata)
    assert [one["predicted_s"] for one in about["handovers"]] == pytest.approx((down / 1e9).tolist())
    assert about["reattach_phase_s"] == pytest.approx(4.98)


def test_starlinks_rows_never_let_a_packet_overtake_and_carry_what_was_measured(tmp_path):
    trace = _trace(_made(_spec("starlink", duration_s=600.0), tmp_path))
    assert (np.diff(trace.time_ns.astype(np.int64) + trace.delay_ns.astype(np.int64)) >= 0).all()
    # The mean minus a gap of 83 ms every 15 s; four standard errors over 40 slots.
    own = terminal.load("starlink")
    expected = terminal.mean(own.downlink.capacity_mbps) * (1 - 0.083 / 15)
    assert _carried_mbit(trace, trace.uplink_bps) / 600 == pytest.approx(expected, abs=4 * 14 / 40**0.5)
    assert _carried_mbit(trace, trace.downlink_bps) / 600 < 12
    # Base and jitter; the rest of the example trace's 7 to 68 ms one way is waiting.
    length_ns = np.diff(np.append(trace.time_ns, trace.period_ns).astype(np.int64))
    assert (trace.delay_ns * length_ns).sum() / length_ns.sum() / 1e6 == pytest.approx(9.7, abs=0.5)
    assert trace.delay_ns.min() >= 7_750_000
    assert trace.delay_ns.max() < 20_000_000


def _flow(trace, scheme):
    path = {"trace": "t", "queue": {"kind": "head_drop", "packets": 487}}
    scenario = {
        "name": "t",
        "duration_s": 30,
        "links": {"path": path},
        "flows": [{"scheme": scheme, "route": ["path"]}],
    }
    [log] = leosim.run([json.dumps(scenario)], {"t": trace}, series_ms=0.0)
    return log.flows[0]


def test_starlinks_silences_leave_a_scheme_that_reads_telemetry_a_path_to_work_on(tmp_path):
    trace = _trace(_made(_spec("starlink", duration_s=60.0), tmp_path))
    # With silences drawn evenly up to 15 ms, three times as long as measured, LeoTCP had a power of 0.58.
    leotcp = _flow(trace, "leotcp")
    assert leotcp["normalized_goodput"] > 0.8
    assert leotcp["delay_inflation"] < 1.3
    assert leotcp["power"] > 0.65


def test_a_fast_starlink_carries_five_times_as_much_in_the_same_frames(tmp_path):
    slow = _trace(_made(_spec("starlink", duration_s=40.0, rtt_ms=(30.0, 45.0)), tmp_path))
    fast = _trace(_made(_spec("starlink-fast", duration_s=40.0), tmp_path))
    assert fast.time_ns.tolist() == slow.time_ns.tolist()
    assert fast.uplink_bps == pytest.approx(5 * slow.uplink_bps, abs=5)
    assert json.loads(fast.metadata)["command"] == "leogym traces synth starlink-fast --duration 40.0"


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "uniform-steps", "rtt_ms": (5.0, 100.0), "max_loss": 0.01, "seed": 3},
        {"name": "outages", "outage_ms": 20.0},
        {"name": "geo", "loss": 0.001, "capacity_mbps": (50.0, 50.0), "duration_s": 20.0},
        {"name": "starlink", "terminal_at": "from", "loss_burst": "0.01,40", "duration_s": 20.0},
    ],
)
def test_the_command_in_the_metadata_makes_the_same_bytes(fields, tmp_path, run_traces):
    data = _made(synth.parse(fields, "here"), tmp_path)
    words = shlex.split(json.loads(_trace(data).metadata)["command"])
    out = tmp_path / "again.csv"
    assert run_traces(*words[2:], "--out", out) == 0
    assert out.read_bytes() == data


def test_presets_are_named_like_paths_with_a_seed_after_an_at(tmp_path, monkeypatch):
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path))
    assert cache.load("uniform-steps").delay_ns[0] == cache.load("uniform-steps@0").delay_ns[0]
    assert cache.load("uniform-steps").delay_ns[0] != cache.load("uniform-steps@1").delay_ns[0]
    with pytest.raises(InputError, match="geo@x: trace: the seed after @"):
        cache.load("geo@x")
    with pytest.raises(InputError, match="outages:outage_ms: trace: 'outage_ms': must be FIELD=VALUE"):
        cache.load("outages:outage_ms")
    with pytest.raises(InputError, match="uniform-steps:rtt_ms=x: trace: rtt_ms: 'x' is not LOW,HIGH"):
        cache.load("uniform-steps:rtt_ms=x")
    with pytest.raises(InputError, match="outage_ms: must be shorter than period_s"):
        cache.load("outages:outage_ms=5000")
    with pytest.raises(InputError, match=r"neither a file nor a named path \(.*leogym traces list"):
        cache.load("geo-stationary")


@pytest.mark.parametrize("name", ["responsiveness-single", "responsiveness-lossy", "geo", "starlink-single"])
def test_the_scenarios_are_valid_and_name_traces_that_exist(name):
    from pathlib import Path

    found = scenario.load(Path(scenario.__file__).parent / "scenarios" / f"{name}.yaml")
    assert found.name == name
    assert all(synth.named(trace) is not None for trace in found.traces)


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("geostationary", "synth: name: 'geostationary': no such preset ("),
        ("geo --rtt-ms 9,5", "synth: rtt_ms: must be LOW,HIGH"),
        ("geo --rtt-ms x", "'x' is not LOW,HIGH"),
        ("starlink --capacity-mbps 5,9", "synth: capacity_mbps: starlink has its own"),
        ("geo --terminal-at from", "synth: terminal_at: only starlink"),
        ("geo --capacity-scale 2", "synth: capacity_scale: only starlink"),
        ("geo --loss 2", "synth: loss: "),
        ("geo --loss-burst 2", "synth: loss_burst: must be MEAN,BURST_MS"),
        ("geo --seed -1", "synth: seed: "),
        ("geo --duration inf", "synth: duration_s: "),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(words, rule, refused_traces, tmp_path):
    assert rule in refused_traces("synth", words, "--out", tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


CONDITIONS = [
    {"capacity": "starlink"},
    {"capacity": "uniform-steps", "loss": 0.01},
    {"loss_burst": "0.05,100,0.5"},
    {"rain": "30"},
    {"rain": "0.002%", "rain_at": "from", "capacity": "starlink", "loss_burst": "0.01,40"},
]


@pytest.mark.parametrize("fields", CONDITIONS)
def test_conditions_on_a_path_are_repeatable_break_no_rule_and_leave_its_outages(fields, tmp_path):
    plain, data = _trace(_built(tmp_path)), _built(tmp_path, **fields)
    trace = _trace(data)
    assert data == _built(tmp_path, **fields)
    assert physics.check(trace, "here") == []
    assert (np.diff(trace.time_ns.astype(np.int64) + trace.delay_ns.astype(np.int64)) >= 0).all()
    at = np.searchsorted(trace.time_ns, plain.time_ns)
    # All rows of the path remain, with route and event; none becomes connected.
    assert np.array_equal(trace.time_ns[at], plain.time_ns)
    assert not (trace.connected[at] & ~plain.connected).any()
    assert np.array_equal(trace.path_id[at], plain.path_id)
    events = np.array(trace.event, dtype=object)
    assert all(
        mine == "unreachable" or mine == its for mine, its in zip(events[at], plain.event, strict=True)
    )
    assert (trace.delay_ns[at] >= plain.delay_ns).all()
    row = np.searchsorted(plain.time_ns, trace.time_ns, side="right") - 1
    assert not (trace.connected & ~plain.connected[row]).any()
    if "rain" not in fields:
        assert np.array_equal(trace.connected, plain.connected[row])


def test_the_metadata_of_a_path_has_its_conditions_and_the_command_that_builds_them(tmp_path, run_traces):
    fields = {"capacity": "starlink", "rain": "30", "rain_at": "from", "loss": 0.001, "seed": 5}
    data = _built(tmp_path, **fields)
    known = json.loads(_trace(data).metadata)
    assert (known["seed"], known["capacity"]["model"], known["rain"]["rain"]) == (5, "starlink", "30")
    out = tmp_path / "again.csv"
    assert run_traces(*shlex.split(known["command"])[2:], "--out", out) == 0
    assert out.read_bytes() == data
    assert _built(tmp_path, **{**fields, "seed": 6}) != data


def test_starlinks_gaps_begin_with_the_re_selections(tmp_path):
    trace = _trace(_built(tmp_path, capacity="starlink", start_s=100.0, reattach_phase_s=12.0))
    # 102, 117 and 132 s after an epoch at a full minute: :42, :57 and :12.
    for boundary_s in (2, 17, 32):
        inside = (trace.time_ns >= boundary_s * 10**9) & (trace.time_ns < boundary_s * 10**9 + 59_000_000)
        assert inside.any()
        assert (trace.uplink_bps[inside] == 0).all()
    assert (trace.uplink_bps[trace.time_ns < 2 * 10**9] > 0).any()


def test_a_cloudburst_is_an_outage_of_its_own(tmp_path):
    trace = _trace(_built(tmp_path, rain="0.001%"))
    assert not trace.connected[0]
    assert trace.event[0] == "unreachable"


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("--rain wet", "build: rain: must be a rate"),
        ("--rain 9%", "sd-ny-bp: rain: 9%: at New York that is exceeded"),
        ("--loss 1.5", "build: loss: "),
        ("--loss-burst 1,2", "build: loss_burst: must be"),
        ("--capacity starlink --reattach-s 0.5", "at least 1 s between re-selections"),
    ],
)
def test_impossible_conditions_are_one_line(words, rule, refused_traces, tmp_path):
    assert rule in refused_traces("build sd-ny-bp --duration 15", words, "--out", tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


def test_what_build_says_is_what_the_file_holds(tmp_path):
    out = tmp_path / "x.csv"
    spec = named_paths.spec("sd-ny-bp").model_copy(
        update={"duration_s": 40.0, "capacity": "starlink", "rain": "0.001%"}
    )
    summary, trace = path_trace.write(spec, out), _trace(out.read_bytes())
    length_ns = np.diff(np.append(trace.time_ns, trace.period_ns).astype(np.int64))
    assert summary.rows == len(trace.time_ns) + 1
    assert summary.down_s == pytest.approx(length_ns[~trace.connected].sum() / 1e9)
    assert summary.max_delay_ms == pytest.approx(trace.delay_ns.max() / 1e6)


def test_directions_are_made_apart_and_the_rest_stays_as_it_is(tmp_path):
    text = "outages@3:extra_delay_ms=5,0.5:extra_loss=0.01,0:capacity_share=0.2,1:outage_way=up:duration_s=20"
    wanted = synth.named(text)
    synth.write(wanted, tmp_path / "apart.csv")
    synth.write(synth.named("outages@3:duration_s=20"), tmp_path / "alike.csv")
    apart, alike = (leosim.PathTrace.read(str(tmp_path / f"{name}.csv")) for name in ("apart", "alike"))
    assert apart.time_ns.tolist() == alike.time_ns.tolist()
    assert (apart.up_delay_ns - alike.delay_ns).tolist() == [5_000_000] * len(alike.time_ns)
    assert (apart.down_delay_ns - alike.delay_ns).tolist() == [500_000] * len(alike.time_ns)
    assert np.array_equal(apart.uplink_bps[alike.connected], alike.uplink_bps[alike.connected] / 5)
    assert set(apart.downlink_bps.tolist()) == {100_000_000}
    assert (set(apart.up_loss.tolist()), set(apart.down_loss.tolist())) == ({0.01}, {0.0})
    assert np.array_equal(apart.up_connected, alike.connected)
    assert apart.down_connected.all()
    assert apart.event == alike.event
    words = parser().parse_args(synth.command(wanted).split()[2:])
    fields = {field: getattr(words, field) for field in ("name", *synth._OPTIONS)}
    assert synth.parse(fields, "x") == wanted


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("geo:outage_way=up", "outage_way: needs outage_ms"),
        ("outages:outage_way=left", "outage_way"),
        ("geo:extra_delay_ms=5", "extra_delay_ms: '5' is not UP,DOWN"),
        ("geo:extra_delay_ms=2000,0", "extra_delay_ms: must be at most 1000"),
        ("geo:extra_loss=2,0", "extra_loss"),
        ("geo:capacity_share=0,1", "capacity_share"),
    ],
)
def test_directions_out_of_range_are_named(text, rule):
    with pytest.raises(InputError, match=rule):
        synth.named(text)
