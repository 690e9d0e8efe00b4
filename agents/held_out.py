"""Chooses the best of a run's policies: each checkpoint's is tried on scenarios that training never draws.

What was chosen is judged on others (`agents.rollout.JUDGING_EPISODE`): by these it is best by chance, too.

It draws from no generator of training: a run is the same whether it is judged or not.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping

import leosim

from agents.run_folder import RunFolder
from agents.settings import TrainSettings
from configs.errors import InputError

FILE = "evaluation.csv"


class Chooser:
    """What policies of one run have earned so far, as in its ``evaluation.csv``.

    Args:
        settings: how many episodes, and the ranges that they are drawn from.
        run: where rows and the best policy go.
        steps: environment steps done before (a resumed run).
    """

    def __init__(self, settings: TrainSettings, run: RunFolder, steps: int) -> None:
        self._settings, self._run = settings, run
        run.rewind_progress(steps, FILE)
        self.best_reward, self.best_steps = -math.inf, 0
        for row in _rows(run):
            self._compare(float(row["reward"]), int(row["steps"]))

    def consider(self, steps: int, wall_s: float) -> dict[str, float]:
        """Run the policy that was exported last, keep it if it is the best, and return what it earned.

        Raises:
            InputError: there is no policy: the agent exports none.
        """
        from agents.rollout import CHOOSING_EPISODE, evaluate_policy  # here, because it draws scenarios

        if not (self._run.policy / "policy.onnx").exists():
            agent = self._settings.agent
            raise InputError(f"settings: held_out_episodes: {agent} exports no policy that could be tried")
        policy = leosim.Policy.load(str(self._run.policy))
        episodes = self._settings.held_out_episodes
        earned = evaluate_policy(policy, self._settings, episodes, first=CHOOSING_EPISODE)
        row = {"steps": steps, "wall_s": round(wall_s, 3), **earned}
        self._run.append_progress(row, FILE)
        if self._compare(earned["reward"], steps):
            self._run.keep_best(steps)
        return earned

    def _compare(self, reward: float, steps: int) -> bool:
        better = reward > self.best_reward
        if better:
            self.best_reward, self.best_steps = reward, steps
            best = {"reward": reward, "steps": steps}
            self._run.notes["held_out"] = {"episodes": self._settings.held_out_episodes, "best": best}
        return better


def _rows(run: RunFolder) -> list[Mapping[str, str]]:
    path = run.path / FILE
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
