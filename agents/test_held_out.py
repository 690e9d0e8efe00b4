"""Evaluation during training: the judge, what it keeps, and that training does not notice it."""

import csv
import json

import leosim
import numpy as np
import pytest

from agents import registry
from agents.held_out import Judge
from agents.run_folder import RunFolder
from agents.settings import TrainSettings, build
from configs.errors import InputError

TINY = {
    "num_envs": 2,
    "scenarios": {"sampler": "astraea", "flows": 2, "rate_mbps": 10, "base_rtt_ms": 20, "duration_s": 1},
    "hidden": [8],
    "track": "none",
    "checkpoint_steps": 64,
}
OF = {
    "astraea": {"hidden": [8, 8], "learning_starts": 20, "train_every": 2, "batch_size": 8},
    "ppo": {"rollout_steps": 16, "minibatch_size": 16},
    "recurrent_ppo": {"rollout_steps": 16, "minibatch_size": 16, "memory_cells": 4},
    "td3": {"learning_starts": 16, "batch_size": 8},
}


def trained(agent: str, path, steps: int, resume: bool = False, **changes) -> RunFolder:
    scheme = registry.get(agent)
    data = {**TINY, **OF[agent], "agent": agent, "steps": steps, **changes}
    settings = build(scheme.settings, "test", data)
    run = RunFolder.open(path, {}) if resume else RunFolder.create(path, settings.to_yaml(), {})
    scheme.trainer(settings.engine)(settings, run)
    return run


def rows(run: RunFolder) -> list[dict[str, str]]:
    with (run.path / "evaluation.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("agent", list(OF))
def test_every_checkpoint_is_judged_the_best_is_kept_and_training_does_not_notice(agent, tmp_path):
    judged = trained(agent, tmp_path / "judged", 192, held_out_episodes=2)
    plain = trained(agent, tmp_path / "plain", 192)
    assert (judged.policy / "policy.onnx").read_bytes() == (plain.policy / "policy.onnx").read_bytes()
    assert not (plain.path / "evaluation.csv").exists()

    found = rows(judged)
    assert [int(row["steps"]) for row in found][-3:] == [64, 128, 192]
    assert all(0 < float(row["normalized_goodput"]) <= 1 for row in found)
    rewards = [float(row["reward"]) for row in found]
    best = json.loads((judged.path / "summary.json").read_text())["held_out"]["best"]
    assert best["reward"] == pytest.approx(max(rewards))
    assert best["steps"] == int(found[int(np.argmax(rewards))]["steps"])
    described = json.loads((judged.path / "best" / "policy.json").read_text())
    assert described["provenance"]["steps"] == best["steps"]
    leosim.Policy.load(str(judged.path / "best"))


def test_a_resumed_run_is_judged_as_one_that_was_not_interrupted(tmp_path):
    whole = trained("astraea", tmp_path / "whole", 192, held_out_episodes=2)
    trained("astraea", tmp_path / "halves", 128, held_out_episodes=2)
    halves = trained("astraea", tmp_path / "halves", 192, resume=True, held_out_episodes=2)
    columns = ("steps", "reward", "normalized_goodput", "delay_inflation", "loss_rate")
    for row, other in zip(rows(whole), rows(halves), strict=True):
        assert [row[name] for name in columns] == [other[name] for name in columns]
    for name in ("best/policy.onnx", "checkpoints/best"):
        assert (whole.path / name).read_bytes() == (halves.path / name).read_bytes()


class Scripted(Judge):
    """A judge that is told what policies earn."""

    def __init__(self, run: RunFolder, steps: int = 0) -> None:
        super().__init__(TrainSettings(agent="astraea", held_out_episodes=1), run, steps)


def checkpointed(run: RunFolder, judge: Judge, steps: int, reward: float, monkeypatch) -> None:
    run.save_checkpoint(steps, lambda folder: (folder / "weights").write_text(str(steps)))
    run.write_policy(b"%d" % steps, {"agent": "astraea"}, steps)
    monkeypatch.setattr("agents.rollout.evaluate_policy", lambda *_: {"reward": reward})
    judge.judge(steps, 1.0)


def test_the_best_checkpoint_outlives_later_ones_that_are_worse(tmp_path, monkeypatch):
    monkeypatch.setattr("agents.held_out.leosim.Policy", type("Policy", (), {"load": staticmethod(str)}))
    run = RunFolder.create(tmp_path / "run", "", {})
    judge = Scripted(run)
    for steps, reward in ((10, 0.1), (20, 0.9), (30, 0.3), (40, 0.2), (50, 0.4)):
        checkpointed(run, judge, steps, reward, monkeypatch)
    assert [int(folder.name) for folder in run.kept_checkpoints()] == [20, 40, 50]
    assert (run.path / "best" / "policy.onnx").read_bytes() == b"20"
    assert run.latest_checkpoint() == run.checkpoint_path(50)
    # After a resume, the best so far is still what the next one is compared with.
    again = RunFolder.open(run.path, {})
    checkpointed(again, Scripted(again, 50), 60, 0.8, monkeypatch)
    assert (run.path / "best" / "policy.onnx").read_bytes() == b"20"
    checkpointed(again, Scripted(again, 60), 70, 1.0, monkeypatch)
    assert (run.path / "best" / "policy.onnx").read_bytes() == b"70"
    assert [int(folder.name) for folder in run.kept_checkpoints()] == [60, 70]


def test_an_agent_that_exports_no_policy_cannot_be_judged(tmp_path):
    run = RunFolder.create(tmp_path / "run", "", {})
    with pytest.raises(InputError, match="held_out_episodes: astraea exports no policy"):
        Scripted(run).judge(1, 1.0)
