"""Chooses the best of a run's policies: each checkpoint's is tried on scenarios that training never draws.

The best is the one that earned most, or, with ``held_out_links``, that held all bars on most links.

What was chosen is judged on others (`agents.training.rollout.JUDGING_EPISODE`): by these it is best by
chance, too.

It draws from no generator of training: a run is the same whether it is judged or not.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import leosim

from agents.training.run_folder import RunFolder
from agents.training.settings import TrainSettings
from configs.errors import InputError

FILE = "evaluation.csv"

Rank = tuple[int, float]
"""What policies are compared by: links held (0 without any), then reward."""


def rank(row: Mapping[str, Any]) -> Rank:
    """Return the rank of a row of evaluation.csv.

    Raises:
        KeyError: it has no reward.
        ValueError: it has something else than numbers.
    """
    return int(row.get("links_held") or 0), float(row["reward"])


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
        self.best: Rank | None = None
        for row in rows(run.path):
            self._compare(rank(row), int(row["steps"]))

    def consider(self, steps: int, wall_s: float) -> dict[str, float]:
        """Run the policy that was exported last, keep it if it is the best, and return what it earned.

        Raises:
            InputError: there is no policy: the agent exports none.
        """
        from agents.training.bars import links_held  # here, because they draw scenarios
        from agents.training.rollout import CHOOSING_EPISODE, evaluate_policy

        if not (self._run.policy / "policy.onnx").exists():
            agent = self._settings.agent
            raise InputError(f"settings: held_out_episodes: {agent} exports no policy that could be tried")
        policy = leosim.Policy.load(str(self._run.policy))
        episodes = self._settings.held_out_episodes
        earned = evaluate_policy(policy, self._settings, episodes, first=CHOOSING_EPISODE)
        if links := self._settings.held_out_links:
            earned |= links_held(policy, self._settings, links)
        row = {"steps": steps, "wall_s": round(wall_s, 3), **earned}
        self._run.append_progress(row, FILE)
        if self._compare(rank(row), steps):
            self._run.keep_best(steps)
        return earned

    def _compare(self, found: Rank, steps: int) -> bool:
        better = self.best is None or found > self.best
        if better:
            self.best = found
            held, reward = found
            links = self._settings.held_out_links
            best = {"reward": reward, "steps": steps, **({"links_held": held} if links else {})}
            notes = {"episodes": self._settings.held_out_episodes, **({"links": links} if links else {})}
            self._run.notes["held_out"] = {**notes, "best": best}
        return better


def rows(run: Path) -> list[Mapping[str, str]]:
    """Return what policies of the run in the folder ``run`` have earned, oldest first."""
    path = run / FILE
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
