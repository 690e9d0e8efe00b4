import errno
import json
import os

import numpy as np
import pytest

from leogym.traces.formats import importing, mahimahi
from leogym.traces.formats.conftest import make_series
from leogym.traces.formats.format import Options
from tests.support.scenarios import path_trace


def _trace(tmp_path, *rows):
    (tmp_path / "x.csv").write_text(path_trace(*rows, name="x"))
    return tmp_path / "x.csv"


@pytest.mark.parametrize(("up", "down"), [(100, 100), (48, 7), (0.3, 144), (100, 99.999)])
def test_a_link_that_never_changes_is_exported_as_one_exact_repetition(up, down):
    series = make_series([(0, 20, up, down, 1), (70, 25, up, down, 1)], period_ms=600_000)
    short = mahimahi.repetition(series)
    assert short.period_ns >= 1_000_000_000
    assert series.period_ns % short.period_ns == 0
    if (up, down) != (100, 99.999):
        assert short.period_ns <= 2_400_000_000
    for direction in mahimahi.DIRECTIONS:
        piece = np.concatenate(list(mahimahi.opportunities_ms(short, direction)))
        times = series.period_ns // short.period_ns
        starts_ms = np.arange(times)[:, None] * (short.period_ns // 1_000_000)
        whole = np.concatenate(list(mahimahi.opportunities_ms(series, direction)))
        assert np.array_equal((starts_ms + piece).ravel(), whole)


def test_a_link_that_changes_is_exported_whole():
    series = make_series([(0, 20, 12, 12, 1), (500, 20, 12, 24, 1)], period_ms=60_000)
    assert mahimahi.repetition(series) is series


def test_an_exported_repetition_comes_back_with_the_traces_period(run_traces, tmp_path):
    trace = _trace(tmp_path, "0,20,100,50,0,1,0,", "300,20,100,50,0,1,0,")
    assert run_traces("export", trace, "--format", "mahimahi", "--out", tmp_path / "o") == 0
    assert (tmp_path / "o" / "uplink.txt").stat().st_size < 100_000
    assert any(
        one.startswith("period: ")
        for one in json.loads((tmp_path / "o/export.json").read_text())["not_expressed"]
    )
    back, _ = importing.read(tmp_path / "o", "mahimahi", Options())
    assert back.period_ns == 300_000_000_000
    assert set(back.up.bps.tolist()) <= {99_960_000, 100_080_000, 100_000_000, 99_999_996}


def test_a_large_export_says_its_size_first_and_how_far_it_is(run_traces, monkeypatch, tmp_path, capsys):
    trace = _trace(
        tmp_path,
        "0,20,100,100,0,1,0,",
        "2,20,100,100,0,0,0,unreachable",
        "2.5,20,100,100,0,1,0,",
        "20,20,100,100,0,1,0,",
    )
    monkeypatch.setattr(mahimahi, "SIZE_REPORTED_BYTES", 100_000)
    assert run_traces("export", trace, "--format", "mahimahi", "--out", tmp_path / "o") == 0
    said = capsys.readouterr().err.splitlines()
    written = sum((tmp_path / "o" / f"{direction}.txt").stat().st_size for direction in mahimahi.DIRECTIONS)
    assert said[0] == f"writing about {written / 1e6:.0f} MB: 0.3 million opportunities"
    assert set(said[1:]) <= {f"writing: {10 * part} %" for part in range(1, 11)}
    assert len(said) >= 5
    assert said[-1] == "writing: 100 %"


def test_an_export_that_the_disk_has_no_room_for_is_not_begun(run_traces, monkeypatch, tmp_path, capsys):
    trace = _trace(tmp_path, "0,20,100,100,0,1,0,", "18,20,100,100,0,0,0,unreachable", "20,20,100,100,0,1,0,")
    monkeypatch.setattr(mahimahi, "SIZE_REPORTED_BYTES", 100_000)
    monkeypatch.setattr(mahimahi.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    assert run_traces("export", trace, "--format", "mahimahi", "--out", tmp_path / "o") == 2
    assert "--out: needs about 2 MB and has 0 MB free" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def _commands(tmp_path):
    trace = _trace(tmp_path, "0,20,12,12,0,1,0,", "1,20,12,12,0,1,0,")
    (tmp_path / "delay.txt").write_text("20\n" * 200)
    yield "export", ("export", trace, "--format mahimahi --out", tmp_path / "o")
    words = "import", tmp_path / "delay.txt", "--format leoreplayer --out", tmp_path / "o.csv"
    yield "import", words


@pytest.mark.parametrize("number", [0, 1])
def test_an_interruption_is_one_line_and_leaves_nothing(run_traces, monkeypatch, tmp_path, capsys, number):
    def interrupted(_):
        raise KeyboardInterrupt

    name, words = list(_commands(tmp_path))[number]
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(os, "fsync", interrupted)
    assert run_traces(*words) == 130
    assert capsys.readouterr().err.splitlines()[-1] == f"{name}: interrupted: nothing is half-written"
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("number", [0, 1])
def test_a_full_disk_is_one_line_and_leaves_nothing(run_traces, monkeypatch, tmp_path, capsys, number):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    _, words = list(_commands(tmp_path))[number]
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(os, "fsync", full)
    assert run_traces(*words) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[-1].endswith("cannot be written: No space left on device")
    assert sorted(tmp_path.iterdir()) == before
