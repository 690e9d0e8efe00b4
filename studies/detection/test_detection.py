import csv
import json
import math
import re

import leosim
import numpy as np
import pytest
from rich.console import Console

from leogym.common.errors import InputError
from leogym.results.figure_style import svg
from studies.detection import figure, means, runs
from studies.detection.__main__ import main, parsed
from studies.detection.matching import Score
from studies.detection.runs import DETECTORS, Phase, Scored, Settings

QUICK = Settings(repeats=1, duration_s=50.0)


@pytest.fixture
def only_starlink(monkeypatch):
    """Paths that are built within milliseconds, and two kinds of hints."""
    monkeypatch.setattr(runs, "PATHS", {"starlink": ("starlink",)})
    monkeypatch.setattr(runs, "ERRORS_S", (0.0, 5.0))


def test_right_hints_tell_every_reconfiguration_and_hints_that_are_off_by_5_s_none(only_starlink):
    found, traces = runs.scores(QUICK)
    by = {(one.detector, one.error_s): one.score for one in found}
    assert len(traces) == 1
    for scheme, lead_s in (("leocc", 0.1), ("starquic", 0.1)):
        right, wrong = by[scheme, 0.0], by[scheme, 5.0]
        assert (right.precision, right.recall) == (1.0, 1.0)
        assert right.lag_s == pytest.approx(-lead_s, abs=0.05)
        assert (wrong.precision, wrong.recall, wrong.lag_s) == (0.0, 0.0, None)
    # A probe sees what happens, and does not ask for hints. Many of this terminal's changes hardly move the
    # base RTT.
    probe = by["RTT alone, 1 Mbit/s", None]
    assert probe.precision == 1.0
    assert probe.recall is not None
    assert probe.recall > 0
    assert {one.error_s for one in found if one.detector.startswith("RTT alone")} == {None}


def test_phases_are_random_and_repeat(only_starlink):
    settings = Settings(repeats=200, seed=3)
    phases = [Phase.drawn(settings, "starlink", repeat, lambda _: 300.0) for repeat in range(200)]
    assert phases == [Phase.drawn(settings, "starlink", repeat, lambda _: 300.0) for repeat in range(200)]
    assert len({phase.path for phase in phases}) == 200, "each repeat has a path of its own"
    # A uniform phase within the period of 15 s: each third has about a third.
    thirds = [int(phase.offset_s % 15.0 // 5.0) for phase in phases]
    assert all(45 <= thirds.count(third) <= 90 for third in range(3))
    other = Phase.drawn(Settings(seed=4), "starlink", 0, lambda _: 300.0)
    assert other != phases[0]


def scored(repeat, precision, lag_s, error_s=0.0):
    made = Score(precision=precision, recall=0.5, recall_of_steps=None, lag_s=lag_s)
    return Scored("leo", "path", "leocc", error_s, repeat, 0.8, made)


def test_a_summary_has_means_over_the_repeats_that_have_a_value():
    [row] = means.summarized([scored(0, 0.5, 0.1), scored(1, 1.0, None), scored(2, None, 0.3)])
    assert (row.metrics["precision"].mean, row.metrics["precision"].n) == (0.75, 2)
    assert (row.metrics["lag_s"].mean, row.metrics["lag_s"].n) == (pytest.approx(0.2), 2)
    assert (row.metrics["recall"].low, row.metrics["recall"].high, row.metrics["recall"].n) == (0.5, 0.5, 3)
    assert row.metrics["precision"].low <= 0.75 <= row.metrics["precision"].high
    assert "recall_of_steps" not in row.metrics
    assert "| leo | leocc | 0 | 0.75 [0.50, 1.00] |" in means.as_markdown([row])
    [single] = means.summarized([scored(0, 0.5, 0.1)])
    assert math.isnan(single.metrics["precision"].low)
    assert "leo,leocc,0,precision,0.5,,,1" in means.as_csv([single])


def test_the_figure_has_a_line_per_detector():
    rows = means.summarized([scored(n, n / 3, 0.1, error_s) for n in range(3) for error_s in (0.0, 2.0)])
    [panel] = figure.panels(rows)
    assert panel.label == "leo paths, hints that are right: leocc precision 0.33; leocc recall 0.50"
    assert [len(axes.lines) for axes in panel.figure.axes] == [1, 1]
    assert panel.figure.axes[0].lines[0].get_xdata().tolist() == [0.0, 2.0]
    assert svg(panel).startswith("<?xml")


def test_the_command_writes_table_figures_and_provenance(only_starlink, tmp_path, capsys):
    assert main(["--repeats", "2", "--duration", "30", "--out", str(tmp_path / "out")]) == 0
    rows = list(csv.DictReader((tmp_path / "out" / "detection.csv").open()))
    told = [one.name for one in DETECTORS if one.announced]
    assert {row["detector"] for row in rows} == {one.name for one in DETECTORS}
    assert {row["hint_error_s"] for row in rows if row["detector"] in told} == {"0", "5"}
    assert {row["n"] for row in rows if row["metric"] == "recall"} == {"2"}
    about = json.loads((tmp_path / "out" / "detection.json").read_text())
    assert about["config"] == {"repeats": 2, "duration_s": 30.0, "window_s": 1.5, "seed": 1}
    assert len(about["traces"]) == 2
    assert (tmp_path / "out" / "detection-starlink.svg").read_text().startswith("<?xml")
    assert "at most 1.5 s apart" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["--repeats", "0"], "--repeats: must be within 1 and 10000"),
        (["--window", "nan"], "--window: must be within 0 and 60"),
        (["--duration", "6"], "--duration: must be above --window"),
        (["--seed", "-1"], "--seed: must be within 0"),
        (["--jobs", "0"], "--jobs: must be within 1"),
    ],
)
def test_bad_arguments_have_one_line(arguments, rule):
    with pytest.raises(InputError, match=rule):
        parsed(arguments)


@pytest.mark.parametrize(
    ("time_s", "rtt_ms", "rule"),
    [
        ([0.0, 1.0], [50.0], "rtt_ms: must have as many values as time_s (2), not 1"),
        ([1.0, 0.5], [50.0, 50.0], "time_s[1]: must be at least 1"),
        ([np.nan], [50.0], "time_s[0]: must be at least 0"),
        ([0.0], [-1.0], "rtt_ms[0]: must be at least 0"),
    ],
)
def test_bad_samples_have_one_line(time_s, rtt_ms, rule):
    with pytest.raises(leosim.InputError, match=re.escape(rule)):
        leosim.base_rtt_steps(np.array(time_s), np.array(rtt_ms))


def test_samples_that_are_missing_are_no_steps():
    time_s = np.arange(0.0, 10.0, 0.01)
    rtt_ms = np.where(time_s < 5.0, 40.0, 60.0)
    rtt_ms[::3] = np.nan
    [step_s] = leosim.base_rtt_steps(time_s, rtt_ms)
    assert 5.0 < step_s < 5.3


def test_the_table_fits_a_terminal():
    rows = means.summarized([scored(n, n / 3, 0.1) for n in range(3)])
    console = Console(width=140)
    with console.capture() as captured:
        console.print(means.as_table(rows))
    assert "0.33 [" in captured.get()
