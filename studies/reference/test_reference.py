import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from leogym.agents import returns
from leogym.agents.returns import FIRST_SEED
from leogym.registration import IDS, PRESETS
from leogym.results import baselines
from studies.reference import learners, page, records, training, tuning
from studies.reference.cells import SEEDS, Cell, every_id, parts
from studies.reference.learners import ALGORITHMS, LABELS
from studies.reference.learners.shared_flows import SharedFlowsVecEnv
from studies.reference.learners.tasks import TASKS, held_out_returns, nearest, task

ROOT = Path(__file__).resolve().parents[2]
STATIC = task("leo/Static-v0")
SMALL = {"n_envs": 2, "n_steps": 64, "batch_size": 64, "n_epochs": 2}


def test_every_algorithm_has_a_label_and_hyperparameters_for_every_environment():
    assert set(LABELS) == set(ALGORITHMS)
    assert {*every_id(), "leo/Flow-v0"} == {*IDS, "leo/Pair-v0"}
    for algorithm in ALGORITHMS:
        for name in every_id():
            assert Cell(algorithm, name, 1).hyperparameters()


def test_each_cell_runs_once_to_each_of_its_ends_and_breadth_comes_first():
    order = [*parts([*ALGORITHMS], every_id(), SEEDS)]
    cells = len(ALGORITHMS) * len(TASKS) * len(SEEDS)
    assert {part.steps for part in order[:cells]} == {50_000}
    assert len({part.cell for part in order[:cells]}) == cells
    ends = {part.cell: part.steps for part in order}
    assert all(steps == cell.points[-1] for cell, steps in ends.items())
    assert len(ends) == cells


def test_held_out_returns_are_sums_of_rewards_in_the_environment_by_its_id():
    import gymnasium

    env = gymnasium.make("leo/Static-v0")
    env.reset(seed=FIRST_SEED)
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, _ = env.step(np.full(1, 0.3, np.float32))
        total, over = total + float(reward), terminated or truncated
    [mine] = held_out_returns(STATIC, lambda rows, begins: np.full((len(rows), 1), 0.3), episodes=1)
    assert mine == pytest.approx(total, rel=1e-5)


def test_agents_returns_have_the_same_episodes():
    name = "leo/Competing-v1"  # the flow starts late in some
    cubic = held_out_returns(task(name), lambda rows, begins: np.zeros((len(rows), 1)), episodes=2)
    by_policy = {result.policy: result.mean for result in returns.measure([name], episodes=2)}
    assert by_policy["always +0"] == pytest.approx(cubic.mean(), rel=1e-5)


def test_the_return_of_a_pair_is_the_mean_of_its_flows_returns():
    from leogym.envs.parallel import parallel_env

    of = task("leo/Pair-v0")
    env = parallel_env(**of.arguments)
    env.reset(seed=FIRST_SEED)
    total = 0.0
    while env.agents:
        _, rewards, *_ = env.step({name: np.full(1, 0.2, np.float32) for name in env.agents})
        total += sum(rewards.values())
    [mine] = held_out_returns(of, lambda rows, begins: np.full((len(rows), 1), 0.2), episodes=1)
    assert mine == pytest.approx(total / 2, rel=1e-4)


def test_a_number_selects_the_nearest_of_the_discrete_actions():
    assert nearest(np.array([-2.0, -1.0, -0.91, -0.89, 0.0, 0.11, 1.0]), 11).tolist() == [
        0,
        0,
        0,
        1,
        5,
        6,
        10,
    ]
    of = task("leo/SingleFlowDiscrete-v0")
    assert of.numbers(np.array([0, 5, 10])).ravel().tolist() == [-1.0, 0.0, 1.0]
    assert of.numbers(np.array([[0.11], [-0.91]])).ravel() == pytest.approx([0.2, -1.0])


def test_rows_of_flows_that_do_not_run_are_zero_and_all_rows_end_together():
    env = SharedFlowsVecEnv(2, **task("leo/Pair-v0").arguments)
    env.seed(5)
    observations = env.reset()
    assert observations.any(axis=1).tolist() == [True, False, True, False]
    joined = np.zeros(4, bool)
    for _ in range(999):
        observations, rewards, dones, infos = env.step(np.full((4, 1), 0.1, np.float32))
        assert not dones.any()
        assert not rewards[~observations.any(axis=1)].any()
        joined |= observations.any(axis=1)
    _, _, dones, infos = env.step(np.full((4, 1), 0.1, np.float32))
    assert joined.all()
    assert dones.all()
    assert all(info["TimeLimit.truncated"] and info["terminal_observation"].any() for info in infos)


@pytest.mark.parametrize("algorithm", ["ppo", "single_file_ppo", "single_file_sac", "cma_es"])
def test_a_learner_that_was_saved_continues_as_if_it_had_not_stopped(algorithm, tmp_path):
    hyperparameters = {
        "ppo": {**SMALL, "policy": "MlpPolicy", "normalize": True},
        "single_file_ppo": SMALL,
        "single_file_sac": {"n_envs": 2, "learning_starts": 100, "width": 16, "buffer_size": 500},
        "cma_es": {"population": 4},
    }[algorithm]
    first, second = (200, 400) if algorithm != "cma_es" else (1, 2001)
    whole = learners.make(algorithm, STATIC, hyperparameters, 7)
    whole.learn_until(first)
    whole.save(tmp_path / "state")
    whole.learn_until(second)
    resumed = learners.load(algorithm, STATIC, hyperparameters, 7, tmp_path / "state")
    resumed.learn_until(second)
    observations = np.random.default_rng(1).uniform(0, 1, (5, 50)).astype(np.float32)
    begins = np.zeros(5, bool)
    actions = [learner.policy(5)(observations, begins) for learner in (whole, resumed)]
    assert whole.steps == resumed.steps >= second
    assert np.array_equal(*actions)
    assert np.ptp(actions[0]) > 0


def test_a_cell_skips_points_that_it_has_and_begins_again_with_other_hyperparameters(tmp_path, monkeypatch):
    cell = Cell("cma_es", "leo/Static-v0", 1)
    monkeypatch.setattr(Cell, "points", (8_000, 16_000))
    monkeypatch.setattr(training, "EPISODES", 2)
    monkeypatch.setattr(training, "held_out_returns", lambda of, policy: held_out_returns(of, policy, 2))
    [first] = training.train(cell, 8_000, tmp_path)
    assert [*training.train(cell, 8_000, tmp_path)] == []
    [second] = training.train(cell, 16_000, tmp_path)
    assert (first["steps"], second["steps"]) == (8_000, 16_000)
    assert records.of_cell(cell, tmp_path)["point"].to_list() == [8_000, 16_000]
    monkeypatch.setattr(Cell, "digest", lambda cell: "other")
    assert [row["point"] for row in training.train(cell, 8_000, tmp_path)] == [8_000]


@pytest.mark.parametrize(("algorithm", "name"), [("ppo", "leo/Static-v0"), ("cma_es", "leo/Geo-v1")])
def test_a_cell_repeats_its_first_20_000_steps_byte_for_byte(algorithm, name, tmp_path):
    cell = Cell(algorithm, name, 1)
    command = [sys.executable, "-m", "studies.reference", "cell", algorithm, name]
    subprocess.run(
        [*command, "--steps", "20000", "--out", tmp_path], cwd=ROOT, check=True, capture_output=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )  # fmt: skip
    again = records.of_cell(cell, cell.folder(tmp_path))
    shipped = baselines.runs(name).filter(
        pl.col("algorithm") == algorithm, pl.col("seed") == 1, pl.col("point") <= 20_000
    )
    columns = ["point", "steps", "return_mean", "return_min", "return_max", "digest"]
    assert again.select(columns).rows() == shipped.select(columns).rows()
    assert again["point"].to_list() == [10_000, 20_000]


def test_the_page_has_the_data_and_its_answer_follows_from_them():
    text, table = page.PAGE.read_text(), baselines.runs()
    assert text == page.rewritten(text, table)
    assert all(page.figure_file(name).is_file() for name in page.learned_ids(table))
    anchors = page.rewritten(text, table.filter(pl.col("seed") == 0))
    assert "earns more than Cubic" in text
    assert "earns more than Cubic" not in anchors
    assert f"reaches the threshold of 0 of {len(page.THRESHOLDS)} ids" in " ".join(anchors.split())
    assert f"\n0 of {len(ALGORITHMS) * len(TASKS) * len(SEEDS)} cells.\n" in anchors
    assert anchors.count("missing |") == len(ALGORITHMS) * (len(TASKS) + len(page.THRESHOLDS))
    assert "### After 200,000 steps" not in anchors


def test_the_steps_to_a_threshold_are_the_first_evaluation_whose_mean_reaches_it():
    name, digest = "leo/Static-v0", Cell("ppo", "leo/Static-v0", 1).digest()
    low, high = page.THRESHOLDS[name] - 1, page.THRESHOLDS[name] + 1
    rows = [(1, 10_000, low), (2, 10_000, low), (1, 20_000, high), (2, 20_000, high), (1, 50_000, low)]
    table = pl.DataFrame(
        [
            {
                "algorithm": "ppo",
                "id": name,
                "digest": digest,
                "seed": seed,
                "point": point,
                "return_mean": value,
            }
            for seed, point, value in rows
        ]
    )
    assert page.first_point(table, "ppo", name) == 20_000
    text = "\n".join(page.thresholds_table(table))
    assert "20,000 (2 seeds)" in text
    below = "\n".join(page.thresholds_table(table.filter(pl.col("return_mean") == low)))
    assert "> 50,000" in below


def test_shipped_rows_are_of_present_environments_and_cells():
    table = baselines.runs()
    assert not table.is_duplicated().any()
    assert set(table["id"]) <= {*TASKS}
    for row in table.filter(pl.col("point") > 0).iter_rows(named=True):
        cell = Cell(row["algorithm"], row["id"], row["seed"])
        assert row["point"] in cell.points
        assert row["point"] <= row["steps"] < row["point"] + 20_000


def test_thresholds_are_half_way_from_cubic_to_orbit():
    for preset in PRESETS:
        returns = dict(
            baselines.runs(preset.id).filter(pl.col("seed") == 0)["algorithm", "return_mean"].rows()
        )
        half = (returns["cubic"] + returns["orbit"]) / 2
        assert preset.threshold == float(f"{half:.2g}"), preset.id
        assert returns["random"] < returns["cubic"] < preset.threshold, preset.id


@pytest.mark.parametrize("algorithm", ["ppo", "recurrent_ppo", "sac", "td3", "tqc"])
def test_a_learner_does_not_change_the_hyperparameters_of_its_cell(algorithm):
    cell = Cell(algorithm, "leo/Static-v0", 1)
    before = cell.digest()
    learners.make(algorithm, STATIC, cell.hyperparameters(), 1)
    assert cell.digest() == before


def test_a_curve_file_says_of_what_it_is(tmp_path):
    cell = Cell("cma_es", "leo/Static-v0", 1)
    (tmp_path / training.CURVE).write_text(json.dumps({"digest": cell.digest(), "rows": [{"point": 1}]}))
    assert training.rows(cell, tmp_path) == [{"point": 1}]
    (tmp_path / training.CURVE).write_text(json.dumps({"digest": "other", "rows": [{"point": 1}]}))
    assert training.rows(cell, tmp_path) == []


class Constant:
    """A learner whose policy always acts as much as its learning rate says."""

    def __init__(self, algorithm, of, hyperparameters, seed):
        self._action = 100 * hyperparameters["learning_rate"]

    def learn_until(self, steps):
        pass

    def policy(self, rows):
        return lambda observations, begins: np.full((len(observations), 1), self._action)


def test_a_search_that_stopped_goes_on_to_the_same_trials(tmp_path, monkeypatch):
    monkeypatch.setattr(learners, "make", Constant)
    monkeypatch.setattr(tuning, "IDS", ("leo/Static-v0",))
    search = tuning.Search("sac")
    whole = search.run(3, 1_000, tmp_path / "whole")
    search.run(1, 1_000, tmp_path / "parts")
    assert search.run(3, 1_000, tmp_path / "parts").equals(whole)
    assert whole["value"].is_sorted(descending=True)
    assert whole["learning_rate"].n_unique() == 3


@pytest.mark.parametrize("name", ["leo/SingleFlow-v0", "leo/Starlink-v2", "leo/Static-v0", "leo/Pair-v0"])
def test_the_hyperparameters_of_ppo_are_those_of_the_best_trial(name):
    [best, *_] = pl.read_csv(tuning.Search("ppo").file).drop("value").to_dicts()
    assert best.items() <= Cell("ppo", name, 1).hyperparameters().items()
