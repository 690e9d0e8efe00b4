import itertools
import json
import os
from dataclasses import replace

import leosim
import numpy as np
import pytest
from hypothesis import given, settings

from leogym.traces.formats import exporting, importing, mahimahi, registry
from leogym.traces.formats import series as rows
from leogym.traces.formats.conftest import make_series, random_series
from leogym.traces.formats.format import Options
from leogym.traces.path import cache

HEAD = '# {"format": "leogym-path-trace", "version": 1, "name": "x"}\n'
COLUMNS = "time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event\n"
GOOD = (
    HEAD
    + COLUMNS
    + "0,20.25,12,24,0.01,0,1,\n0.05,21,12,24,0,1,1,\n"
    + "0.3,20.5,12,24,0,0,1,hard_handover\n0.5,20.5,12,24,0,0,1,\n"
)


@pytest.fixture
def trace(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text(GOOD)
    return file


def _sidecar(folder):
    return json.loads((folder / "export.json").read_text())


def test_a_mahimahi_export_says_what_it_leaves_out(run_traces, capsys, tmp_path, trace):
    out = tmp_path / "out"
    assert run_traces("export", trace, "--format", "mahimahi", "--out", out) == 0
    assert f"{out}/uplink.txt: 250 opportunities, 6.000 Mbit/s on average" in capsys.readouterr().out
    assert sorted(file.name for file in out.iterdir()) == ["downlink.txt", "export.json", "uplink.txt"]
    said = _sidecar(out)
    assert said["run"] == "mm-delay 20 mm-link uplink.txt downlink.txt -- COMMAND"
    assert said["trace_sha256"] == cache.sha256(str(trace))
    assert said["offset_s"] == 0.05
    assert said["mean_loss"] == pytest.approx(0.001)
    fields = {line.partition(":")[0] for line in said["not_expressed"]}
    assert fields == {"start", "time", "connected", "delay", "loss"}
    assert oct(out.stat().st_mode)[-3:] == "755"


def test_an_outage_across_the_wrap_comes_back_where_it_was(run_traces, capsys, tmp_path, trace):
    out, back = tmp_path / "out", tmp_path / "back.csv"
    assert run_traces("export", trace, "--format", "mahimahi", "--out", out) == 0
    assert run_traces("import", out, "--format mahimahi --bin-ms 10 --out", back) == 0
    assert "note: delay_ms: 20, from" in capsys.readouterr().err
    series = rows.from_trace(cache.load(str(back)))
    has = series.up.bps > 0
    # The outage ends with the opportunity that ends the exported period.
    expected = (series.time_ns >= 40_000_000) & (series.time_ns < 300_000_000)
    assert has.tolist() == expected.tolist()


def test_what_a_format_cannot_tell_of_two_directions_is_in_the_sidecar_and_comes_back(
    run_traces, capsys, tmp_path
):
    series = make_series([(0, (30, 12), 12, 60, True), (200, (32, 12), 12, 60, (False, True))], 300)
    series = replace(series, down=replace(series.down, loss=np.array([0.01, 0.0])))
    rows.write(series, {"name": "x"}, tmp_path / "x.csv")
    folder = tmp_path / "netem"
    assert run_traces("export", tmp_path / "x.csv", "--format", "netem-trace", "--out", folder) == 0
    names = {f"{way}.{what}.json" for way in mahimahi.DIRECTIONS for what in ("bw", "delay", "loss")}
    assert {file.name for file in folder.iterdir()} == names | {"export.json"}
    assert '"delay": "12000000ns"' in (folder / "downlink.delay.json").read_text()
    for kind, delay in (("mahimahi", (30, 12)), ("leoreplayer", (21, 21))):
        out, back = tmp_path / kind, tmp_path / f"{kind}.csv"
        assert run_traces("export", tmp_path / "x.csv", "--format", kind, "--out", out) == 0
        said = _sidecar(out)
        assert (said["delay_ms"], said["up_delay_ms"], said["down_delay_ms"]) == (21, 30, 12)
        assert said["mean_up_loss"] == 0
        assert said["mean_down_loss"] == pytest.approx(0.01 * 2 / 3)
        told = said["not_expressed"]
        assert any(line.startswith("direction: the delay is 30 ms up and 12") for line in told)
        assert run_traces("import", out, "--format", kind, "--out", back) == 0
        trace = cache.load(str(back))
        assert (trace.up_delay_ns[0] / 1e6, trace.down_delay_ns[0] / 1e6) == delay
    assert "note: delay_ms: 30 up, 12 down, from" in capsys.readouterr().err


def test_a_leoreplayer_export_comes_back(run_traces, tmp_path, trace):
    out, back = tmp_path / "out", tmp_path / "back.csv"
    assert run_traces("export", trace, "--format", "leoreplayer", "--out", out) == 0
    assert _sidecar(out)["run"] == "mm-delay 10 delay.txt mm-link uplink.txt downlink.txt -- COMMAND"
    assert run_traces("import", out, "--format", "leoreplayer", "--out", back) == 0
    series = rows.from_trace(cache.load(str(back)))
    assert series.period_ns == 500_000_000
    assert series.up.delay_ns.tolist() == [20_000_000] * 5 + [21_000_000] * 45
    assert series.up.bps[6:29].tolist() == [12_000_000] * 23


@settings(max_examples=25)
@given(random_series(unit_ms=10))
def test_every_export_is_read_back_in_every_format(tmp_path_factory, series):
    folder = tmp_path_factory.mktemp("exchange")
    rows.write(series, {"name": "x"}, folder / "x.csv")
    written = rows.from_trace(leosim.PathTrace.read(str(folder / "x.csv")))
    assert np.array_equal(written.time_ns, series.time_ns)
    for way, name in itertools.product(("up", "down"), ("delay_ns", "bps", "loss", "connected")):
        assert np.array_equal(getattr(getattr(written, way), name), getattr(getattr(series, way), name))
    exporting.export(str(folder / "x.csv"), "netem-trace", folder / "netem")
    if not all(series.capacity_bps(direction).any() for direction in mahimahi.DIRECTIONS):
        return
    if not (series.capacity_bps("uplink").astype(bool) & series.capacity_bps("downlink").astype(bool)).any():
        return
    for kind in ("mahimahi", "leoreplayer"):
        exporting.export(str(folder / "x.csv"), kind, folder / kind)
        options = Options(bin_ms=10)
        back, _ = importing.read(folder / kind, kind, options)
        assert back.period_ns == series.period_ns
        for direction in mahimahi.DIRECTIONS:
            lengths = (series.end_ns - series.time_ns) / 1e9
            packets = float((series.capacity_bps(direction) * lengths).sum()) / 12_000
            lengths = (back.end_ns - back.time_ns) / 1e9
            got = float((back.capacity_bps(direction) * lengths).sum()) / 12_000
            assert abs(got - packets) <= max(0.51, 1.01 - packets)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("export x.csv --format csv --out o", "argument --format: invalid choice: 'csv'"),
        ("export atlantis --format mahimahi --out o", "atlantis: trace: neither a file nor"),
        ("export x.csv --format mahimahi --out full", "full: --out: must be a new or empty"),
        ("export x.csv --format mahimahi --out no/o", "no/o: cannot be written: No such file"),
        ("export odd.csv --format mahimahi --out o", "odd.csv: time_s: the period, 0.5001 s, must"),
        ("export x5.csv --format leoreplayer --out o", "must be a multiple of 10 ms"),
        ("export fast.csv --format mahimahi --out o", "fast.csv: uplink_mbps: 8.33e+11 packets"),
        ("export dead.csv --format mahimahi --out o", "dead.csv: uplink_mbps: is never above 0"),
        ("import none.txt --format leoem --out o", "none.txt: file: cannot be read: No such file"),
        ("import up.txt --format mahimahi --out o", "up.txt: delay_ms: mahimahi's traces have no"),
        ("import full --format mahimahi --out o", "full: file: has no uplink.txt: not an exported folder"),
        ("import up.txt --format leoreplayer --out no/o", "no/o: cannot be written: No such"),
        (
            "import up.txt --format mahimahi --delay-ms 0 --out o",
            "import: --delay-ms: must be above 0 and at most 9,999, not 0",
        ),
        (
            "import up.txt --format mahimahi --delay-ms nan --out o",
            "import: --delay-ms: must be above 0 and at most 9,999, not nan",
        ),
        ("import up.txt --format starlink-csv --columns x --out o", "--columns: 'x': must be FIELD=COLUMN"),
        (
            "import up.txt --format hypatia --columns x=y --out o",
            "import: --columns: does not apply to hypatia",
        ),
        (
            "import sats.tle --format TLE --out o",
            "argument --format: satellites need no import: `leogym traces build --constellation FILE.tle`",
        ),
        ("check none.txt --format csv", "argument --format: invalid choice: 'csv'"),
    ],
)
def test_bad_input_is_one_line_with_exit_status_2_and_leaves_nothing(
    refused_traces, monkeypatch, tmp_path, words, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text(GOOD)
    (tmp_path / "x5.csv").write_text(GOOD.replace("0.5,", "0.505,"))
    (tmp_path / "odd.csv").write_text(GOOD.replace("0.5,", "0.5001,"))
    (tmp_path / "fast.csv").write_text(
        HEAD + COLUMNS + "0,20,1e6,1,0,1,0,\n10000,20,1,1,0,1,0,\n".replace("1e6", "1000000")
    )
    (tmp_path / "dead.csv").write_text(GOOD.replace(",12,", ",0,"))
    (tmp_path / "up.txt").write_text("5\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    before = sorted(tmp_path.rglob("*"))
    assert message in refused_traces(words)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("kind", registry.READABLE)
def test_a_file_of_10_gb_is_refused_without_reading_it(refused_traces, tmp_path, kind):
    with (tmp_path / "big").open("wb") as file:
        os.truncate(file.fileno(), 10 * 10**9)
    delay = "--delay-ms 20" if kind == "mahimahi" else ""
    rule = f"10000000000 bytes are more than the {cache.MAX_BYTES} that a trace may have"
    words = "import", tmp_path / "big", f"--format {kind} {delay} --out", tmp_path / "o.csv"
    assert refused_traces(*words) == f"{tmp_path / 'big'}: file: {rule}\n"


@pytest.mark.parametrize("form", ["", "--format leoem"])
def test_check_refuses_a_file_of_10_gb_too(run_traces, capsys, tmp_path, form):
    with (tmp_path / "big").open("wb") as file:
        os.truncate(file.fileno(), 10 * 10**9)
    assert run_traces("check", tmp_path / "big", form) in (1, 2)
    captured = capsys.readouterr().err
    assert captured.startswith(f"{tmp_path / 'big'}: file: 10000000000 bytes are more than")
    assert captured.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "1: file: truncated"),
        (HEAD + COLUMNS, "2: file: truncated: at least two rows are needed"),
        (GOOD.replace("0.3,", "0.03,"), "5: time_s: time runs backwards"),
        (GOOD.replace('"version": 1', '"version": 3'), "1: version: must be 1 or 2, not 3"),
        (GOOD.replace('"version": 1', '"version": 2'), "2: header: column up_delay_ms is missing"),
        (GOOD.replace("0.3,20.5", "0.3,fast"), "5: delay_ms: "),
    ],
)
def test_check_names_line_and_rule_of_a_file_that_is_no_trace(run_traces, capsys, tmp_path, text, line):
    (tmp_path / "x.csv").write_text(text)
    assert run_traces("check", tmp_path / "x.csv") == 1
    assert capsys.readouterr().err.startswith(f"{tmp_path / 'x.csv'}:{line}")


def _leoem_line(cycle, satellite, leg_ms):
    delays = [leg_ms / 1000, 0.015 + cycle / 1e6, 0.002 + cycle / 1e7]
    return f"{cycle}$[-1, {satellite}, 90, -2]$4${delays}${sum(delays)}\n"


def test_leoems_faults_are_warned_of_at_import_and_found_by_check(run_traces, capsys, tmp_path):
    log, out = tmp_path / "log.txt", tmp_path / "o.csv"
    # The three faults: no z axis, constant user legs, slots of 16 s.
    log.write_text("".join(_leoem_line(cycle, cycle // 16, 0.5 + cycle // 16 / 100) for cycle in range(50)))
    assert run_traces("import", log, "--format", "leoem", "--out", out) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(
        f"note: {log}: 50 rows with legs to the ground below the physical floor, altitude over the speed of "
        "light: lines 1-50; the first: 1 of 2 legs to the ground are below 1.835 ms"
    )
    assert said[1].startswith(
        f"note: {log}: 3 rows with user legs that stand still although the satellites move: lines 4,"
    )
    assert said[2].startswith(f"note: {log}: 2 rows with handovers off the re-selection grid: lines 33, 49;")
    assert said[3] == f"note: {log}: o.csv.faults.csv lists all of them"
    listed = (tmp_path / "o.csv.faults.csv").read_text().splitlines()
    assert listed[0] == "line,kind,field,rule"
    assert len(listed) == 1 + 50 + 3 + 2
    # The imported trace fails too, with outages that are too short. It claims no grid.
    assert run_traces("check", out) == 1
    found = capsys.readouterr().err
    assert "outage below 11.008 ms: its user links are shorter than the satellites' altitude" in found
    assert "re-selection grid" not in found
    assert run_traces("check", log, "--format", "leoem") == 1
    assert capsys.readouterr().err.count("\n") == 55


def test_a_log_without_faults_is_imported_without_a_word(run_traces, capsys, tmp_path):
    log, out = tmp_path / "log.txt", tmp_path / "o.csv"
    log.write_text("".join(_leoem_line(cycle, cycle // 15, 2.0 + cycle / 1000) for cycle in range(50)))
    assert run_traces("import", log, "--format", "leoem", "--out", out) == 0
    assert capsys.readouterr().err == ""
    assert sorted(file.name for file in tmp_path.iterdir()) == ["log.txt", "o.csv"]
    assert run_traces("check", out) == 0
    assert run_traces("check", log, "--format", "leoem") == 0


def test_an_import_counts_what_is_not_measured_in_one_line(run_traces, capsys, tmp_path):
    log, out = tmp_path / "ping.txt", tmp_path / "o.csv"
    answer = "[1700000{:07.3f}] 64 bytes from a: icmp_seq={} ttl=63 time={} ms\n".format
    times = ["30.0", "0.000", "7.0", "31.0"]
    lines = (answer(number + float(ms) / 1000, number, ms) for number, ms in enumerate(times, start=1))
    log.write_text("".join(lines))
    words = "import", log, "--format ping --bin-ms 1000 --out", out
    assert run_traces(*words, "--altitude-km", "550") == 0
    counted = (
        f"{log}: 1 of 4 probes has an RTT of 0: not measured (line 2); "
        "1 of 4 probes has an RTT below the 7.34 ms that light needs: not measured (line 3)"
    )
    assert f"note: {counted}\n" in capsys.readouterr().err
    trace = cache.load(str(out))
    assert json.loads(trace.metadata)["notes"][1] == counted
    assert (trace.up_delay_ns / 1e6).tolist() == [15, 15, 15, 15.5]
    assert trace.up_connected.all()
    # The path of pings is not known: it may have no satellite.
    assert run_traces(*words) == 0
    assert (cache.load(str(out)).up_delay_ns / 1e6).tolist() == [15, 15, 3.5, 15.5]
    assert run_traces(*words, "--altitude-km", "-1") == 2
    assert capsys.readouterr().err.endswith("import: --altitude-km: must be from 0 to 100,000, not -1\n")


def test_an_import_says_how_it_was_made(run_traces, capsys, tmp_path):
    (tmp_path / "m.csv").write_text("time_s,rtt_ms\n0,90\n0.1,30\n0.2,3\n")
    words = "import", tmp_path / "m.csv", "--format starlink-csv --bin-ms 20 --out", tmp_path / "o.csv"
    assert run_traces(*words) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("note: columns by its header: time_s as time_s (time in s), rtt_ms as rtt_ms")
    metadata = json.loads(cache.load(str(tmp_path / "o.csv")).metadata)
    assert metadata["command"].endswith("--format starlink-csv --bin-ms 20")
    assert metadata["notes"] == [line.removeprefix("note: ") for line in said]
    assert metadata["provenance"] == "imported from m.csv (starlink-csv)"


def test_the_help_of_import_has_every_format_and_the_way_to_read_satellites(run_traces, capsys):
    assert run_traces("import", "--help") == 0
    lines = capsys.readouterr().out.splitlines()
    for name in registry.READABLE:
        form = registry.FORMATS[name]
        assert f"  {name:<13} {form.help} ({', '.join(form.suffixes)})" in lines
    assert "traces build --constellation FILE.tle`" in " ".join(lines)
