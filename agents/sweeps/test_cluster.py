"""A sweep on a local cluster of two nodes, whose driver and then one worker are killed."""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

from leogym.agents import train_cli
from leogym.agents.engines.ray_cluster import OBJECT_STORE_BYTES
from leogym.agents.sweeps.plan import plan
from leogym.agents.training import registry
from leogym.agents.training.run_folder import RunFolder
from leogym.configs import sweep

STEPS = 10_000
SWEEP = f"""
name: killed
agent: astraea
settings:
  steps: {STEPS}
  num_envs: 4
  scenarios: {{sampler: astraea, flows: 1, rate_mbps: 10, base_rtt_ms: 20, duration_s: 5}}
  hidden: [8, 8]
  batch_size: 8
  train_every: 20
  updates_per_training: 1
  learning_starts: 20
  progress_steps: 1000
  checkpoint_steps: 1000
search: {{actor_learning_rate: {{grid: [1e-4, 1e-3]}}}}
metric: reward
"""
ROOT = Path(train_cli.__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def cluster():
    node = {"num_cpus": 1, "object_store_memory": OBJECT_STORE_BYTES // 2, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=node)
    made.add_node(**{key: node[key] for key in ("num_cpus", "object_store_memory")})
    yield made
    ray.shutdown()
    made.shutdown()


def wait_for(what, process: subprocess.Popen | None = None, limit_s: float = 400.0) -> None:
    """Wait until ``what()``; fail when ``process`` ends, or after ``limit_s``."""
    tick = threading.Event()
    for _ in range(int(limit_s / 0.02)):
        if what():
            return
        assert process is None or process.poll() is None, "ended before it could be killed"
        tick.wait(0.02)
    raise AssertionError("never happened")


def steps_of(trial) -> list[int]:
    with (trial.folder / "progress.csv").open(newline="") as file:
        return [int(row["steps"]) for row in csv.DictReader(file)]


def pid_of(trial) -> int:
    return json.loads((trial.folder / "process.json").read_text())["pid"]


def has_checkpoint(trial, after: int = 0) -> bool:
    latest = trial.folder / "checkpoints" / "latest"
    return latest.is_file() and int(latest.read_text() or 0) > after


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_no_trial_is_lost_when_the_driver_and_then_a_worker_are_killed(cluster, tmp_path):
    file, out = tmp_path / "killed.yaml", tmp_path / "out"
    file.write_text(SWEEP)
    asked = ["--sweep", str(file), "--out", str(out), "--ray", cluster.address]
    planned = plan(sweep.read(file), out, str(file)).trials

    driver = subprocess.Popen([sys.executable, str(ROOT / "train.py"), *asked], cwd=ROOT)
    try:
        wait_for(lambda: any(has_checkpoint(trial) for trial in planned), driver)
    finally:
        driver.kill()
        driver.wait()
    victim = next(trial for trial in planned if has_checkpoint(trial))
    assert not victim.done()
    first, reached = pid_of(victim), max(steps_of(victim), default=0)
    killed = []

    def kill_a_worker() -> None:
        wait_for(lambda: pid_of(victim) != first and has_checkpoint(victim, reached))
        killed.append(pid_of(victim))
        assert not victim.done()
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_a_worker)
    killer.start()
    assert train_cli.run([*asked, "--resume"]) == 0
    killer.join()
    assert len(killed) == 1
    assert pid_of(victim) not in (first, killed[0])

    for trial in planned:
        assert trial.done()
        assert steps_of(trial) == list(range(1000, STEPS + 1, 1000))
    with (out / "sweep.csv").open(newline="") as table:
        assert [row["status"] for row in csv.DictReader(table)] == ["done", "done"]
    # The trial that was killed twice has the same policy as an uninterrupted run.
    settings = victim.settings
    alone = RunFolder.create(tmp_path / "alone", settings.to_yaml(), {})
    registry.get("astraea").trainer("native")(settings, alone)
    unbroken = (alone.policy / "policy.onnx").read_bytes()
    assert (victim.folder / "policy" / "policy.onnx").read_bytes() == unbroken


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_a_trial_that_does_worse_is_given_up(cluster, tmp_path):
    file, out = tmp_path / "given-up.yaml", tmp_path / "out"
    searched = "search: {exploration_start: {grid: [0.1, 0.9]}}\nmetric: exploration\ngoal: min\n"
    stopping = "concurrent: 1\nearly_stopping: {grace_steps: 1000, reduction: 2}\n"
    file.write_text(SWEEP.partition("search:")[0].replace(str(STEPS), "4000") + searched + stopping)
    asked = ["--sweep", str(file), "--out", str(out), "--ray", cluster.address]
    assert train_cli.run(asked) == 0
    with (out / "sweep.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert [(row["trial"], row["status"]) for row in rows] == [("0", "done"), ("1", "given up")]
    # The lowest exploration is the first: the rows name its checkpoint, not where the trials ended.
    assert [row["steps"] for row in rows] == ["1000", "1000"]
    assert [_last_steps(out / row["folder"]) for row in rows] == ["4000", "1000"]


def _last_steps(run):
    with (run / "progress.csv").open(newline="") as table:
        return [*csv.DictReader(table)][-1]["steps"]
