import json
import math

import leosim
import numpy as np
import pytest

from leogym.traces.formats import grid
from leogym.traces.formats.test_leoem import _line


@pytest.fixture
def imported(run_traces, tmp_path):
    """Return a function that imports a text and returns the trace's metadata."""

    def run(text, kind, words=""):
        source, out = tmp_path / "log.txt", tmp_path / "out.csv"
        source.write_text(text)
        assert run_traces("import", source, "--format", kind, "--out", out, words) == 0
        return json.loads(leosim.PathTrace.read(str(out)).metadata)

    return run


def _leoem(seconds, slot_s):
    """Return a log from second 1, as published, whose first end changes satellite every ``slot_s``."""
    return "".join(
        _line(second + 1, [second // slot_s, 900 + second // 7, 60], [2 + second / 1000, 4, 4, 2])
        for second in range(seconds)
    )


def test_a_leoem_log_announces_its_handovers_and_the_grid_that_they_are_on(imported, capsys):
    about = imported(_leoem(160, 16), "leoem")
    assert (about["reattach_s"], about["reattach_phase_s"], about["off_grid_handovers_s"]) == (16.0, 0.0, [])
    hard = [one for one in about["handovers"] if one["kind"] == "hard"]
    assert [one["time_s"] for one in hard] == [16.0 * slot for slot in range(1, 10)]
    assert {one["end"] for one in hard} == {"from"}
    soft = [one["time_s"] for one in about["handovers"] if one["kind"] == "soft"]
    assert soft == [7.0 * change for change in range(1, 23) if change != 16]
    # SaTCP's prediction error, as in built traces: 0.365 s.
    errors = [abs(one["predicted_s"] - one["time_s"]) for one in about["handovers"]]
    assert 0.1 < float(np.mean(errors)) < 0.6
    said = capsys.readouterr().err
    assert "re-selections every 16 s from 0 s on, as found: 9 of 9 hard handovers are on it" in said


def test_satcp_and_leocc_find_what_they_need_on_an_imported_leoem_log(imported, tmp_path):
    imported(_leoem(160, 16), "leoem")
    flows = [{"scheme": scheme, "route": ["l"]} for scheme in ("satcp", "leocc")]
    scenario = {"name": "s", "duration_s": 20, "seed": 1, "links": {"l": {"trace": "t"}}, "flows": flows}
    trace = leosim.PathTrace.read(str(tmp_path / "out.csv"))
    assert leosim.missing_announcements(json.dumps(scenario), {"t": trace}) == []


def test_a_log_whose_ends_start_over_again_and_again_announces_handovers_and_no_grid(imported, capsys):
    # Multiples of 16 s with every third 5 s late: no phase has more than a third.
    lines, second = [], 1
    for slot in range(36):
        for _ in range(16 + 5 * (slot % 3 == 2)):
            lines.append(_line(second, [slot, 60], [2 + second / 1000, 4, 2]))
            second += 1
    about = imported("".join(lines), "leoem")
    assert "reattach_s" not in about
    assert len(about["handovers"]) == 35
    assert "start over too often for one grid" in capsys.readouterr().err


def _leoreplayer(seconds, period_s, phase_s):
    delays = [11] * (100 * seconds)
    for at in np.arange(phase_s, seconds, period_s):
        for row in range(3):
            delays[int(100 * at) + row] = 40 - 9 * row
    return "".join(f"{delay}\n" for delay in delays)


def test_the_grid_of_a_measured_path_is_found_in_its_peaks_of_delay(imported):
    about = imported(_leoreplayer(120, 15, 8.69), "leoreplayer")
    assert about["reattach_s"] == 15.0
    assert math.isclose(about["reattach_phase_s"], 8.69, abs_tol=0.011)
    times = [one["time_s"] for one in about["handovers"]]
    assert times == pytest.approx([8.69 + 15 * slot for slot in range(8)], abs=0.011)


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("leoem", _leoem(40, 100), ""),
        ("leoreplayer", "11\n" * 3000, ""),
        ("mahimahi", "1\n30000\n", "--delay-ms 10"),
        ("hypatia", "".join(f"{second}000000000,30000000\n" for second in range(30)), ""),
        ("starlink-csv", "time_s,rtt_ms\n" + "".join(f"{s},30\n" for s in range(30)), ""),
    ],
)
def test_every_import_is_told_the_grid(imported, kind, text, words):
    assert "reattach_s" not in imported(text, kind, words)
    grid_words = "--reattach-s 15 --reattach-phase-s 12"
    about = imported(text, kind, f"{words} {grid_words}")
    assert (about["reattach_s"], about["reattach_phase_s"]) == (15.0, 12.0)
    assert grid_words in about["command"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--reattach-s 0", "import: --reattach-s: must be above 0 and at most 3,600, not 0"),
        (
            "--reattach-s 15 --reattach-phase-s 15",
            "import: --reattach-phase-s: 15 is not below the period of 15 s",
        ),
        ("--reattach-phase-s 3", "import: --reattach-phase-s: no period is found in the data"),
        ("--reattach-phase-s -1", "import: --reattach-phase-s: must be at least 0 and below 3,600, not -1"),
    ],
)
def test_a_grid_that_is_none_is_refused_in_one_line(refused_traces, tmp_path, words, message):
    source = tmp_path / "log.txt"
    source.write_text("11\n" * 3000)
    out = tmp_path / "out.csv"
    assert refused_traces("import", source, "--format leoreplayer --out", out, words).startswith(message)


def test_changes_at_random_moments_have_no_grid():
    random = np.random.default_rng(1)
    for _ in range(20):
        times = np.sort(random.uniform(0, 600, 40))
        assert grid.find(times, grid.MEASURED_S, 0.01) is None
        assert grid.find_exact([np.unique(np.floor(times))], 1.0)[1] is None
