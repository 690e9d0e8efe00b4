"""A sweep on a local cluster of two nodes of which one is killed: the table is that of a sweep without."""

import json
import threading
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

from leogym.agents import train_cli
from leogym.agents.engines.ray_cluster import OBJECT_STORE_BYTES

STEPS = 480
SWEEP = f"""
name: lost-node
agent: ppo
settings:
  engine: rllib
  steps: {STEPS}
  num_envs: 2
  rollout_steps: 16
  minibatch_size: 16
  epochs: 1
  hidden: [8]
  checkpoint_steps: 96
  progress_steps: 96
  scenarios: {{sampler: astraea, flows: 2, rate_mbps: 10, base_rtt_ms: 20, duration_s: 1}}
  held_out_episodes: 1
search: {{policies: {{grid: [shared, separate]}}}}
"""


def sweep(file: Path, out: Path, address: str) -> None:
    assert train_cli.run(["--sweep", str(file), "--out", str(out), "--ray", address]) == 0


def trial_on(parent: int, out: Path) -> Path | None:
    """Return the folder of a trial that a child of process ``parent`` runs and that has a checkpoint."""
    for written in out.glob("trials/*/process.json"):
        pid = json.loads(written.read_text())["pid"]
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except FileNotFoundError:
            continue
        mine = f"PPid:\t{parent}\n" in status
        if mine and (written.parent / "checkpoints/latest").exists():
            return written.parent
    return None


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_a_node_that_is_killed_does_not_change_the_table(tmp_path):
    file = tmp_path / "sweep.yaml"
    file.write_text(SWEEP)
    node = {"num_cpus": 1, "object_store_memory": OBJECT_STORE_BYTES // 2}
    cluster = Cluster(True, head_node_args={**node, "include_dashboard": False})
    killed: list[Path] = []
    over = threading.Event()

    def kill_the_second_node(second) -> None:
        [raylet] = second.all_processes["raylet"]
        while not over.wait(0.05):
            if (folder := trial_on(raylet.process.pid, tmp_path / "killed")) is not None:
                assert not (folder / "summary.json").exists()
                cluster.remove_node(second, allow_graceful=False)
                killed.append(folder)
                return

    try:
        second = cluster.add_node(**node)
        killer = threading.Thread(target=kill_the_second_node, args=(second,))
        killer.start()
        sweep(file, tmp_path / "killed", cluster.address)
        over.set()
        killer.join()
        sweep(file, tmp_path / "whole", cluster.address)  # on the node that is left
    finally:
        over.set()
        ray.shutdown()
        cluster.shutdown()
    [folder] = killed
    tables = [(tmp_path / name / "sweep.csv").read_bytes() for name in ("killed", "whole")]
    assert tables[0] == tables[1]
    for name in ("policy/policy.onnx", "best/policy.onnx"):
        again = tmp_path / "whole" / folder.relative_to(tmp_path / "killed") / name
        assert (folder / name).read_bytes() == again.read_bytes()
