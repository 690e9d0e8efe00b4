"""A run that is killed at a write, or stopped at a step, and resumed has the bytes of the run that never was.

Every file is compared. Wall times are 0 and the provenance, which has the date and the command, is fixed in
these runs; nothing else is left out.
"""

import contextlib
import importlib
import json
import os
import shutil
import signal
from pathlib import Path

import onnx
import pytest
import torch

from leogym.agents import train_cli
from leogym.agents.sage.conftest import TINY
from leogym.agents.sage.conftest import tiny as tiny  # the fixture
from leogym.agents.training import registry
from leogym.agents.training.reporter import Reporter
from leogym.agents.training.stopping import Signals
from tests import kills

LINK = "{sampler: astraea, duration_s: 0.6, rate_mbps: [10, 20], base_rtt_ms: [20, 40], flows: 1}"
SMALL = f"num_envs: 2\nscenarios: {LINK}\nheld_out_episodes: 1\ntrack: none\n"
REPLAY = (
    "hidden: [8]\nlearning_starts: 30\nbatch_size: 8\nmemory: 60\nprogress_steps: 16\ncheckpoint_steps: 24\n"
    "steps: 84\n"
)
AGENTS = {
    "orbit": f"agent: orbit\n{SMALL}population: 4\nsteps: 4000\ncheckpoint_steps: 900\n",
    "astraea": f"agent: astraea\n{SMALL}{REPLAY}train_every: 3\npolicy_delay: 2\nexploration_intervals: 50\n"
    "updates_per_training: 1\n",
    "ppo": f"agent: ppo\nengine: sb3\n{SMALL}hidden: [8]\nrollout_steps: 12\nminibatch_size: 12\nepochs: 2\n"
    "progress_steps: 24\ncheckpoint_steps: 24\nsteps: 96\n",
    "sac": f"agent: sac\nengine: sb3\n{SMALL}{REPLAY}",
    "bc": "agent: bc\nhidden: [8]\nbatch_size: 16\nresident: 4\nprogress_steps: 4\ncheckpoint_steps: 6\n"
    f"steps: 20\ntrack: none\npool: {json.dumps(TINY['pool'].model_dump(mode='json'))}\n",
}
"""One agent of each engine: evolution and TD3 of our own, Stable-Baselines3 with rollouts and with a replay
buffer, and RLlib's offline learner."""


@pytest.fixture(params=AGENTS)
def agent(request) -> str:
    return request.param


@pytest.fixture
def train(agent, tmp_path, request):
    """Return a function that begins or resumes the agent's run in ``tmp_path/run``, as the command does."""
    config = tmp_path / "tiny.yaml"
    config.write_text(AGENTS[agent])
    if agent == "bc":
        pool = request.getfixturevalue("tiny").pool_folder
        config.write_text(f"{AGENTS[agent]}pool_folder: {pool}\n")
    scheme = registry.get(agent)
    # Imported here, once for all runs.
    scheme.trainer(next(iter(scheme.trainers)))
    for module in ("leogym.agents.training.bars", "leogym.agents.training.rollout", "torch._dynamo"):
        importlib.import_module(module)
    return lambda **stop: carry_out(agent, tmp_path / "run", config, **stop)


def carry_out(agent: str, out: Path, config: Path, stop_at: int | None = None) -> int:
    """Train in this process, without a clock; send it SIGINT at its look number ``stop_at`` for a stop."""
    Reporter.wall_s = property(lambda self: 0.0)  # type: ignore[assignment]
    train_cli.describe = lambda *_: {"command": "train.py"}  # type: ignore[assignment]
    looks = 0

    def asked(self: Signals) -> bool:
        nonlocal looks
        looks += 1
        if looks == stop_at:
            os.kill(os.getpid(), signal.SIGINT)
        return self.number is not None

    Signals.asked = property(asked)  # type: ignore[assignment]
    torch.set_num_threads(1)
    given = ["--resume"] if (out / "config.yaml").exists() else ["--config", str(config)]
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        return train_cli.run(["--agent", agent, "--out", str(out), *given])


MOST = int(os.environ.get("LEOGYM_TEST_KILLS", "0"))


def test_killed_at_any_write(agent, train, tmp_path, capfd):
    run = tmp_path / "run"
    made = kills.writes(train, run)
    whole = kills.contents(run)
    shutil.rmtree(run)
    chosen = kills.of_each_kind(made, MOST) if MOST else None
    kills.snapshots(train, run, tmp_path / "copies", chosen)
    copies = sorted((tmp_path / "copies").iterdir(), key=lambda path: int(path.name))
    assert len(copies) > 20
    import time
    for copy in copies:
        for path in copy.rglob("policy.*"):
            onnx.load(str(path)) if path.suffix == ".onnx" else json.loads(path.read_text())
        kills.put_back(copy, run)
        t = time.time()
        status = kills.in_child(train)
        d = kills.differences(kills.contents(run), whole)
        with capfd.disabled():
            print(len(made), made[int(copy.name)], status, d, round(time.time() - t, 2), flush=True)


@pytest.mark.parametrize("looks", [range(1, 11)], ids=["ten stops"])
def test_stopped_at_ten_steps(agent, train, tmp_path, looks):
    run = tmp_path / "run"
    assert kills.in_child(train) == 0
    whole = kills.contents(run)
    shutil.rmtree(run)
    statuses = [kills.in_child(lambda look=look: train(stop_at=look)) for look in (1, 3, 2, 5, 1, 4, 2, 3, 1, 2)]
    print(statuses)
    assert kills.in_child(train) == 0
    assert kills.differences(kills.contents(run), whole) == []
