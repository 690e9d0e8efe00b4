"""Does training for minutes pay? ``leogym agents bench-learning --seeds 3 --minutes M``.

For each seed, train a policy with ``configs/agents/astraea-minutes.yaml`` and compare its reward on held-out
scenarios with that of the untrained network. Prints one JSON object per line.
"""

import contextlib
import json
import sys
import tempfile
from pathlib import Path

import torch

from leogym.agents.astraea.settings import AstraeaSettings
from leogym.agents.astraea.td3 import Td3
from leogym.agents.astraea.train import read_checkpoint, train
from leogym.agents.training.episode_batch import Episodes
from leogym.agents.training.rollout import Act, evaluate
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import build, read_config
from leogym.common.errors import InputError

EPISODES = 12


def untrained(settings: AstraeaSettings) -> Td3:
    """Return the initial networks of a run with ``settings``."""
    batch = Episodes(settings).batch
    dims = (batch.observation_dim, batch.global_dim, batch.action_dim)
    return Td3(settings, *dims, seed=settings.seed)


def trained(settings: AstraeaSettings, run: RunFolder) -> Td3:
    """Return the networks of the run's latest checkpoint."""
    latest = run.latest_checkpoint()
    if latest is None:
        raise InputError(f"{run.path}: checkpoints/latest: no checkpoint")
    learner = untrained(settings)
    learner.restore(read_checkpoint(latest)["learner"])
    return learner


def measure(settings: AstraeaSettings) -> dict[str, object]:
    """Train with ``settings`` and return the benchmark's result."""
    before: Act = untrained(settings).act_as_exported
    with tempfile.TemporaryDirectory(prefix="leogym-bench-") as folder:
        run = RunFolder.create(Path(folder) / "run", settings.to_yaml(), {})
        with contextlib.redirect_stdout(sys.stderr):  # standard output has only the results
            train(settings, run)
        after: Act = trained(settings, run).act_as_exported
    value, baseline = evaluate(after, settings, EPISODES), evaluate(before, settings, EPISODES)
    positive = baseline["reward"] > 0
    return {
        "bench": f"astraea-learns-seed-{settings.seed}",
        "value": round(value["reward"], 5),
        "unit": "reward per flow and interval, held-out scenarios",
        "baseline": round(baseline["reward"], 5),
        "ratio": round(value["reward"] / baseline["reward"], 3) if positive else None,
        "trained": {name: round(number, 4) for name, number in value.items()},
        "untrained": {name: round(number, 4) for name, number in baseline.items()},
    }


def compare(seeds: int, minutes: float, config: Path) -> int:
    """Print a line for each seed; return 1 if any seed learned nothing."""
    torch.set_num_threads(1)
    data = read_config(config)
    data.pop("steps", None)
    learned = True
    for seed in range(1, seeds + 1):
        changes = {"seed": seed, "minutes": minutes, "track": "none"}
        line = measure(build(AstraeaSettings, str(config), {**data, **changes}))
        print(json.dumps(line), flush=True)
        value, baseline = line["value"], line["baseline"]
        assert isinstance(value, float)
        assert isinstance(baseline, float)
        learned &= value > baseline
    return 0 if learned else 1
