"""What comes with the project of some runs that differ in their seeds: one policy, and what all of them did.

Everything is copied or computed here, so that nobody writes a trained policy's origin by hand.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from agents.settings import read_config
from configs.atomic import write_atomically
from configs.errors import InputError

_OUT = re.compile(r"\s--out[ =]('[^']*'|[^\s\"]+)")
"""Where a run was written says nothing about what it is."""

CURVES = ("progress", "evaluation")


def ship(runs: Sequence[Path], folder: Path) -> Path:
    """Fill ``folder`` with the best run's policy and settings, and with the curves of all runs.

    Of each run the checkpoint counts that earned most on held-out scenarios, which its ``best/`` holds; of
    several runs the one whose best is the highest. No other measure has a say.

    Args:
        runs: folders that ``train.py`` made with ``held_out_episodes``; only their seeds differ.
        folder: what is there of earlier policies is replaced.

    Returns:
        The run that was chosen.

    Raises:
        InputError: a run that was not judged, or whose settings differ in more than the seed.
    """
    settings = [read_config(run / "config.yaml") for run in runs]
    seeds = [config.get("seed") for config in settings]
    for run, config in zip(runs, settings, strict=True):
        if {**config, "seed": 0} != {**settings[0], "seed": 0}:
            raise InputError(f"{run}: config.yaml: differs from {runs[0]} in more than the seed")
    if len(set(seeds)) < len(seeds):
        raise InputError(f"{folder}: seeds: two runs have the same")
    chosen = max(runs, key=_best_reward)
    if folder.exists():
        shutil.rmtree(folder)
    (folder / "policy").mkdir(parents=True)
    shutil.copyfile(chosen / "best/policy.onnx", folder / "policy/policy.onnx")
    for source, target in (("best/policy.json", "policy/policy.json"), ("config.yaml", "config.yaml")):
        write_atomically(folder / target, _OUT.sub("", (chosen / source).read_text()).encode())
    for run, seed in zip(runs, seeds, strict=True):
        for name in CURVES:
            shutil.copyfile(run / f"{name}.csv", folder / f"{name}-seed-{seed}.csv")
    rows = {str(seed): _best_reward(run) for run, seed in zip(runs, seeds, strict=True)}
    choice = {
        "rule": "the checkpoint of each seed, then the seed, that earned most on held-out scenarios",
        "episodes": settings[0]["held_out_episodes"],
        "seed": seeds[runs.index(chosen)],
        "reward_by_seed": rows,
    }
    write_atomically(folder / "choice.json", (json.dumps(choice, indent=2) + "\n").encode())
    return chosen


def _best_reward(run: Path) -> float:
    path = run / "evaluation.csv"
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rewards = [float(row["reward"]) for row in csv.DictReader(file)]
    except (OSError, KeyError, ValueError):
        rewards = []
    if not rewards or not (run / "best/policy.onnx").is_file():
        raise InputError(f"{path}: no policy of this run was judged; train with held_out_episodes")
    return max(rewards)
