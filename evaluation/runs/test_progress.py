import io

import pytest
from rich.console import Console

from leogym.evaluation.runs.progress import QUICK_HINT, Estimate, ProgressDisplay, duration, weight
from tests.support.sample_results import sample_plan


def test_the_time_left_is_right_where_schemes_cost_differently():
    runs = sample_plan("leo-single", ["cubic", "clone"], 4)
    costs = {"cubic": 0.001, "clone": 0.01}
    estimate = Estimate(runs, at_a_time=2)
    assert estimate.left_s() is None
    for run in runs[:4]:
        estimate.add(run, weight(run) * costs[run.scheme])
    assert {run.scheme for run in runs[:4]} != {run.scheme for run in runs}
    for run in runs[4:]:
        if run.repeat == 0:
            estimate.add(run, weight(run) * costs[run.scheme])
    left = sum(weight(run) * costs[run.scheme] for run in runs if run.repeat > 0)
    assert estimate.left_s() == pytest.approx(left / 2)


def test_a_run_weighs_its_time_its_capacity_and_its_flows():
    [single, *_] = sample_plan("leo-single", ["cubic"], 1)
    [pair, *_] = sample_plan("leo-pair", ["cubic"], 1)
    assert weight(single) == single.scenario.duration_s * 101
    assert weight(pair) == pair.scenario.duration_s * 102


def test_a_log_gets_ten_lines_and_the_last_says_that_all_is_done():
    runs = sample_plan("leo-single", ["cubic", "reno"], 5)
    told = io.StringIO()
    with ProgressDisplay(Console(file=told), runs, runs[:20], at_a_time=1) as shown:
        for run in runs:
            shown.ended(run, None if run in runs[:20] else 30.0)
    lines = told.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == f"25 of 60 runs done, {duration(35 * 30)} left"
    assert lines[-1] == "60 of 60 runs done"


@pytest.mark.parametrize(
    ("seconds", "hints_at_quick", "hints"), [(30.0, True, 1), (30.0, False, 0), (0.5, True, 0)]
)
def test_a_long_evaluation_hints_once_at_a_shorter_one(seconds, hints_at_quick, hints):
    runs = sample_plan("leo-single", ["cubic"], 2)
    told = io.StringIO()
    with ProgressDisplay(Console(file=told), runs, [], at_a_time=1, hints_at_quick=hints_at_quick) as shown:
        for run in runs:
            shown.ended(run, seconds)
    assert told.getvalue().count(f"6 min left: {QUICK_HINT}") == hints
    assert told.getvalue().count("--quick") == hints


@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
def test_a_terminal_gets_a_bar_with_the_time_left_or_lines_if_it_cannot_draw(terminal, monkeypatch):
    monkeypatch.setenv("TERM", terminal)
    runs = sample_plan("leo-single", ["cubic"], 2)
    told = io.StringIO()
    with ProgressDisplay(Console(file=told, force_terminal=True, width=100), runs, [], at_a_time=1) as shown:
        for run in runs[:2]:
            shown.ended(run, 60.0)
        shown._bar.refresh()
    assert "2 of 12 runs done, 10 min left" in told.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (59.4, "59 s"), (60, "1 min"), (3540, "59 min"), (11100, "3 h 5 min")]
)
def test_a_time_is_said_in_the_units_that_fit(seconds, text):
    assert duration(seconds) == text
