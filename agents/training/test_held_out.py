import json
from pathlib import Path

import leosim
import numpy as np
import pytest

from leogym.agents import judging
from leogym.agents.__main__ import run as command
from leogym.agents.judging import canonical_spec, held_out
from leogym.agents.training import policy_folder, rollout
from leogym.agents.training.episode_batch import Episodes
from leogym.agents.training.held_out import Chooser
from leogym.agents.training.onnx_export import perceptron
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.common.errors import InputError
from leogym.configs import named_scenarios
from tests.support import training_runs
from tests.support.training_runs import settings_of

TINY = {
    "num_envs": 2,
    "scenarios": {"sampler": "astraea", "flows": 2, "rate_mbps": 10, "base_rtt_ms": 20, "duration_s": 1},
    "hidden": [8],
    "checkpoint_steps": 64,
}
OF = {
    "astraea": {"hidden": [8, 8], "learning_starts": 20, "train_every": 2, "batch_size": 8},
    "ppo": {"rollout_steps": 16, "minibatch_size": 16},
    "recurrent_ppo": {"rollout_steps": 16, "minibatch_size": 16, "memory_cells": 4},
    "td3": {"learning_starts": 16, "batch_size": 8},
}


def trained(agent: str, path, steps: int, resume: bool = False, **changes) -> RunFolder:
    settings = settings_of(agent, **{**TINY, **OF[agent], "steps": steps, **changes})
    return training_runs.trained(settings, path, resume=resume)


def rows(run: RunFolder) -> list[dict[str, str]]:
    return training_runs.rows(run, "evaluation.csv")


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


class Scripted(Chooser):
    """A chooser whose rewards the test sets."""

    def __init__(self, run: RunFolder, steps: int = 0) -> None:
        super().__init__(TrainSettings(agent="astraea", held_out_episodes=1), run, steps)


def checkpointed(run: RunFolder, chooser: Chooser, steps: int, reward: float, monkeypatch) -> None:
    run.save_checkpoint(steps, lambda folder: (folder / "weights").write_text(str(steps)))
    run.write_policy(b"%d" % steps, {"agent": "astraea"}, steps)
    monkeypatch.setattr(
        "leogym.agents.training.rollout.evaluate_policies", lambda *_, **__: {"reward": reward}
    )
    chooser.consider(steps, 1.0)


def test_the_best_checkpoint_outlives_later_ones_that_are_worse(tmp_path, monkeypatch):
    fake = type("Policy", (), {"load": staticmethod(str)})
    monkeypatch.setattr("leogym.agents.training.held_out.leosim.Policy", fake)
    run = RunFolder.create(tmp_path / "run", "", {})
    chooser = Scripted(run)
    for steps, reward in ((10, 0.1), (20, 0.9), (30, 0.3), (40, 0.2), (50, 0.4)):
        checkpointed(run, chooser, steps, reward, monkeypatch)
    assert [int(folder.name) for folder in run.kept_checkpoints()] == [20, 40, 50]
    assert (run.path / "best" / "policy.onnx").read_bytes() == b"20"
    assert run.latest_checkpoint() == run.checkpoint_path(50)
    # A resumed run still compares with the best so far.
    again = RunFolder.open(run.path, {})
    checkpointed(again, Scripted(again, 50), 60, 0.8, monkeypatch)
    assert (run.path / "best" / "policy.onnx").read_bytes() == b"20"
    checkpointed(again, Scripted(again, 60), 70, 1.0, monkeypatch)
    assert (run.path / "best" / "policy.onnx").read_bytes() == b"70"
    assert [int(folder.name) for folder in run.kept_checkpoints()] == [60, 70]


def test_an_agent_that_exports_no_policy_cannot_be_judged(tmp_path):
    run = RunFolder.create(tmp_path / "run", "", {})
    with pytest.raises(InputError, match="held_out_episodes: astraea exports no policy"):
        Scripted(run).consider(1, 1.0)


RANGES = "scenarios: {sampler: astraea, flows: 2, rate_mbps: 10, base_rtt_ms: 20, duration_s: 1}\n"
PERCEPTRON = Path(__file__).resolve().parents[2] / "core/control/tests/fixtures/perceptron"
"""A policy of Astraea without a training run, like an imported one."""


def test_no_episode_that_chooses_a_policy_judges_it_or_any_other(tmp_path, monkeypatch):
    drawn: list[tuple[str, str]] = []
    phase = "trains"

    class Watched(Episodes):
        def restart(self, index: int) -> None:
            super().restart(index)
            drawn.append((phase, self.scenario(self.next_episode - 1).to_json()))

    monkeypatch.setattr(rollout, "Episodes", Watched)
    phase = "chooses"
    run = trained("ppo", tmp_path / "run", 64, held_out_episodes=3)
    phase = "judges"
    held_out(run.path, episodes=3)
    by_phase = {name: {text for which, text in drawn if which == name} for name in ("chooses", "judges")}
    assert len(by_phase["chooses"]) == len(by_phase["judges"]) == 3
    assert not by_phase["chooses"] & by_phase["judges"]


def test_a_policy_without_a_run_is_judged_on_the_ranges_that_are_given(tmp_path, capsys):
    ranges = tmp_path / "ranges.yaml"
    ranges.write_text(RANGES)
    assert command(["held-out", str(PERCEPTRON), "--episodes", "2", "--scenarios", str(ranges)]) == 0
    earned = json.loads(capsys.readouterr().out)
    assert earned["power"] > 0
    assert earned["action_0"]["power"] != earned["power"]
    by_config = tmp_path / "run.yaml"
    by_config.write_text(f"agent: astraea\nsteps: 1\n{RANGES}")
    assert held_out(PERCEPTRON, 2, str(by_config)) == earned


def test_a_policy_is_judged_on_scenarios_by_name_and_by_file(tmp_path, monkeypatch):
    text = (named_scenarios.SCENARIOS / "static-100.yaml").read_text()
    monkeypatch.setattr(named_scenarios, "SCENARIOS", tmp_path)
    for seconds in (1, 2):
        file = tmp_path / f"of-{seconds}-s.yaml"
        file.write_text(text.replace("duration_s: 60", f"duration_s: {seconds}"))
    by_name = held_out(PERCEPTRON, 1, "of-2-s")
    assert by_name == held_out(PERCEPTRON, 1, str(tmp_path / "of-2-s.yaml"))
    assert by_name != held_out(PERCEPTRON, 1, str(tmp_path / "of-1-s.yaml"))


@pytest.mark.parametrize("observation", ["astraea", "orca", "aurora", "sage", "orbit"])
def test_a_specification_has_the_name_that_a_loaded_policy_has(observation, tmp_path):
    # The halves' own names, as `--set observation=` leaves the preset's action, name the same specification.
    for action in ("astraea", "orca", "aurora", "sage", "orbit", "cwnd_step", "cubic_ratio", "path_gains"):
        spec = f"{observation}+{action}"
        batch = leosim.Batch(1, agent=spec)
        layer = (np.zeros((batch.action_dim, batch.observation_dim)), np.zeros(batch.action_dim))
        description = policy_folder.describe(spec, batch.observation_dim, batch.action_dim, 30.0)
        policy_folder.write(tmp_path, perceptron([layer], None, "zeros"), description)
        assert canonical_spec(spec) == leosim.Policy.load(str(tmp_path)).spec
        # The policy alone is judged by the settings of its observation's agent.
        assert judging.settings_of(tmp_path, None).spec == spec
    assert canonical_spec(observation) == observation


def test_what_cannot_be_judged_is_one_line(tmp_path):
    for episodes in (0, -3):
        with pytest.raises(InputError, match=f"^held-out: --episodes: {episodes}: must be at least 1$"):
            held_out(PERCEPTRON, episodes)
    with pytest.raises(InputError, match="scenarios"):
        held_out(PERCEPTRON, 1, "moon")
    (tmp_path / "empty.yaml").write_text("steps: 3\n")
    with pytest.raises(InputError, match="scenarios: no ranges"):
        held_out(PERCEPTRON, 1, str(tmp_path / "empty.yaml"))
