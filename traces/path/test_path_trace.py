import json
import tracemalloc

import leosim
import numpy as np
import pytest

from leogym import traces
from leogym.common.errors import InputError
from leogym.traces.__main__ import _spec, parser
from leogym.traces.capacity import columns
from leogym.traces.path import batch, cache, command, named_paths, path_trace, spec
from leogym.traces.path.build import build


def _short(name="sd-ny-bp", **changes):
    return named_paths.spec(name).model_copy(update={"duration_s": 40.0, **changes})


def test_the_parser_reads_back_every_row_of_a_built_path(tmp_path):
    wanted = _short(start_s=5.0, capacity_mbps=62.5)
    path_trace.write(wanted, tmp_path / "x.csv")
    trace, path = leosim.PathTrace.read(str(tmp_path / "x.csv")), build(wanted)
    assert trace.period_ns == 40_000_000_000
    assert trace.time_ns.tolist() == path.time_ns[:-1].tolist()
    assert trace.delay_ns.tolist() == path.delay_ns[:-1].tolist()
    assert trace.connected.tolist() == path.connected[:-1].tolist()
    assert trace.path_id.tolist() == path.path_id[:-1].tolist()
    assert list(trace.event) == path.event[:-1]
    assert set(trace.uplink_bps.tolist()) == set(trace.downlink_bps.tolist()) == {62_500_000}
    assert not trace.loss.any()


def test_the_same_spec_gives_the_same_bytes_wherever_it_is_written(tmp_path):
    (tmp_path / "folder").mkdir()
    files = [tmp_path / "one.csv", tmp_path / "folder" / "two.csv"]
    for file in files:
        path_trace.write(_short(), file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_the_first_line_says_how_to_build_the_trace_again(tmp_path):
    wanted = _short(start_s=5.0, min_elevation_deg=30.0)
    path_trace.write(wanted, tmp_path / "x.csv")
    metadata = json.loads((tmp_path / "x.csv").read_text().partition("\n")[0].removeprefix("# "))
    assert metadata["command"] == ("leogym traces build sd-ny-bp --min-elevation 30 --start 5 --duration 40")
    assert (metadata["format"], metadata["version"]) == ("leogym-path-trace", 2)
    assert metadata["from"] == {"name": "San Diego", "lat_deg": 32.7157, "lon_deg": -117.1647}
    assert metadata["reattach_s"] == 15
    assert metadata["off_grid_handovers_s"] == []
    again = _spec(parser().parse_args(metadata["command"].split()[2:]))
    path_trace.write(again, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "x.csv").read_bytes()


def test_the_command_of_a_path_without_a_name_has_its_places():
    words = [
        "build",
        "--from=-1.5,2",
        "--to",
        "ny",
        "--attach",
        "shortest",
        "--epoch",
        "2024-05-01T00:00:00+02:00",
    ]
    wanted = _spec(parser().parse_args(words))
    text = command.canonical(wanted)
    assert text == (
        "leogym traces build --from=-1.5,2.0 --to=ny --attach shortest --epoch 2024-04-30T22:00:00Z"
    )
    assert _spec(parser().parse_args(text.split()[2:])) == wanted


def test_the_summary_counts_what_is_in_the_file(tmp_path):
    wanted = named_paths.spec("ny-ldn-isl").model_copy(update={"duration_s": 300.0})
    summary = path_trace.write(wanted, tmp_path / "x.csv")
    trace = leosim.PathTrace.read(str(tmp_path / "x.csv"))
    assert summary.rows == len(trace.time_ns) + 1
    assert summary.hard_handovers == list(trace.event).count("hard_handover") > 5
    assert summary.soft_handovers == sum(event.startswith("soft_handover") for event in trace.event)
    held_ns = np.diff(np.append(trace.time_ns, np.uint64(trace.period_ns)).astype(np.int64))
    assert summary.down_s == pytest.approx(held_ns[~trace.connected].sum() / 1e9)
    assert summary.min_delay_ms == trace.delay_ns.min() / 1e6


def test_every_handover_is_in_the_metadata_with_a_time_at_which_it_is_expected(tmp_path):
    wanted = named_paths.spec("ny-ldn-isl").model_copy(update={"duration_s": 900.0, "seed": 5})
    path_trace.write(wanted, tmp_path / "x.csv")
    trace = leosim.PathTrace.read(str(tmp_path / "x.csv"))
    handovers = json.loads(trace.metadata)["handovers"]
    said = [
        (time_ns / 1e9, event.partition("_")[0])
        for time_ns, event in zip(trace.time_ns.tolist(), trace.event, strict=True)
        if event
    ]
    assert [(event["time_s"], event["kind"]) for event in handovers] == said
    assert {event["end"] for event in handovers if event["kind"] == "hard"} <= {"from", "to", "both"}
    assert {event["end"] for event in handovers if event["kind"] == "soft"} == {None}
    errors = [event["predicted_s"] - event["time_s"] for event in handovers]
    assert len(set(errors)) > len(errors) // 2
    assert 0 < np.abs(errors).max() < 3
    # A later start keeps the errors; another seed changes them.
    path_trace.write(wanted.model_copy(update={"start_s": 300.0, "duration_s": 600.0}), tmp_path / "y.csv")
    later = json.loads(leosim.PathTrace.read(str(tmp_path / "y.csv")).metadata)["handovers"]
    again = {event["time_s"]: event["predicted_s"] for event in handovers}
    for event in later:
        assert event["predicted_s"] + 300 == pytest.approx(again[event["time_s"] + 300])
    path_trace.write(wanted.model_copy(update={"seed": 6}), tmp_path / "z.csv")
    other = json.loads(leosim.PathTrace.read(str(tmp_path / "z.csv")).metadata)["handovers"]
    assert [event["time_s"] for event in other] == [event["time_s"] for event in handovers]
    assert [event["predicted_s"] for event in other] != [event["predicted_s"] for event in handovers]


def test_memory_does_not_grow_with_the_duration(tmp_path):
    def peak_bytes(duration_s):
        spec = _short("ny-ldn-isl", duration_s=duration_s, route_s=5.0)
        tracemalloc.start()
        path_trace.write(spec, tmp_path / "x.csv")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak_bytes(15.0)  # fills caches
    # 18,000 more rows are 0.7 MB of text, but only the list of handovers may grow, by about 80 of 500 bytes.
    assert peak_bytes(2400.0) < peak_bytes(600.0) + 100_000


def test_all_paths_at_once_are_those_built_one_by_one(tmp_path):
    specs = [_short(name) for name in ("sd-ny-bp", "sd-ny-isl")]
    written = list(batch.write_all(specs, tmp_path / "all", jobs=2))
    for spec_, (file, summary) in zip(specs, written, strict=True):
        alone = path_trace.write(spec_, tmp_path / "alone.csv")
        assert file == tmp_path / "all" / f"{spec_.name}.csv"
        assert file.read_bytes() == (tmp_path / "alone.csv").read_bytes()
        assert summary == str(alone)


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [(0, 9, "0"), (100_000_000, 9, "0.1"), (15, 0, "15"), (10**9, 9, "1"), (1_000_001, 6, "1.000001")],
)
def test_decimals_are_exact(value, places, text):
    assert columns.decimal(value, places) == text


def test_nothing_is_left_behind_when_a_path_cannot_be_built(tmp_path):
    far_north = spec.parse(
        {
            **named_paths.spec("sd-ny-isl").model_dump(),
            "from_site": {"name": "x", "lat_deg": 85, "lon_deg": 0},
        },
        "test",
    )
    (tmp_path / "x.csv").write_text("old")
    with pytest.raises(InputError, match="never sees a satellite"):
        path_trace.write(far_north, tmp_path / "x.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["x.csv"]
    assert (tmp_path / "x.csv").read_text() == "old"


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/x\.csv: cannot be written: Not a directory"):
        path_trace.write(_short(), tmp_path / "file" / "x.csv")


def test_a_named_path_is_built_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path))
    short = _short()
    monkeypatch.setattr(named_paths, "spec", lambda name: short)
    first = traces.load("sd-ny-bp")
    [file] = (tmp_path / "traces").glob("*.csv")
    monkeypatch.setattr(path_trace, "write", lambda *_: pytest.fail("built twice"))
    second = traces.load_all({"sd-ny-bp", str(file)})
    assert second["sd-ny-bp"].delay_ns.tolist() == first.delay_ns.tolist()
    assert second[str(file)].metadata == first.metadata
    assert traces.sha256("sd-ny-bp") == traces.sha256(str(file))
    assert len(traces.sha256("sd-ny-bp")) == 64


def test_a_named_path_may_be_had_over_another_constellation(tmp_path):
    wanted = _short("sd-ny-bp@starlink-leoem")
    assert (wanted.constellation, wanted.links) == ("starlink-leoem", "bent-pipe")
    path_trace.write(wanted, tmp_path / "x.csv")
    metadata = json.loads((tmp_path / "x.csv").read_text().splitlines()[0].removeprefix("# "))
    assert metadata["constellation"] == "starlink-leoem"
    assert metadata["min_elevation_deg"] == 40.0
    assert metadata["command"] == "leogym traces build sd-ny-bp@starlink-leoem --duration 40"
    with pytest.raises(InputError, match=r"'sd-ny-bp@nowhere': no such constellation .*leogym traces list"):
        traces.load("sd-ny-bp@nowhere")


def test_a_trace_that_is_not_there_is_named(tmp_path):
    with pytest.raises(
        InputError, match=r"nowhere: trace: neither a file nor a named path \(.*leogym traces list"
    ):
        traces.load("nowhere")


def test_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="LEOGYM_CACHE: cannot be written"):
        traces.load("sd-ny-isl")


def test_a_truncated_trace_is_named_with_its_line(tmp_path):
    path_trace.write(_short(), tmp_path / "x.csv")
    whole = (tmp_path / "x.csv").read_bytes()
    cut = tmp_path / "cut.csv"
    cut.write_bytes(whole[: len(whole) // 2].rpartition(b"\n")[0] + b"\n1")
    with pytest.raises(InputError, match=rf"^{cut}:\d+: "):
        traces.load(str(cut))
    cut.write_bytes(whole[:-40] + b"\xff\xfe\n")
    with pytest.raises(InputError, match=r"cut\.csv:\d+: file: not UTF-8 text"):
        traces.load(str(cut))


def test_a_file_too_large_for_a_trace_is_refused_unread(tmp_path):
    huge = tmp_path / "huge.csv"
    with huge.open("wb") as file:
        file.truncate(cache.MAX_BYTES + 1)
    with pytest.raises(InputError, match=r"huge\.csv: file: 1073741825 bytes are more than"):
        traces.load(str(huge))
