"""Train PPO for some minutes with each named reward, and measure its policies beside Reno on leo-single."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import leosim

from leogym.agents.training import rollout
from leogym.agents.training.settings import TrainSettings, build, read_config
from leogym.common.atomic import write_atomically
from leogym.common.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_name("rewards.json")
INCOMPLETE = ("throughput", "delay", "loss", "fairness", "stability", "utility", "inequality")
"""Terms that are no aim by themselves: an idle flow has no delay, and a flood the most throughput."""
REFERENCE, SUITE, EPISODES = "reno", "leo-single", 6
MAX_LOSS = 0.05
"""A policy passes with more power than `REFERENCE` and at most this loss rate."""

Row = dict[str, Any]


def names() -> list[str]:
    """Return the rewards that are an aim by themselves."""
    return [name for name in leosim.Batch.rewards() if name.partition(":")[0] not in INCOMPLETE]


def train(reward: str, seed: int, length: Sequence[str], folder: Path) -> Path:
    """Train PPO with its preset and ``reward`` in ``folder`` for ``length``, such as ``--minutes 2``.

    A run that has a summary is finished and stays as it is.

    Raises:
        InputError: the training failed.
    """
    run = folder / f"{reward}-seed-{seed}"
    if (run / "summary.json").is_file():
        return run
    command = [sys.executable, "-m", "leogym", "train", "--agent", "ppo", "--seed", str(seed)]
    command += ["--out", str(run), *length]
    if subprocess.run([*command, "--set", f"reward={reward}"], cwd=ROOT, check=False).returncode:
        raise InputError(f"rewards: {run}: the training failed")
    return run


def measured(run: Path) -> Row:
    """Return steps, power and loss of a run's policy, and Reno's power, on the same episodes of `SUITE`."""
    settings = build(TrainSettings, str(run), _task(read_config(run / "config.yaml")))
    policy = leosim.Policy.load(str(run / "policy"))
    earned = rollout.evaluate_policy(policy, settings, EPISODES)
    other = rollout.evaluate_scheme(REFERENCE, settings, EPISODES)
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    return {
        "reward": settings.reward,
        "seed": settings.seed,
        "steps": summary["steps"],
        "power": round(earned["power"], 4),
        "loss_rate": round(earned["loss_rate"], 5),
        "reference_power": round(other["power"], 4),
    }


def _task(config: Mapping[str, Any]) -> Row:
    names = ("agent", "seed", "spec", "reward", "interval_ms")
    return {name: config[name] for name in names} | {"scenarios": SUITE}


def passes(row: Row) -> bool:
    """Return whether a policy has more power than the reference and loses at most `MAX_LOSS`."""
    return row["power"] > row["reference_power"] and row["loss_rate"] <= MAX_LOSS


def line(row: Row) -> str:
    """Return a row of the printed table."""
    verdict = "passes" if passes(row) else "FAILS"
    return (
        f"{row['reward']:<18} seed {row['seed']}  {row['steps']:>9,} steps  power {row['power']:.3f} "
        f"({REFERENCE} {row['reference_power']:.3f})  loss {100 * row['loss_rate']:.2f} %  {verdict}"
    )


def check(rewards: Sequence[str], seeds: Sequence[int], length: Sequence[str], folder: Path) -> bool:
    """Train and measure every reward and seed, add the rows to `FILE`, and return whether all pass."""
    kept: list[Row] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else []
    rows: list[Row] = []
    for seed in seeds:
        for reward in rewards:
            row = measured(train(reward, seed, length, folder))
            print(line(row), flush=True)
            rows.append(row)
            new = {(each["reward"], each["seed"]) for each in rows}
            all_rows = [each for each in kept if (each["reward"], each["seed"]) not in new] + rows
            all_rows.sort(key=lambda each: (each["reward"], each["seed"]))
            write_atomically(FILE, (json.dumps(all_rows, indent=1) + "\n").encode())
    return all(map(passes, rows))
