import csv

import numpy as np
import pytest
import yaml

from leogym.agents.__main__ import run as command
from leogym.agents.curves import curves
from leogym.common.errors import InputError


def made(folder, seed, values, every=10, **settings):
    folder.mkdir(parents=True)
    data = {"agent": "ppo", "seed": seed, "steps": 100, "learning_rate": 0.1, **settings}
    (folder / "config.yaml").write_text(yaml.safe_dump(data))
    with (folder / "evaluation.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["steps", "reward"])
        writer.writerows([every * (at + 1), value] for at, value in enumerate(values))
    return folder


def test_runs_that_differ_in_their_seed_are_one_curve_with_an_interval(tmp_path):
    runs = [
        made(tmp_path / str(seed), seed, [0.0, 1.0 + seed, 2.0 + seed], steps=30 + seed) for seed in range(4)
    ]
    other = made(tmp_path / "other", 1, [5.0, 6.0], learning_rate=0.2)
    first, second = curves([*runs, other], "held_out_reward")
    assert (first.name, second.name) == ("ppo learning_rate 0.1", "ppo learning_rate 0.2")
    assert (first.steps[0], first.steps[-1], second.steps[-1]) == (10, 30, 20)
    last = first.values[-1]
    assert (last.n, last.mean) == (4, 3.5)
    assert 2 <= last.low < 3.5 < last.high <= 5
    assert (first.values[0].low, first.values[0].high) == (0.0, 0.0)  # all seeds began alike
    assert second.values[0].n == 1
    assert np.isnan(second.values[0].low)


def test_between_rows_a_curve_is_straight_and_ends_where_the_shortest_run_does(tmp_path):
    coarse = made(tmp_path / "coarse", 1, [0.0, 10.0, 20.0], every=20)
    fine = made(tmp_path / "fine", 2, np.arange(1, 5) * 5.0, every=10)
    (curve,) = curves([coarse, fine], "held_out_reward")
    assert (curve.steps[0], curve.steps[-1]) == (20, 40)
    assert curve.values[curve.steps.index(30)].mean == pytest.approx((5.0 + 15.0) / 2)


def test_the_command_writes_a_table_and_a_plot(tmp_path, capsys):
    runs = [made(tmp_path / str(seed), seed, [0.0, float(seed)]) for seed in (1, 2)]
    assert command(["curves", *map(str, runs), "--out", str(tmp_path / "out")]) == 0
    assert "curves.png" in capsys.readouterr().out
    with (tmp_path / "out" / "curves.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[-1] == {
        "curve": "ppo", "steps": "20", "mean": "1.5", "ci_low": "1", "ci_high": "2", "n": "2"
    }  # fmt: skip
    assert (tmp_path / "out" / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_no_run_or_has_no_such_column_is_one_line(tmp_path):
    run = made(tmp_path / "run", 1, [0.0, 1.0])
    with pytest.raises(InputError, match=r"evaluation\.csv: moon: not a column \(there are: steps, reward\)"):
        curves([run], "held_out_moon")
    with pytest.raises(InputError, match=r"progress\.csv: cannot be read"):
        curves([run], "reward")
    with pytest.raises(InputError, match=r"nothing/config\.yaml"):
        curves([tmp_path / "nothing"], "reward")
    late = made(tmp_path / "late", 2, [1.0])
    (late / "evaluation.csv").write_text("steps,reward\n50,1\n60,1\n")
    with pytest.raises(InputError, match="no steps in common"):
        curves([run, late], "held_out_reward")


def test_runs_without_held_out_episodes_are_told_what_they_need(tmp_path):
    run = made(tmp_path / "run", 1, [0.0, 1.0])
    (run / "evaluation.csv").unlink()
    with pytest.raises(InputError, match=r"held_out_reward needs a run with --set held_out_episodes=16"):
        curves([run], "held_out_reward")
