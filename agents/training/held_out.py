"""Choose a run's best checkpoint on held-out scenarios, which training never draws.

The best policy earned the highest reward. It is best partly by chance, so
`agents.training.rollout.JUDGING_EPISODE` starts other scenarios to evaluate it. Evaluation uses no random
generator of training, so it does not change the run.
"""

import csv
import math
from collections.abc import Mapping
from pathlib import Path

import leosim

from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.common.errors import InputError

FILE = "evaluation.csv"

REFERENCES = {"cubic": "Cubic", "bbr": "BBR"}
"""Schemes that each evaluation is printed beside, and their names there."""


class Chooser:
    """Evaluates a run's policies, keeps the best, and writes ``evaluation.csv``.

    ``steps`` is the number of environment steps done before a resume.

    Attributes:
        best: the reward of the best policy so far, None before the first.
        steps: the checkpoints that were evaluated.
        references: metrics of `REFERENCES` on the same episodes, which summary.json has as ``cubic_NAME`` and
            ``bbr_NAME``. Computing each takes about as long as evaluating one policy.
    """

    def __init__(self, settings: TrainSettings, run: RunFolder, steps: int) -> None:
        self._settings, self._run = settings.for_held_out(), run
        run.restore_rows(steps, FILE)
        self.best: float | None = None
        self.steps: list[int] = []
        self._best_steps: int | None = None
        try:
            for row in rows(run.path):
                self._compare(float(row["reward"]), int(row["steps"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{run.path / FILE}: damaged: {error}: restore it from a copy") from None
        from leogym.agents.training.rollout import CHOOSING_EPISODE, evaluate_scheme  # as in `consider`

        self.references: dict[str, dict[str, float]] = {}
        episodes = settings.held_out_episodes
        for scheme in REFERENCES:
            measured = evaluate_scheme(scheme, self._settings, episodes, first=CHOOSING_EPISODE)
            self.references[scheme] = measured
            run.notes |= {f"{scheme}_{name}": value for name, value in measured.items()}

    def consider(self, steps: int, wall_s: float) -> dict[str, float]:
        """Evaluate the last exported policy, keep it if it is the best, and return its metrics.

        If each flow has a policy of its own, each is evaluated on its flow.
        """
        from leogym.agents.training.rollout import CHOOSING_EPISODE, evaluate_policies  # draws scenarios

        if not (self._run.policy / "policy.onnx").exists():
            agent = self._settings.agent
            raise InputError(f"settings: held_out_episodes: {agent} exports no policy: leave it out")
        policies = [leosim.Policy.load(str(folder)) for folder in self._run.policies() or [self._run.policy]]
        episodes = self._settings.held_out_episodes
        earned = evaluate_policies(policies, self._settings, episodes, first=CHOOSING_EPISODE)
        row = {"steps": steps, "wall_s": round(wall_s, 3), **earned}
        self._run.append_progress(row, FILE)
        self._run.record_rows(FILE)
        if self._compare(earned["reward"], steps):
            self._run.keep_best(steps)
        return earned

    def restore_best(self) -> list[Path]:
        """Make ``best/`` hold the best policy, if its checkpoint has it; return folders that held others."""
        best = self._best_steps
        if best is None or not (self._run.checkpoint_path(best) / "policy").is_dir():
            return []
        return self._run.keep_best(best)

    def _compare(self, reward: float, steps: int) -> bool:
        self.steps.append(steps)
        better = self.best is None or reward > self.best
        if better:
            self.best, self._best_steps = reward, steps
            best = {"reward": reward, "steps": steps}
            self._run.notes["held_out"] = {"episodes": self._settings.held_out_episodes, "best": best}
        return better


def described(metrics: Mapping[str, float], flows: int) -> str:
    """Return metrics on held-out episodes of up to ``flows`` learning flows as text."""
    values = []
    if math.isfinite(reward := metrics.get("reward", math.nan)):
        values.append(f"reward {reward:.4g}")
    if "normalized_goodput" in metrics:
        share = "utilization" if flows == 1 else "utilization per flow"
        values += [
            f"{share} {100 * metrics['normalized_goodput']:.1f} %",
            f"delay inflation {metrics['delay_inflation']:.2f}",
            f"loss {100 * metrics['loss_rate']:.2g} %",
            f"power {metrics['power']:.3f}",
        ]
    return ", ".join(values)


def rows(run: Path) -> list[Mapping[str, str]]:
    """Return the rows of evaluation.csv in the folder ``run``, oldest first; none without that file."""
    path = run / FILE
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
