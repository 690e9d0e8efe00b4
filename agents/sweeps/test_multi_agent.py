"""A sweep of flows that learn together, with shared and with separate policies, and its best policies."""

import csv

import numpy as np
import polars as pl
import pytest

from leogym.agents import train_cli
from leogym.agents.training import rollout
from leogym.evaluation import cli

SWEEP = """
name: together
agents: {ppo: {rollout_steps: 16, minibatch_size: 16, epochs: 1}}
settings:
  engine: rllib
  steps: 96
  num_envs: 2
  hidden: [8]
  checkpoint_steps: 32
  progress_steps: 32
  scenarios: {sampler: astraea, flows: [2, 3], rate_mbps: 10, base_rtt_ms: 20, duration_s: 1}
  held_out_episodes: 2
concurrent: 1  # one process, as importing RLlib takes longer than two trials
search:
  reward: {grid: [power, fair-share]}
  policies: {grid: [shared, separate]}
"""
SUITE = """
name: pair
title: two flows
scenario:
  duration_s: 2
  links: {l: {rate_mbps: 10, delay_ms: 10}}
  flows: [{scheme: $scheme, route: [l]}, {scheme: $scheme, route: [l]}]
"""


class Echo:
    """A policy whose action is its number."""

    memory_dim = 0

    def __init__(self, number: float) -> None:
        self.number = number

    def act(self, observations: np.ndarray) -> np.ndarray:
        return np.full((len(observations), 1), self.number, np.float32)


def test_each_flow_acts_with_its_own_policy():
    act = rollout.acting_each([Echo(0.0), Echo(1.0), Echo(2.0)], 6)  # type: ignore[list-item]
    flows = np.array([0, 2, 3, 4, 5])
    assert act(np.zeros((5, 4), np.float32), flows).tolist() == [[0], [2], [0], [1], [2]]
    assert act(np.zeros((1, 4), np.float32), np.array([4])).tolist() == [[1]]


@pytest.mark.slow
@pytest.mark.local_ray
@pytest.mark.xdist_group("ray")
def test_a_sweep_of_flows_that_learn_together_has_one_table_and_its_best_policies_run_anywhere(tmp_path):
    file, out = tmp_path / "together.yaml", tmp_path / "out"
    file.write_text(SWEEP)
    assert train_cli.run(["--sweep", str(file), "--out", str(out)]) == 0
    with (out / "sweep.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    powers = [float(row["held_out_power"]) for row in rows]
    assert powers == sorted(powers, reverse=True)
    assert {(row["agent"], row["status"]) for row in rows} == {("ppo", "done")}
    assert {(row["reward"], row["policies"]) for row in rows} == {
        (reward, policies) for reward in ("power", "fair-share") for policies in ("shared", "separate")
    }
    assert (out / "sweep.png").read_bytes().startswith(b"\x89PNG")

    separate = next(out / row["folder"] / "best" for row in rows if row["policies"] == "separate")
    own = sorted((separate / "policies").iterdir())
    assert [folder.name for folder in own] == ["flow_0", "flow_1", "flow_2"]
    assert len({(folder / "policy.onnx").read_bytes() for folder in own}) == 3
    assert (own[0] / "policy.onnx").read_bytes() == (separate / "policy.onnx").read_bytes()
    suite = tmp_path / "pair.yaml"
    suite.write_text(SUITE)
    schemes = {"best": out / rows[0]["folder"] / "best", "second": own[1]}
    named = ",".join(f"{name}={folder}" for name, folder in schemes.items())
    cli.run([str(suite), "--schemes", f"{named},cubic", "--out", str(tmp_path / "pair"), "--cache", "none"])
    runs = pl.read_parquet(tmp_path / "pair" / "runs.parquet")
    assert set(runs["scheme"]) == {"best", "second", "cubic"}
