"""What a run prints while it trains."""

import io
import math
import re
import sys

import leosim
import numpy as np
import pytest
from rich.console import Console

from leogym.agents.training import held_out, reporter, rollout
from leogym.agents.training.episode_batch import Episodes
from leogym.agents.training.reporter import Reporter, TimeLeft
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.agents.training.test_held_out import TINY, trained
from tests.support.training_runs import rows

SCENARIOS = TINY["scenarios"]


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(reporter, "time", made)
    return made


def reports(tmp_path, before=(0, 0.0), columns=("reward",), **length) -> Reporter:
    settings = TrainSettings(agent="astraea", track="none", **length)
    run = RunFolder.create(tmp_path / "run", "", {})
    return Reporter(settings, run, steps=before[0], wall_s=before[1], columns=columns)


def test_a_log_says_how_long_training_still_takes(tmp_path, clock, capsys):
    report = reports(tmp_path, steps=1_000)
    with report:
        for steps in (100, 400, 1_000):
            clock.now_s = 1_000.0 + 2 * steps
            report.row({"steps": steps, "reward": 0.5})
    lines = capsys.readouterr().out.splitlines()
    left = [re.findall(r"[0-9]+ (?:s|min) left", line) for line in lines]
    assert left == [["30 min left"], ["20 min left"], []]
    assert lines[0] == " 10%  100 steps  30 min left  reward 0.5"


def test_time_left_counts_from_a_resume_and_knows_a_budget_of_minutes(tmp_path, clock):
    resumed = reports(tmp_path / "steps", (500, 1e4), steps=1_000)
    assert resumed.left_s(500) is None
    clock.now_s += 50
    assert resumed.left_s(600) == pytest.approx(200)
    timed = reports(tmp_path / "minutes", (500, 90.0), minutes=5)
    clock.now_s += 60
    assert timed.left_s(501) == pytest.approx(150)
    clock.now_s += 150
    assert timed.left_s(502) is None


def test_a_terminal_labels_the_time_left(clock):
    column = TimeLeft()
    task = type("Task", (), {"fields": {"ends_s": None}})
    assert column.render(task).plain == ""
    task.fields["ends_s"] = clock.now_s + 5_316
    assert column.render(task).plain == "1 h 29 min left"
    task.fields["ends_s"] = clock.now_s - 1
    assert column.render(task).plain == "0 s left"


@pytest.mark.parametrize(
    ("width", "shown"), [(80, "12,345,678 steps  reward 0.08123 "), (160, "delay_inflation 1.068 ")]
)
def test_the_progress_bar_fits_the_terminal(tmp_path, clock, monkeypatch, width, shown):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    columns = ("reward", "normalized_goodput", "delay_inflation")
    with reports(tmp_path, (0, 0.0), columns, steps=20_000_000) as report:
        clock.now_s += 50_000
        numbers = {"reward": 0.08123, "normalized_goodput": 0.91234, "delay_inflation": 1.06789}
        report.row({"steps": 12_345_678, **numbers})
        output = io.StringIO()
        Console(file=output, width=width).print(report._bar.get_renderable())
    (line,) = output.getvalue().splitlines()
    assert line.startswith("astraea ━━━━━━━━━━")
    assert " 62% 8 h 37 min left " in line
    assert f"{line.rstrip()} ".endswith(shown)
    assert len(line) <= width


def cubic_runs(settings: TrainSettings, episodes: int) -> list[leosim.RunLog]:
    """Run the held-out episodes with Cubic in the place of the learners, by themselves."""
    changes = {"seed": rollout.HELD_OUT_SEED, "num_envs": 1}
    draw = Episodes(settings.model_copy(update=changes)).scenario
    texts = [draw(rollout.CHOOSING_EPISODE + index).to_json() for index in range(episodes)]
    return leosim.run([text.replace('"agent"', '"cubic"') for text in texts], {})


def test_cubic_is_measured_on_the_episodes_that_evaluate_the_policy():
    settings = TrainSettings(agent="astraea", scenarios=SCENARIOS, reward="throughput:1")
    measured = rollout.evaluate_scheme("cubic", settings, 3, first=rollout.CHOOSING_EPISODE)
    flows = [flow for log in cubic_runs(settings, 3) for flow in log.flows]
    assert len(flows) == 6
    for name in rollout.METRICS:
        assert measured[name] == pytest.approx(np.mean([flow[name] for flow in flows]))
    assert 0 < measured["reward"] <= 1


def test_cubic_has_no_reward_where_background_flows_run():
    ranges = {**SCENARIOS, "learning_flows": 1, "background": ["reno"]}
    settings = TrainSettings(agent="astraea", scenarios=ranges)
    measured = rollout.evaluate_scheme("cubic", settings, 3, first=rollout.CHOOSING_EPISODE)
    assert math.isnan(measured["reward"])
    assert 0 < measured["normalized_goodput"] < 1
    assert "reward" not in held_out.described(measured, 1)


def test_each_evaluation_prints_the_policy_beside_cubic_and_bbr_in_one_line(tmp_path, capsys):
    run = trained("ppo", tmp_path / "run", 64, held_out_episodes=2)
    (row,) = rows(run, "evaluation.csv")
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("held out: ")]
    policy, best, *beside = line.removeprefix("held out: ").split("; ")
    figures = {name: float(row[name]) for name in ("reward", *rollout.METRICS)}
    assert policy == held_out.described(figures, 2)
    assert re.fullmatch(
        r"reward \S+, utilization per flow \d+\.\d %, delay inflation \d+\.\d\d, loss \S+ %, power \d\.\d{3}",
        policy,
    )
    assert best == f"best: reward {float(row['reward']):.4g}"
    settings = TrainSettings(agent="astraea", scenarios=SCENARIOS)
    first = rollout.CHOOSING_EPISODE
    expected = [rollout.evaluate_scheme(name, settings, 2, first=first) for name in ("cubic", "bbr")]
    assert beside == [
        f"{name}: {held_out.described(metrics, 2)}"
        for name, metrics in zip(("Cubic", "BBR"), expected, strict=True)
    ]
    assert [run.notes["cubic_power"], run.notes["bbr_power"]] == [metrics["power"] for metrics in expected]


def test_an_evaluation_warns_of_loss_and_of_less_power_than_cubic(tmp_path, capsys):
    report = reports(tmp_path, steps=10)
    report._warn({"loss_rate": 0.072, "power": 0.31}, {"power": 0.62})
    report._warn({"loss_rate": 0.01, "power": 0.31}, {"power": 0.62})
    report._warn({"loss_rate": 0.05, "power": 0.7}, {"power": 0.62})
    assert capsys.readouterr().out.splitlines() == [
        "warning: held out: loss 7.2 % is above 5 %; power 0.31 is below Cubic's 0.62",
        "warning: held out: power 0.31 is below Cubic's 0.62",
    ]


def test_a_resume_knows_the_references_as_the_run_did(tmp_path):
    run = trained("ppo", tmp_path / "run", 64, held_out_episodes=2)
    again = trained("ppo", tmp_path / "run", 64, resume=True, held_out_episodes=2)
    assert again.notes == run.notes
