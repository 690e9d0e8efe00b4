import csv
import json
import time
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from leogym.agents import train_cli
from leogym.agents.sweeps import report as report_module
from leogym.agents.sweeps import trial as trial_module
from leogym.agents.sweeps.plan import plan
from leogym.agents.sweeps.progress import INTERVAL_S, SweepProgress
from leogym.agents.sweeps.report import report
from leogym.agents.sweeps.run import resources
from leogym.agents.sweeps.trial import WatchedRun
from leogym.agents.training.stopping import Stop
from leogym.common.errors import InputError
from leogym.configs import sweep

SMALL = """
name: small
agent: ppo
settings: {steps: 100, scenarios.duration_s: 1, scenarios.sampler: astraea}
search: {learning_rate: {grid: [1e-3, 1e-2, 0.1, 1.0]}}
metric: reward
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def test_trials_are_runs_of_the_file_with_the_settings_that_are_searched_for(file, tmp_path):
    planned = plan(sweep.read(file), tmp_path, str(file)).trials
    assert [trial.settings.learning_rate for trial in planned] == [1e-3, 1e-2, 0.1, 1.0]
    for trial in planned:
        assert (trial.settings.steps, trial.settings.scenarios.duration_s) == (100, 1)
        assert (trial.settings.group, trial.settings.track) == ("small", "none")


def test_every_shipped_sweep_has_trials(tmp_path):
    for path in sorted((train_cli.CONFIGS.parent / "sweeps").glob("*.yaml")):
        assert len(plan(sweep.read(path), tmp_path, str(path)).trials) > 2


def written(trial, values, summary: bool = True, given_up: bool = False):
    trial.folder.mkdir(parents=True)
    rows = [{"steps": 20 * (at + 1), "reward": value} for at, value in enumerate(values)]
    with (trial.folder / "progress.csv").open("w", newline="") as out:
        writer = csv.DictWriter(out, ["steps", "reward"])
        writer.writeheader()
        writer.writerows(rows)
    if summary:
        (trial.folder / "summary.json").write_text(json.dumps({"steps": 100}))
    if given_up:
        trial.given_up.write_text("{}")


def test_the_table_has_the_best_trial_first_and_says_how_each_ended(file, tmp_path):
    sweep_plan = plan(sweep.read(file), tmp_path, str(file))
    planned = sweep_plan.trials
    written(planned[0], [0.1, 0.5, 0.4])
    written(planned[1], [0.1, "nan"], summary=False, given_up=True)
    written(planned[2], [0.2, 0.9])
    with report(sweep_plan, tmp_path).open(newline="") as table:
        rows = list(csv.DictReader(table))
    keys = ("trial", "learning_rate", "reward", "steps", "status", "folder")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        ("2", "0.1", "0.9", "40", "done", "trials/0002"),
        ("0", "0.001", "0.5", "40", "done", "trials/0000"),
        ("1", "0.01", "0.1", "20", "given up", "trials/0001"),
        ("3", "1", "", "", "unfinished", "trials/0003"),
    ]
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["done"], summary["given_up"], summary["best"]["trial"]) == (2, 1, 2)
    least = sweep_plan.sweep.model_copy(update={"goal": "min"})
    report(replace(sweep_plan, sweep=least), tmp_path)
    assert json.loads((tmp_path / "summary.json").read_text())["best"]["trial"] == 0


def test_the_table_has_the_mean_over_the_seeds_of_each_setting(file, tmp_path):
    file.write_text(SMALL.replace("0.1, 1.0]}", "0.1]}, seed: {grid: [1, 2]}"))
    searched = plan(sweep.read(file), tmp_path, str(file))
    for trial, value in zip(searched.trials, (0.2, 0.4, 0.9, 0.1, 0.3), strict=False):
        written(trial, [value])
    with report(searched, tmp_path).open(newline="") as table:
        rows = {int(row["trial"]): row["reward_mean_of_seeds"] for row in csv.DictReader(table)}
    assert [rows[number] for number in range(6)] == ["0.3 (2)"] * 2 + ["0.5 (2)"] * 2 + ["0.3 (1)"] * 2


def test_the_legend_names_the_settings(file, tmp_path, monkeypatch):
    file.write_text(SMALL.replace("0.1, 1.0]}", "0.1]}, seed: {grid: [1, 2]}"))
    searched = plan(sweep.read(file), tmp_path, str(file))
    for trial in searched.trials[:4]:
        written(trial, [0.5])
    labels = []
    drawn = report_module.Line2D
    monkeypatch.setattr(
        report_module, "Line2D", lambda *data, label, **look: labels.append(label) or drawn(*data, **look)
    )
    report(searched, tmp_path)
    assert labels == ["learning_rate 0.001", "learning_rate 0.01"]


def evaluated(trial, rewards, powers):
    trial.folder.mkdir(parents=True)
    rows = [f"{20 * (at + 1)},{reward},{powers[at]}\n" for at, reward in enumerate(rewards)]
    (trial.folder / "evaluation.csv").write_text("".join(["steps,reward,power\n", *rows]))


REWARDS = """
name: rewards
agent: ppo
settings: {steps: 100, held_out_episodes: 2, scenarios.duration_s: 1, scenarios.sampler: astraea}
search: {reward: {grid: [power, "throughput:1,delay:-0.2"]}}
"""


def test_trials_that_differ_in_reward_are_compared_by_held_out_power_at_their_best_checkpoint(file, tmp_path):
    file.write_text(REWARDS)
    rewards = plan(sweep.read(file), tmp_path, str(file))
    assert rewards.metric == "held_out_power"
    evaluated(rewards.trials[0], [0.3, 0.4, 0.2], [0.5, 0.6, 0.9])
    evaluated(rewards.trials[1], [7.0, 8.0, 9.0], [0.7, 0.2, 0.1])
    with report(rewards, tmp_path).open(newline="") as table:
        rows = [(row["trial"], row["held_out_power"], row["steps"]) for row in csv.DictReader(table)]
    # The policy in best/ has the highest held-out reward, so its row counts, not the highest power.
    assert rows == [("0", "0.6", "40"), ("1", "0.1", "60")]


@pytest.mark.parametrize("metric", ["reward", "held_out_reward", "episode_reward_mean", "value_loss"])
def test_a_metric_on_the_scale_of_a_reward_does_not_compare_trials_with_other_rewards(file, tmp_path, metric):
    file.write_text(f"{REWARDS}metric: {metric}\n")
    with pytest.raises(InputError, match=f"metric: {metric}: trials learn from different rewards") as caught:
        plan(sweep.read(file), tmp_path, str(file))
    assert "held_out_power" in str(caught.value)
    assert "\n" not in str(caught.value)
    same = REWARDS.replace("throughput:1,delay:-0.2", "power")
    file.write_text(f"{same}metric: {metric}\n")
    assert plan(sweep.read(file), tmp_path, str(file)).metric == metric


SEVERAL = """
name: several
agents: {ppo: {rollout_steps: 64}, sac: {batch_size: 64}}
settings: {engine: rllib, reward: astraea, steps: 100, held_out_episodes: 2, scenarios.flows: [2, 8]}
search: {scenarios: {grid: [leo, astraea]}, policies: {grid: [shared, separate]}}
"""
JUDGED = SEVERAL.replace("steps: 100,", "steps: 100, held_out_scenarios: {sampler: leo, flows: 2},")


def test_a_sweep_may_compare_agents_scenarios_and_policies_on_the_same_held_out_scenarios(file, tmp_path):
    file.write_text(JUDGED)
    several = plan(sweep.read(file), tmp_path, str(file))
    assert several.metric == "held_out_reward"
    found = [tuple(trial.assigned.values()) for trial in several.trials]
    assert found[:3] == [
        ("ppo", "leo", "shared"), ("ppo", "leo", "separate"), ("ppo", "astraea", "shared")
    ]  # fmt: skip
    assert len(found) == 8
    first, last = several.trials[0].settings, several.trials[-1].settings
    assert (first.agent, first.rollout_steps, last.agent, last.batch_size) == ("ppo", 64, "sac", 64)
    # A sampler's name among the searched values does not undo a single range of all trials.
    assert (last.scenarios.sampler, last.scenarios.flows, last.policies) == ("astraea", (2, 8), "separate")
    assert last.for_held_out().scenarios.flows == (2, 2)


def test_progress_is_printed_at_the_start_and_while_trials_run(file, tmp_path, capsys):
    searched = plan(sweep.read(file), tmp_path, str(file))
    written(searched.trials[0], [0.1, 0.5, 0.4])
    printed = []
    with SweepProgress(searched, interval_s=0.01) as progress:
        written(searched.trials[1], [0.7], summary=False)
        deadline_s = time.monotonic() + 20
        while not any(" 30%" in line for line in printed) and time.monotonic() < deadline_s:
            printed += capsys.readouterr().out.splitlines()
    assert printed[0] == " 25%  1 of 4 trials ended  best reward 0.5 (trial 0)"
    assert progress.line().startswith(" 30%  1 of 4 trials ended  ")
    assert progress.line().endswith(" left  best reward 0.7 (trial 1)")
    assert INTERVAL_S <= 30


def test_the_legend_covers_no_line(file, tmp_path, monkeypatch):
    sweep_plan = plan(sweep.read(file), tmp_path, str(file))
    for trial in sweep_plan.trials:
        written(trial, [0.1, 0.5, 0.4])
    boxes = []

    def save(figure, *arguments, **options):
        figure.canvas.draw()
        [axes] = figure.axes
        boxes.append((axes.get_legend().get_window_extent(), axes.get_window_extent()))

    monkeypatch.setattr(Figure, "savefig", save)
    report(sweep_plan, tmp_path)
    [(legend, axes)] = boxes
    assert not legend.overlaps(axes)


def test_a_trial_that_was_given_up_or_done_tells_what_it_had_and_does_no_more(file, tmp_path, monkeypatch):
    planned = plan(sweep.read(file), tmp_path, str(file)).trials
    written(planned[0], [0.1, 0.5])
    written(planned[1], [0.3], summary=False, given_up=True)
    told = []
    monkeypatch.setattr(trial_module.tune, "report", told.append)
    monkeypatch.setattr(trial_module.registry, "get", lambda name: pytest.fail("it trains"))
    for trial in planned[:2]:
        trial_module.run(trial, "reward", Stop())
    assert told == [
        {"steps": 20, "reward": 0.1},
        {"steps": 40, "reward": 0.5},
        {"steps": 20, "reward": 0.3},
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("learning_rate", "learning_rat"), "trial 0: learning_rat: unknown key"),
        (("[1e-3,", "[-1.0,"), "trial 0: learning_rate: must be a number above 0, not -1"),
        (("steps: 100, ", "minutes: 1, steps: null, "), "steps: trials are compared by steps"),
        (("metric: reward", "metric: held_out_reward"), "metric: held_out_reward needs"),
        (("steps: 100,", "steps: 100, agent: sac,"), "settings: agent: is 'sac', but the sweep trains 'ppo'"),
        (
            ("metric: reward", "metric: held_out_powr"),
            "metric: held_out_powr: unknown .nearest: held_out_power",
        ),
        (("steps: 100,", "steps: 100, reward: powr,"), 'trial 0: reward: no reward or term is named "powr"'),
        (("learning_rate:", "reward.delay:"), "trial 0: reward.delay: reward is not a mapping"),
        (("agent: ppo", "agent: moon"), "--agent: moon: not an agent"),
        (("agent: ppo", "agent: vivace"), "agent: .*othing to train|agent: "),
    ],
)
def test_a_sweep_that_cannot_run_is_refused_before_anything_starts(file, tmp_path, change, message):
    text = SMALL.replace(*change)
    if "held_out" in change[1]:
        text = text.replace("steps: 100,", "steps: 100, held_out_episodes: 0,")
    file.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        train_cli.run(["--sweep", str(file), "--out", str(tmp_path / "out")])
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SEVERAL, "metric: held_out_reward: trials have different scenarios, which it does not compare"),
        (f"{JUDGED}metric: reward\n", "metric: reward: trials have different scenarios"),
        (JUDGED.replace("flows: 2}", "flows: 9}"), "up to 9 learn, but policies: separate trains 8"),
        (JUDGED.replace("agents:", "agent: ppo\nagents:"), "give one of agent and agents"),
        (JUDGED.replace("name: several", "name: several\nconfig: a.yaml"), "config: is for one agent"),
        ("name: a\nagent: ppo\n", "search: give at least one setting"),
        (SMALL.replace("learning_rate", "agent"), "search.agent: list agents instead"),
    ],
)
def test_trials_that_nothing_compares_are_refused(file, tmp_path, text, message):
    file.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        plan(sweep.read(file), tmp_path, str(file))
    assert "\n" not in str(caught.value)


def test_a_metric_that_progress_csv_lacks_ends_the_trial_with_the_nearest(tmp_path):
    run = WatchedRun.create(tmp_path / "run", "", {})
    run.metric = "rewrd"
    with pytest.raises(
        InputError, match=r"^metric: rewrd: progress.csv has no such column .nearest: reward;"
    ):
        run.append_progress({"steps": 1, "reward": 0.5})


def test_the_name_of_a_shipped_sweep_is_answered_with_its_file(tmp_path):
    with pytest.raises(InputError, match=r"^ppo-leo: no such file: .*/sweeps/ppo-leo.yaml$"):
        train_cli.run(["--sweep", "ppo-leo", "--out", str(tmp_path / "out")])


def test_a_flag_of_a_single_run_is_refused(file, tmp_path):
    for flag in (["--agent", "ppo"], ["--steps", "5"], ["--set", "seed=1"]):
        with pytest.raises(InputError, match=f"^--sweep: {flag[0]} applies to single runs only"):
            train_cli.run(["--sweep", str(file), *flag])
    with pytest.raises(InputError, match="--agent or --sweep: give one"):
        train_cli.run(["--steps", "5"])


def test_resuming_needs_the_same_sweep(file, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(InputError, match=r"sweep\.yaml: no sweep to resume here"):
        train_cli.run(["--sweep", str(file), "--out", str(out), "--resume"])
    out.mkdir()
    (out / "sweep.yaml").write_text("name: another\n")
    with pytest.raises(InputError, match="differs from the given sweep"):
        train_cli.run(["--sweep", str(file), "--out", str(out), "--resume"])
    (out / "trials").mkdir()
    with pytest.raises(InputError, match="has a sweep already"):
        train_cli.run(["--sweep", str(file), "--out", str(out)])


def test_a_sweep_whose_cluster_did_not_start_can_be_started_again(file, tmp_path):
    out = tmp_path / "out"
    for _ in range(2):
        with pytest.raises(InputError, match=r"127\.0\.0\.1:1"):
            train_cli.run(["--sweep", str(file), "--out", str(out), "--ray", "127.0.0.1:1"])


def test_trials_that_sample_in_processes_fit_on_a_machine_of_as_many_processors(file, tmp_path):
    file.write_text(SMALL.replace("steps: 100", "steps: 100, engine: rllib, workers: 2"))
    planned = plan(sweep.read(file), tmp_path, str(file)).trials
    assert resources(planned, 3).bundles == [{"CPU": 1}, {"CPU": 1}, {"CPU": 1}]
    assert resources(planned, 2).bundles == [{"memory": 1}, {"CPU": 1}, {"CPU": 1}]
    with pytest.raises(InputError, match="workers: 2: processes of one trial, but Ray has 1 processors"):
        resources(planned, 1)
