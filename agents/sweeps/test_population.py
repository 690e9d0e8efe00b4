import csv
import json
from pathlib import Path

import pytest

from leogym.agents.sweeps import population, trial
from leogym.agents.sweeps.plan import Trial, plan
from leogym.agents.sweeps.report import report
from leogym.agents.training.reporter import Reporter
from leogym.agents.training.settings import read_config
from leogym.agents.training.stopping import Stop
from leogym.common.errors import InputError
from leogym.configs import sweep

SMALL = """
name: small
agent: ppo
settings:
  steps: 96
  num_envs: 2
  rollout_steps: 16
  minibatch_size: 16
  epochs: 1
  hidden: [8]
  checkpoint_steps: 32
  progress_steps: 32
  scenarios: {sampler: astraea, flows: 1, rate_mbps: 10, base_rtt_ms: 20, duration_s: 1}
  reward: {throughput: 1, delay: -0.5}
  held_out_episodes: 1
search:
  learning_rate: {log_uniform: [1.0e-4, 1.0e-1]}
  reward.delay: {uniform: [-1.0, -0.1]}
  seed: {integer: [1, 1000]}
trials: 4
population: {generation_steps: 32}
"""


class Killed(BaseException):
    """Ends the sweep at once, as a kill does."""


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def run(file, monkeypatch):
    """Return a function that trains the population in a folder, and is killed before some trials."""
    monkeypatch.setattr(trial.tune, "report", lambda row: None)
    monkeypatch.setattr(trial, "describe", lambda *_: {})
    monkeypatch.setattr(Reporter, "wall_s", property(lambda self: 0.0))

    def carry_out(out: Path, killed_at: tuple[int, ...] = ()) -> None:
        begun = iter(range(1000))

        def trains(generation):
            for one in generation.trials:
                if next(begun) in killed_at:
                    raise Killed
                trial.run(one, generation.metric, Stop())
            return {}

        first = plan(sweep.read(file), out, str(file))
        latest, errors = population.train(first, out, str(file), Stop(), trains)
        assert not errors
        report(latest, out)

    return carry_out


def files_of(out: Path) -> dict[str, bytes]:
    left_out = ("process.json", "sweep.png")
    paths = [path for path in out.rglob("*") if path.is_file() and path.name not in left_out]
    return {str(path.relative_to(out)): path.read_bytes() for path in paths}


def test_the_worst_continue_from_the_best_with_other_settings_and_a_killed_sweep_repeats(run, tmp_path):
    run(tmp_path / "whole")
    out = tmp_path / "parts"
    for place in (2, 5, 1):  # in the first generation, in the second, and again after that was resumed
        with pytest.raises(Killed):
            run(out, (place,))
    run(out)
    assert files_of(out) == files_of(tmp_path / "whole")

    rows = list(csv.DictReader((out / "population.csv").open()))
    assert [(row["generation"], row["trial"]) for row in rows] == [
        (str(generation), str(member)) for generation in range(3) for member in range(4)
    ]
    for generation in (1, 2):
        before = {row["trial"]: row for row in rows if row["generation"] == str(generation - 1)}
        ranked = sorted(before.values(), key=lambda row: -float(row["held_out_power"]))
        for row in (row for row in rows if row["generation"] == str(generation)):
            copied = row["trial"] == ranked[-1]["trial"]
            assert row["continues"] == (ranked[0]["trial"] if copied else row["trial"])
            parent = before[row["continues"]]
            assert row["seed"] == parent["seed"]
            factor = float(row["learning_rate"]) / float(parent["learning_rate"])
            assert not copied or factor in (pytest.approx(0.8, rel=1e-4), pytest.approx(1.25, rel=1e-4))
            assert copied or factor == 1
            folder = out / "generations" / f"00{generation}" / f"000{row['trial']}"
            settings = read_config(folder / "config.yaml")
            assert settings["learning_rate"] == pytest.approx(float(row["learning_rate"]), rel=1e-4)
            assert f"delay:{row['reward.delay'][:5]}" in settings["reward"]
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["metric"], summary["done"]) == ("held_out_power", 4)
    with (out / "sweep.csv").open(newline="") as table:
        assert {row["folder"][:15] for row in csv.DictReader(table)} == {"generations/002"}
    assert not list(out.glob("generations/00[01]/*/checkpoints"))
    assert len(list(out.glob("generations/002/*/best/policy.onnx"))) == 4


def test_numbers_are_perturbed_within_their_ranges():
    whole = sweep.Search(integer=[1, 10])
    assert [population._scaled(value, whole, 1.25) for value in (1, 4, 9)] == [1, 5, 10]
    below_zero = sweep.Search(uniform=[-1.0, -0.1])
    assert population._scaled(-0.9, below_zero, 1.25) == -1.0
    assert population._scaled(-0.11, below_zero, 0.8) == -0.1


def test_a_member_without_a_value_is_the_worst(file, tmp_path):
    first = plan(sweep.read(file), tmp_path, str(file))
    for one, power in zip(first.trials, (0.5, None, 0.9, 0.2), strict=True):
        if power is not None:
            one.folder.mkdir(parents=True)
            (one.folder / "evaluation.csv").write_text(f"steps,reward,power\n32,0,{power}\n")
    assert first.sweep.population is not None
    _, sources = population.successors(first, first.sweep.population, 0)
    assert sources == [0, 2, 2, 3]
    assert isinstance(first.trials[0], Trial)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("trials: 4", "trials: 1"), "trials: a population has at least two members"),
        (("  learning_rate: {log_uniform: [1.0e-4, 1.0e-1]}\n  reward.delay: {uniform: [-1.0, -0.1]}\n", ""),
         "search: a population perturbs a range of learning_rate,"),
        (("population:", "early_stopping: {grace_steps: 32}\npopulation:"), "population or early_stopping"),
        (("agent: ppo", "agents: {ppo: {}}"), "population: a checkpoint continues with the same agent only"),
        (("{generation_steps: 32}", "{generation_steps: 32, share: 0.6}"), "population.share: "),
    ],
)  # fmt: skip
def test_a_population_that_cannot_run_is_refused(file, change, message):
    assert change[0] in SMALL
    file.write_text(SMALL.replace(*change))
    with pytest.raises(InputError, match=message) as caught:
        population.require(sweep.read(file), str(file))
    assert "\n" not in str(caught.value)
