"""Tune hyperparameters with Optuna, on seeds and held-out episodes that the tables do not use."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
import polars as pl
import torch

from leogym.agents.returns import FIRST_SEED
from leogym.common.errors import InputError
from studies.reference import learners, records
from studies.reference.cells import Cell
from studies.reference.learners.tasks import EPISODES, held_out_returns, task

SEED = 101
"""Of the trainings and of Optuna's sampler."""
HELD_OUT_SEED = FIRST_SEED + 1_000
"""Of the first held-out episode."""
IDS = ("leo/SingleFlow-v0", "leo/Responsiveness-v1", "leo/Static-v0")
"""The environments in which each trial of an algorithm's search trains; the result holds in all."""
TRIALS = Path(__file__).parent / "tuning"
"""A CSV file per search, with a row per trial."""

_GAMMAS = [0.9, 0.95, 0.98, 0.99]


def suggest(algorithm: str, trial: optuna.Trial) -> dict[str, Any]:
    """Return the hyperparameters of ``trial``, or raise `InputError` if ``algorithm`` is not tuned."""
    if algorithm == "ppo":
        return {
            "learning_rate": trial.suggest_float("learning_rate", 1e-4, 3e-3, log=True),
            "gamma": trial.suggest_categorical("gamma", _GAMMAS),
            "n_steps": trial.suggest_categorical("n_steps", [64, 128, 256]),
            "n_epochs": trial.suggest_categorical("n_epochs", [5, 10, 20]),
            "ent_coef": trial.suggest_categorical("ent_coef", [0.0, 0.001, 0.01]),
        }
    if algorithm == "sac":
        return {
            "learning_rate": trial.suggest_float("learning_rate", 2e-4, 3e-3, log=True),
            "gamma": trial.suggest_categorical("gamma", _GAMMAS),
            "tau": trial.suggest_categorical("tau", [0.005, 0.01, 0.02]),
            "learning_starts": trial.suggest_categorical("learning_starts", [500, 2_000]),
        }
    raise InputError(f"{algorithm}: has no search space (there are: ppo, sac)")


@dataclass(frozen=True)
class Search:
    """A search for the hyperparameters of an algorithm."""

    algorithm: str
    id: str | None = None
    """The environment whose entry it is for; None: the entry of all environments without a search."""

    @property
    def file(self) -> Path:
        """Return the CSV file of the trials."""
        return TRIALS / f"{self._name}.csv"

    @property
    def _name(self) -> str:
        return self.algorithm if self.id is None else f"{self.algorithm}-{self.id.replace('/', '-')}"

    def run(self, trials: int, steps: int, folder: Path) -> pl.DataFrame:
        """Run ``trials``, with those of an earlier call in ``folder``; return a row per trial, best first.

        The value of a trial is the mean over the environments of the return after ``steps``, on a scale where
        random actions have 0 and Orbit has 1.
        """
        torch.set_num_threads(1)
        folder.mkdir(parents=True, exist_ok=True)
        ids = IDS if self.id is None else (self.id,)
        anchors = {
            (row["algorithm"], row["id"]): row["return_mean"]
            for row in records.read().filter(pl.col("seed") == 0).iter_rows(named=True)
        }

        def value(trial: optuna.Trial) -> float:
            changes, total = suggest(self.algorithm, trial), 0.0
            for name in ids:
                of = task(name)
                hyperparameters = {**Cell(self.algorithm, name, SEED).hyperparameters(), **changes}
                learner = learners.make(self.algorithm, of, hyperparameters, SEED)
                learner.learn_until(steps)
                policy = learner.policy(EPISODES * of.flows)
                returns = held_out_returns(of, policy, first_seed=HELD_OUT_SEED)
                random, orbit = anchors["random", name], anchors["orbit", name]
                total += (float(returns.mean()) - random) / (orbit - random)
            return total / len(ids)

        storage = f"sqlite:///{folder / self._name}.db"
        names: dict[str, Any] = {"storage": storage, "study_name": self._name, "load_if_exists": True}

        def finished() -> list[optuna.trial.FrozenTrial]:
            study = optuna.create_study(**names, direction="maximize")
            return [trial for trial in study.trials if trial.state == optuna.trial.TrialState.COMPLETE]

        while (count := len(finished())) < trials:
            # The trial's number seeds the sampler, so that a search that was killed goes on as it would have.
            sampler = optuna.samplers.TPESampler(n_startup_trials=5, seed=SEED + count)
            optuna.create_study(**names, direction="maximize", sampler=sampler).optimize(value, n_trials=1)
        rows = [{"value": round(trial.value or 0.0, 4), **trial.params} for trial in finished()]
        return pl.DataFrame(rows).sort("value", descending=True)
