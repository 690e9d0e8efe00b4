import leosim
import pytest

from leogym.traces.path import named_paths, path_trace
from leogym.traces.plot import figure

SHORT = "--duration 30"


@pytest.fixture
def trace(tmp_path):
    file = tmp_path / "x.csv"
    path_trace.write(named_paths.spec("sd-ny-bp").model_copy(update={"duration_s": 40.0}), file)
    return file


def test_list_names_paths_constellations_and_cities(run_traces, capsys):
    assert run_traces("list") == 0
    out = capsys.readouterr().out
    for name in (*named_paths.names(), "starlink-1", "kuiper-630", "San Diego"):
        assert name in out


def test_build_and_check_agree(run_traces, capsys, tmp_path):
    out = tmp_path / "x.csv"
    assert run_traces("build --from 40.7,-74 --to ldn", SHORT, "--out", out) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{out}: 30")
    assert said.count("\n") == 1
    assert run_traces("check", out) == 0
    assert "ok, " in capsys.readouterr().out


@pytest.mark.parametrize("origin", ["-33.87,151.21", "Frankfurt"])
def test_build_takes_cities_by_name_and_coordinates_that_begin_with_a_minus(
    run_traces, capsys, tmp_path, origin
):
    words = f"build --from {origin} --to -36.85,174.76 {SHORT} --out"
    assert run_traces(words, tmp_path / "x.csv") == 0, capsys.readouterr().err


def test_shared_takes_coordinates_that_begin_with_a_minus(run_traces, capsys, tmp_path):
    words = "shared -33.87,151.21,-36.85,174.76 Sydney,-36.85,174.76 --duration 3 --out"
    assert run_traces(words, tmp_path / "pairs") == 0, capsys.readouterr().err


def test_check_reads_a_trace_that_a_spreadsheet_saved_and_names_its_lines(run_traces, capsys, tmp_path):
    file = tmp_path / "x.csv"
    head = '"# {""format"": ""leogym-path-trace""";" ""version"": 1";" ""name"": ""x""}";;;;;\r\n'
    columns = "time_s;delay_ms;uplink_mbps;downlink_mbps;loss;connected;path_id;event\r\n"
    rows = "0;20,5;100;100;0;1;0;\r\n0,1;20,45;100;100;0;1;0;\r\n0,2;20,45;100;100;0;1;0;\r\n"
    file.write_bytes(b"\xef\xbb\xbf" + (head + columns + rows).encode())
    assert run_traces("check", file) == 0
    assert capsys.readouterr().out == f"{file}: ok, 2 rows over 0.2 s\n"
    file.write_bytes(file.read_bytes().replace(b"0;20,5", b"0;220,5"))
    assert run_traces("check", file) == 1
    assert capsys.readouterr().err.startswith(f"{file}:4: delay_ms: falls faster than time runs")


def test_a_path_that_takes_a_long_way_around_names_the_reason_and_the_option(run_traces, capsys, tmp_path):
    words = "build sd-sea-isl --start 5185 --duration 10 --out", tmp_path / "x.csv"
    assert run_traces(*words) == 0
    note = capsys.readouterr().err
    assert note.startswith("note: sd-sea-isl: at 4.9 s the delay is 37.3 ms one way; 13.1 ms by the shortest")
    assert note.endswith("try --attach shortest\n")
    assert run_traces(*words, "--attach", "shortest") == 0
    assert run_traces("build ny-ldn-isl", SHORT, "--out", tmp_path / "x.csv") == 0
    assert capsys.readouterr().err == ""


def test_a_plots_title_names_the_sites_and_the_constellation(tmp_path):
    titles = {}
    for name in ("ny-ldn-isl", "path"):
        file = tmp_path / f"{name}.csv"
        spec = named_paths.spec("ny-ldn-isl").model_copy(update={"duration_s": 1.0, "name": name})
        path_trace.write(spec, file)
        titles[name] = figure.figure(leosim.PathTrace.read(str(file)), "x", []).get_suptitle()
    assert titles["ny-ldn-isl"].startswith("ny-ldn-isl: New York – London, starlink-1   connected ")
    assert titles["path"].startswith("New York – London, starlink-1   connected ")


def test_list_finds_cities_by_a_part_of_a_name(run_traces, capsys):
    assert run_traces("list", "frankf") == 0
    assert capsys.readouterr().out.startswith("fra                  Frankfurt am Main, Germany (Frankfurt, ")
    assert run_traces("list", "Atlantis") == 2
    assert "no city has such a name" in capsys.readouterr().err


def test_a_wrong_word_is_answered_by_the_nearest(run_traces, capsys):
    assert run_traces("plott") == 2
    assert "invalid choice: 'plott' (nearest: plot" in capsys.readouterr().err
    assert run_traces("build", "sd-ny-isp") == 2
    assert "no such named path (nearest: sd-ny-isl" in capsys.readouterr().err
    assert run_traces("export", "sd-ny-isl", "--format", "mahi", "--out", "x") == 2
    assert "invalid choice: 'mahi' (nearest: mahimahi; there are: mahimahi, leo" in capsys.readouterr().err
    assert run_traces("build", "sd-ny-isl", "--durations", "3") == 2
    assert "unrecognized arguments: --durations 3 (nearest: --duration" in capsys.readouterr().err
    assert run_traces("recover", "--out", "x") == 2
    # Not --out, which other subcommands have.
    line = "leogym traces recover: unrecognized arguments: --out (nearest: --slots, --model)\n"
    assert capsys.readouterr().err == line


def test_check_names_file_line_and_rule_and_ends_with_1(run_traces, capsys, trace):
    lines = trace.read_text().split("\n")
    lines[5] = lines[5].replace(lines[5].split(",")[1], "2.5", 1)
    trace.write_text("\n".join(lines))
    assert run_traces("check", trace) == 1
    assert capsys.readouterr().err.startswith(f"{trace}:6: up_delay_ms: faster than light: below 14.0")
    trace.write_text("\n".join([*lines[:10], "nan" + lines[10], ""]))
    assert run_traces("check", trace) == 1
    assert capsys.readouterr().err.startswith(f"{trace}:11: time_s: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("build", "build: give a named path, or both --from and --to"),
        ("build atlantis", "path: 'atlantis': no such named path"),
        ("build --all sd-ny-isl", "build: give --all, or one path"),
        ("build --all --jobs 0", "build: --jobs: must be at least 1, not 0"),
        ("build --all --jobs 99999", "build: --jobs: 99999: this machine can run at most "),
        ("build sd-ny-isl --reattach-phase-s 15", "build: reattach_phase_s: 15 is not below reattach_s, 15"),
        (
            "build sd-ny-isl --report-error often",
            "report_error: must be normal:SIGMA, uniform:T or empirical:FILE",
        ),
        (
            "build --from sd --to ny --constellation oneweb",
            "path: links: oneweb has no links between satellites: use bent-pipe",
        ),
        (
            "build --from ny --to ldn --constellation starlink --duration 30",
            "path: no isl route ever joins New York and London over starlink: its shells are not linked",
        ),
        ("build sd-ny-isl --from 1,2 --to 3,4", "build: give a named path or --from and --to, not both"),
        ("build --from 91,0 --to ny", "--from: lat_deg: must be a number from -90 to 90, not 91"),
        ("build --from 1,200 --to ny", "--from: lon_deg: must be a number from -180 to 180, not 200"),
        ("build --from nan,0 --to ny", "--from: lat_deg: must be a number from -90 to 90, not nan"),
        ("build --from here --to ny", "--from: 'here': neither LAT,LON in degrees nor a known"),
        ("build --from 1,2 --to 1,2", "build: to: is the same place as from"),
        (
            "build sd-ny-isl --min-elevation 95",
            "build: min_elevation_deg: must be a number at least 0 and below 90, not 95",
        ),
        (
            "build sd-ny-isl --min-elevation nan",
            "build: min_elevation_deg: must be a number at least 0 and below 90, not nan",
        ),
        (
            "build sd-ny-isl --duration -1",
            "build: duration_s: must be a number above 0 and at most 10,000,000, not -1",
        ),
        (
            "build sd-ny-isl --duration inf",
            "build: duration_s: must be a number above 0 and at most 10,000,000, not inf",
        ),
        ("build sd-ny-isl --duration 0.25", "build: duration_s: 0.25 is not a"),
        (
            "build sd-ny-isl --epoch 2025-01-01T00:00:00",
            "build: epoch: '2025-01-01T00:00:00': must have a zone",
        ),
        ("build sd-ny-isl --epoch soon", "build: epoch: 'soon': must be ISO 8601"),
        (
            "build sd-ny-isl --constellation teledesic",
            "constellation: 'teledesic': neither a file nor a known constellation (",
        ),
        ("build sd-ny-isl --reattach-s x", "argument --reattach-s: 'x' is not a number"),
        ("build sd-ny-isl --colour red", "unrecognized arguments: --colour red"),
        (
            "build --from 89,0 --to ny --duration 30",
            "path: 89,0 (89, 0) never sees a satellite of starlink-1",
        ),
        (
            "build sd-ny-isl --duration 30 --out missing/x.csv",
            "missing/x.csv: cannot be written: No such file",
        ),
        ("check missing.csv", "missing.csv: file: cannot be read: No such file or directory"),
        ("plot missing.csv --out x.png", "missing.csv: trace: neither a file nor a named path"),
        ("paint", "argument command: invalid choice: 'paint'"),
    ],
)
def test_bad_input_is_one_line_with_exit_status_2_and_leaves_nothing(
    refused_traces, monkeypatch, tmp_path, words, message
):
    monkeypatch.chdir(tmp_path)
    assert message in refused_traces(words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_plots_are_drawn_in_every_format_and_the_same_twice(run_traces, trace, ending, magic):
    out = trace.with_suffix(f".{ending}")
    assert run_traces("plot", trace, "--out", out) == 0
    first = out.read_bytes()
    assert first.startswith(magic)
    assert run_traces("plot", trace, "--out", out) == 0
    assert out.read_bytes() == first


def test_a_picture_of_unknown_format_is_refused(run_traces, capsys, trace):
    assert run_traces("plot", trace, "--out", trace.with_suffix(".gif")) == 2
    assert "must end in .png, .svg, .pdf" in capsys.readouterr().err
    assert sorted(file.name for file in trace.parent.iterdir()) == ["x.csv"]
