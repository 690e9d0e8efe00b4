"""Ship runs that differ only in their seeds: the best policy, and the learning curves of all.

This module copies or computes everything, so a trained policy's provenance is never written by hand.
"""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leogym.agents.training import policy_folder
from leogym.agents.training.held_out import rows
from leogym.agents.training.run_folder import known_ranges, require_same
from leogym.agents.training.settings import CONFIGS, read_config
from leogym.common import json_text, output_folder
from leogym.common.atomic import write_atomically
from leogym.common.errors import InputError

_OUT = re.compile(r"\s--out[ =]('[^']*'|[^\s\"]+)")
"""The output folder in a command: dropped, because it says nothing about the policy."""

CURVES = ("progress", "evaluation")


def ship(runs: Sequence[Path], folder: Path) -> Path:
    """Fill ``folder`` with the best run's policy and settings, and with the curves of all runs.

    A policy without ``known_ranges`` gets those of its run's settings or, if the run has none, of its agent's
    preset. A run counts with its best checkpoint on the held-out scenarios, which is in its ``best/`` (see
    `agents.training.held_out`). No other measure decides. An existing ``folder`` is replaced.

    Returns:
        The chosen run.

    Raises:
        InputError: ``folder`` holds something else, a run has no held-out evaluation, or its settings differ
            in more than the seed.
    """
    output_folder.require(folder, "a shipped policy")
    settings = [read_config(run / "config.yaml") for run in runs]
    seeds = [config.get("seed") for config in settings]
    for run, config in zip(runs, settings, strict=True):
        if {**config, "seed": 0} != {**settings[0], "seed": 0}:
            raise InputError(f"{run}: config.yaml: differs from {runs[0]} in more than the seed")
    if len(set(seeds)) < len(seeds):
        raise InputError(f"{folder}: seeds: two runs have the same")
    rewards = [_best(run) for run in runs]
    chosen = runs[rewards.index(max(rewards))]
    described = chosen / "best/policy.json"
    written = json_text.parse(_OUT.sub("", described.read_text(encoding="utf-8")), str(described))
    description = _with_ranges(written, settings[0])
    if folder.exists():
        shutil.rmtree(folder)
    policy_folder.write(folder / "policy", (chosen / "best/policy.onnx").read_bytes(), description)
    config = _OUT.sub("", (chosen / "config.yaml").read_text(encoding="utf-8"))
    write_atomically(folder / "config.yaml", config.encode())
    for run, seed in zip(runs, seeds, strict=True):
        for name in CURVES:
            shutil.copyfile(run / f"{name}.csv", folder / f"{name}-seed-{seed}.csv")
    choice: dict[str, Any] = {
        "rule": "the checkpoint of each seed, then the seed, that earned most on held-out scenarios",
        "episodes": settings[0]["held_out_episodes"],
        "seed": seeds[runs.index(chosen)],
        "reward_by_seed": {str(seed): reward for seed, reward in zip(seeds, rewards, strict=True)},
    }
    write_atomically(folder / "choice.json", (json.dumps(choice, indent=2) + "\n").encode())
    return chosen


def _with_ranges(description: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of a policy.json, with known ranges if it lacks them."""
    if "known_ranges" in description:
        return description
    preset = CONFIGS / f"{settings.get('agent')}.yaml"
    ranges = known_ranges(settings) or (known_ranges(read_config(preset)) if preset.is_file() else {})
    provenance = {"provenance": description["provenance"]} if "provenance" in description else {}
    entries = {name: value for name, value in description.items() if name != "provenance"}
    return {**entries, **ranges, **provenance}


def _best(run: Path) -> float:
    try:
        rewards = [float(row["reward"]) for row in rows(run)]
    except (OSError, KeyError, ValueError):
        rewards = []
    if not rewards or not (run / "best/policy.onnx").is_file():
        path = run / "evaluation.csv"
        raise InputError(f"{path}: no policy of this run was evaluated; train with held_out_episodes")
    for name in (*(f"{name}.csv" for name in CURVES), "config.yaml"):
        require_same(run, name)
    policy_folder.require_whole(run / "best")
    return max(rewards)
