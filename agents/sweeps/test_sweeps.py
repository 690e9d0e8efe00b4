import csv
import json

import pytest

from leogym.agents import train_cli
from leogym.agents.sweeps import report as report_module
from leogym.agents.sweeps import trial as trial_module
from leogym.agents.sweeps.plan import trials
from leogym.agents.sweeps.report import report
from leogym.agents.sweeps.run import resources
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
    planned = trials(sweep.read(file), tmp_path, str(file))
    assert [trial.settings.learning_rate for trial in planned] == [1e-3, 1e-2, 0.1, 1.0]
    for trial in planned:
        assert (trial.settings.steps, trial.settings.scenarios.duration_s) == (100, 1)
        assert (trial.settings.group, trial.settings.track) == ("small", "none")


def test_every_shipped_sweep_has_trials(tmp_path):
    for path in sorted((train_cli.CONFIGS.parent / "sweeps").glob("*.yaml")):
        assert len(trials(sweep.read(path), tmp_path, str(path))) > 2


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
    found = sweep.read(file)
    planned = trials(found, tmp_path, str(file))
    written(planned[0], [0.1, 0.5, 0.4])
    written(planned[1], [0.1, "nan"], summary=False, given_up=True)
    written(planned[2], [0.2, 0.9])
    with report(found, planned, tmp_path).open(newline="") as table:
        rows = list(csv.DictReader(table))
    keys = ("trial", "learning_rate", "reward", "steps", "status", "folder")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        ("2", "0.1", "0.9", "40", "done", "trials/0002"),
        ("0", "0.001", "0.5", "60", "done", "trials/0000"),
        ("1", "0.01", "0.1", "20", "given up", "trials/0001"),
        ("3", "1", "", "0", "unfinished", "trials/0003"),
    ]
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["done"], summary["given_up"], summary["best"]["trial"]) == (2, 1, 2)
    least = found.model_copy(update={"goal": "min"})
    report(least, planned, tmp_path)
    assert json.loads((tmp_path / "summary.json").read_text())["best"]["trial"] == 0


def test_the_table_has_the_mean_over_the_seeds_of_each_setting(file, tmp_path):
    file.write_text(SMALL.replace("0.1, 1.0]}", "0.1]}, seed: {grid: [1, 2]}"))
    searched = sweep.read(file)
    planned = trials(searched, tmp_path, str(file))
    for trial, value in zip(planned, (0.2, 0.4, 0.9, 0.1, 0.3), strict=False):
        written(trial, [value])
    with report(searched, planned, tmp_path).open(newline="") as table:
        rows = {int(row["trial"]): row["reward_mean_of_seeds"] for row in csv.DictReader(table)}
    assert [rows[number] for number in range(6)] == ["0.3 (2)"] * 2 + ["0.5 (2)"] * 2 + ["0.3 (1)"] * 2


def test_the_legend_names_the_settings(file, tmp_path, monkeypatch):
    file.write_text(SMALL.replace("0.1, 1.0]}", "0.1]}, seed: {grid: [1, 2]}"))
    searched = sweep.read(file)
    planned = trials(searched, tmp_path, str(file))
    for trial in planned[:4]:
        written(trial, [0.5])
    labels = []
    drawn = report_module.Line2D
    monkeypatch.setattr(
        report_module, "Line2D", lambda *data, label, **look: labels.append(label) or drawn(*data, **look)
    )
    report(searched, planned, tmp_path)
    assert labels == ["learning_rate 0.001", "learning_rate 0.01"]


def test_a_trial_that_was_given_up_or_done_tells_what_it_had_and_does_no_more(file, tmp_path, monkeypatch):
    planned = trials(sweep.read(file), tmp_path, str(file))
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
    with pytest.raises(InputError, match="has a sweep already"):
        train_cli.run(["--sweep", str(file), "--out", str(out)])


def test_trials_that_sample_in_processes_fit_on_a_machine_of_as_many_processors(file, tmp_path):
    file.write_text(SMALL.replace("steps: 100", "steps: 100, engine: rllib, workers: 2"))
    planned = trials(sweep.read(file), tmp_path, str(file))
    assert resources(planned, 3).bundles == [{"CPU": 1}, {"CPU": 1}, {"CPU": 1}]
    assert resources(planned, 2).bundles == [{"memory": 1}, {"CPU": 1}, {"CPU": 1}]
    with pytest.raises(InputError, match="workers: 2: processes of one trial, but Ray has 1 processors"):
        resources(planned, 1)
