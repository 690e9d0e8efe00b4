"""A judging on two nodes of a Ray cluster, of which one is killed in the middle."""

import threading
from collections.abc import Iterator

import pytest
import ray
from ray.cluster_utils import Cluster

from leogym.agents.engines.ray_cluster import OBJECT_STORE_BYTES
from leogym.evaluation.leobench import entering, judging, split, version
from leogym.evaluation.leobench.result import Result
from leogym.evaluation.runs.plan import Run
from leogym.results.measurement import Measurement
from tests.support import tiny_benchmark

LOST_AFTER = 4
"""Runs that have ended when a node is killed; each entry has nine."""
LOOKS_MS = 200
"""How often the cluster looks for a node that is gone; by default every 3 s, five times."""


def repeatable(result: Result) -> dict[str, object]:
    return result.model_dump(exclude={"circumstances"})


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_a_node_that_is_killed_in_the_middle_leaves_no_trace_in_a_result(tmp_path, monkeypatch):
    folder = tiny_benchmark.write(tmp_path / "tiny")
    alone = (folder / "alone.yaml").read_text()
    longer = alone.replace("repeats: 2", "repeats: 6").replace("duration_s: 3", "duration_s: 20")
    (folder / "alone.yaml").write_text(longer)
    tiny = version.load(folder)
    public = split.dev(tiny)
    entries = [entering.entrant(name, tiny) for name in ("cubic", "astraea")]
    here = [one.result for one in judging.judge(entries, tiny, public, 1, jobs=1)]

    node = {"num_cpus": 1, "object_store_memory": OBJECT_STORE_BYTES // 2}
    head = {"include_dashboard": False, "_system_config": {"health_check_period_ms": LOOKS_MS}}
    cluster = Cluster(initialize_head=True, head_node_args={**node, **head})
    other = cluster.add_node(**node)
    lock, ended, lost, ran = threading.Lock(), [], [], judging.outcome

    def outcome(run: Run, parts: Iterator[Measurement]) -> judging.Outcome:
        with lock:
            if ray.is_initialized() and len(ended) >= LOST_AFTER and not lost:
                alive = [one for one in ray.nodes() if one["Alive"]]
                lost.append(len(alive))
                cluster.remove_node(other, allow_graceful=False)
        found = ran(run, parts)
        with lock:
            ended.append(run.run_id)
        return found

    monkeypatch.setattr(judging, "outcome", outcome)
    try:
        there = [one.result for one in judging.judge(entries, tiny, public, 1, ray=cluster.address)]
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert lost == [2]
    assert [repeatable(one) for one in there] == [repeatable(one) for one in here]
