import pytest

from leogym.agents.training.stopping import Stopped
from leogym.agents.training.test_stopping import Looks
from tests.support import training_runs
from tests.support.training_runs import rows, settings_of

# At most checkpoints, episodes of 3 s are running; they end between checkpoints.
SHORT = {
    "engine": "sb3",
    "num_envs": 2,
    "scenarios": {"sampler": "astraea", "duration_s": 3.0, "rate_mbps": [20, 40], "flows": [1, 2]},
    "reward": "power",
    "hidden": [16, 8],
    "progress_steps": 96,
    "checkpoint_steps": 128,
}
ON_POLICY = {"rollout_steps": 64, "minibatch_size": 32}
OFF_POLICY = {"learning_starts": 150, "batch_size": 16, "memory": 500}
AGENTS = {
    "ppo": ON_POLICY,
    "recurrent_ppo": {**ON_POLICY, "memory_cells": 12},
    "aurora": {**ON_POLICY, "reward": "aurora", "relative_rewards": True, "scenarios": {"sampler": "aurora"}},
    "sac": OFF_POLICY,
    "td3": OFF_POLICY,
    "tqc": OFF_POLICY,
}


def trained(agent, path, steps, **how):
    settings = settings_of(agent, **{**SHORT, **AGENTS[agent], "steps": steps})
    return training_runs.trained(settings, path, **how)


def curve(run):
    return [{**row, "wall_s": ""} for row in rows(run)]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_that_was_stopped_or_ended_and_resumed_is_the_run_that_never_was(tmp_path, agent):
    whole = trained(agent, tmp_path / "whole", 512)
    with pytest.raises(Stopped):
        trained(agent, tmp_path / "parts", 256, stop=Looks(2))
    trained(agent, tmp_path / "parts", 256, resume=True)
    parts = trained(agent, tmp_path / "parts", 512, resume=True)
    assert (parts.policy / "policy.onnx").read_bytes() == (whole.policy / "policy.onnx").read_bytes()
    # Compare only the rows after the resume: the first part wrote an extra row at its end.
    assert curve(parts)[-2:] == curve(whole)[-2:]
    assert int(curve(whole)[-1]["episodes"]) > 0
