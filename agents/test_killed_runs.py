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
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
import torch
import yaml

from leogym.agents import train_cli
from leogym.agents.clone.conftest import TINY
from leogym.agents.clone.conftest import tiny as tiny  # the fixture
from leogym.agents.sweeps import plan, report, trial
from leogym.agents.training import registry
from leogym.agents.training.reporter import Reporter
from leogym.agents.training.stopping import Signals, Stop
from leogym.configs import sweep as configured
from tests import kills

LINK = "{sampler: astraea, duration_s: 0.6, rate_mbps: [10, 20], base_rtt_ms: [20, 40], flows: 1}"
SMALL = f"num_envs: 2\nscenarios: {LINK}\nheld_out_episodes: 1\ntrack: none\n"
REPLAY = (
    "hidden: [8]\nlearning_starts: 30\nbatch_size: 8\nmemory: 60\nprogress_steps: 16\ncheckpoint_steps: 24\n"
    "steps: 84\n"
)
AGENTS = {
    "orbit": f"agent: orbit\n{SMALL}width: 4\npasses: 1\nsteps: 420\ncheckpoint_steps: 300\n",
    "astraea": f"agent: astraea\n{SMALL}{REPLAY}train_every: 3\npolicy_delay: 2\nexploration_intervals: 50\n"
    "updates_per_training: 1\n",
    "ppo": f"agent: ppo\nengine: sb3\n{SMALL}hidden: [8]\nrollout_steps: 12\nminibatch_size: 12\nepochs: 2\n"
    "progress_steps: 24\ncheckpoint_steps: 24\nsteps: 96\n",
    "sac": f"agent: sac\nengine: sb3\n{SMALL}{REPLAY}",
    "bc": "agent: bc\nhidden: [8]\nbatch_size: 16\nresident: 4\nprogress_steps: 4\ncheckpoint_steps: 6\n"
    f"steps: 20\ntrack: none\npool: {json.dumps(TINY['pool'].model_dump(mode='json'))}\n",
}
"""One agent of each engine: two of our own, Stable-Baselines3 with rollouts and with a replay buffer, and
RLlib's offline learner."""


LOOKS = {
    "orbit": (1, 1, 2, 1, 1),
    "astraea": (1, 3, 2, 5, 1, 4, 2, 3, 1, 2),
    "ppo": (1, 1, 1),
    "sac": (1, 3, 2, 5, 1, 4, 2, 3, 1, 2),
    "bc": (1, 3, 2, 1, 1, 1, 2, 3, 1, 2),
}
"""After how many safe points each run is stopped, time after time."""
MASKS = {r"trials/\d+/process\.json": kills.ignore}
"""A trial's process."""


@pytest.fixture(
    params=[
        "orbit",
        "sac",
        "bc",
        *(pytest.param(name, marks=pytest.mark.soak) for name in ("astraea", "ppo")),
    ]
)
def agent(request) -> str:
    """Return one agent of each engine; the others share their engine's checkpoints."""
    return request.param


@pytest.fixture
def train(agent, tmp_path, request):
    """Return a function that begins or resumes the agent's run in ``tmp_path/run``, as the command does."""
    config = tmp_path / "tiny.yaml"
    config.write_text(AGENTS[agent])
    if agent == "bc":
        pool = request.getfixturevalue("tiny").pool_folder
        config.write_text(f"{AGENTS[agent]}pool_folder: {pool}\n")
    import_trainer(agent)
    return lambda **stop: carry_out(agent, tmp_path / "run", config, **stop)


def import_trainer(agent: str) -> None:
    """Import what training needs, so that a forked process does not."""
    scheme = registry.get(agent)
    scheme.trainer(next(iter(scheme.trainers)))
    for module in ("leogym.agents.training.rollout", "torch._dynamo"):
        importlib.import_module(module)


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


KILLS = {"orbit": 130, "astraea": 28, "ppo": 20, "sac": 24, "bc": 14, "sweep": 45}
"""At how many writes each program is killed at most: the last of each kind, and evenly spaced ones."""
KINDS = {"orbit": ".*", "sweep": r"[^/]*|trials(/\d+(/\.?process.*)?)?"}
"""Of these paths. Orbit, which is fast, is killed at all kinds of writes that runs share."""
OWN_KINDS = r"checkpoints/(\.?\d+(\.tmp)?|replay)/(?!policy|checkpoint|progress|evaluation|SHA)[^/]+"
"""State in checkpoints, and chunks of replay buffers."""


def test_killed_at_any_write(agent, train, tmp_path):
    run = tmp_path / "run"
    _killed_at_any_write(run, train, tmp_path / "copies", KILLS[agent], KINDS.get(agent, OWN_KINDS))


def _killed_at_any_write(run: Path, program: Callable[[], int], into: Path, most: int, which: str) -> None:
    made = kills.writes(program, run)
    whole = kills.contents(run, MASKS)
    shutil.rmtree(run)
    kills.snapshots(program, run, into, kills.of_each_kind(made, most, which))
    copies = sorted(into.iterdir(), key=lambda path: int(path.name))
    assert len(copies) >= 10
    for copy in copies:
        for path in copy.rglob("policy.*"):  # whole at any time
            onnx.load(str(path)) if path.suffix == ".onnx" else json.loads(path.read_text())
        kills.put_back(copy, run)
        killed = made[int(copy.name)]
        assert kills.in_child(program) == 0, killed
        different = kills.differences(kills.contents(run, MASKS), whole)
        if killed.path.endswith(".gitignore"):
            # A folder that was there before gets no such file.
            assert [name for name in different if not name.endswith(".gitignore")] == [], killed
        else:
            assert different == [], killed


def test_stopped_at_ten_steps(agent, train, tmp_path):
    run, config = tmp_path / "run", tmp_path / "tiny.yaml"
    config.write_text(config.read_text().replace("\nsteps: 420\n", "\nsteps: 1080\n"))
    assert kills.in_child(train) == 0
    whole = kills.contents(run)
    shutil.rmtree(run)
    statuses = [kills.in_child(lambda look=look: train(stop_at=look)) for look in LOOKS[agent]]
    assert statuses == [128 + signal.SIGINT] * len(statuses)
    assert kills.in_child(train) == 0
    assert kills.differences(kills.contents(run), whole) == []


def test_a_sweep_killed_at_any_write(tmp_path, monkeypatch):
    """Its trials run one after another without Ray, which only starts and stops them."""
    file, run = tmp_path / "small.yaml", tmp_path / "run"
    task = yaml.safe_load(AGENTS["orbit"]) | {"steps": 300}
    agent, _ = task.pop("agent"), task.pop("track")
    search = {"learning_rate": {"grid": [0.001, 0.002]}}
    swept = {"name": "small", "agent": agent, "metric": "held_out_reward", "settings": task, "search": search}
    file.write_text(yaml.safe_dump(swept))
    monkeypatch.setattr(trial.tune, "report", lambda row: None)
    monkeypatch.setattr(trial, "describe", lambda *_: {})
    monkeypatch.setattr(Reporter, "wall_s", property(lambda self: 0.0))

    def carry_out_sweep() -> int:
        found = configured.read(file)
        planned = plan.plan(found, run, str(file))
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            for one in planned.trials:
                trial.run(one, planned.metric, Stop())
        report.report(planned, run)
        return 0

    _killed_at_any_write(run, carry_out_sweep, tmp_path / "copies", KILLS["sweep"], KINDS["sweep"])
