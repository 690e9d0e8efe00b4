import json

import leosim
import numpy as np
import pytest

from leogym.agents.engines.sb3 import loop, off_policy
from leogym.common.errors import InputError
from tests.support import training_runs
from tests.support.training_runs import latest, rewrite, rows, settings_of

TINY = {
    "scenarios": {"sampler": "astraea", "flows": 1, "rate_mbps": [5.0, 10.0], "duration_s": 1.0},
    "num_envs": 2,
    "hidden": [16, 8],
    "batch_size": 16,
    "memory": 120,
    "learning_starts": 20,
    "reward": "power",
    "progress_steps": 32,
    "checkpoint_steps": 64,
}
OBSERVATIONS = np.random.default_rng(1).uniform(0, 2, (7, 50)).astype(np.float32)


def trained(agent, path, steps, resume=False):
    settings = settings_of(agent, **TINY, steps=steps)
    return training_runs.trained(settings, path, resume=resume), settings


@pytest.mark.parametrize("agent", ["sac", "td3", "tqc"])
def test_it_trains_checkpoints_exports_and_resumes(tmp_path, agent):
    run, settings = trained(agent, tmp_path / "run", 64)
    algorithm = off_policy.ALGORITHMS[type(settings)]
    model, state = loop.load(algorithm, latest(run), settings)
    assert state["steps"] == 64
    assert model.replay_buffer.pos == 32  # rows of two simulations each
    np.testing.assert_array_equal(model.replay_buffer.rewards[32:], 0)
    actions = leosim.Policy.load(str(run.policy)).act(OBSERVATIONS)
    expected = model.predict(OBSERVATIONS, deterministic=True)[0]
    np.testing.assert_allclose(actions, expected, atol=1e-5)

    # Train beyond the buffer's 60 rows of two transitions each.
    run, _ = trained(agent, tmp_path / "run", 160, resume=True)
    assert [int(row["steps"]) for row in rows(run)] == [32, 64, 96, 128, 160]
    assert np.isfinite(float(rows(run)[-1]["value_loss"]))
    assert json.loads((run.path / "summary.json").read_text())["steps"] == 160
    assert np.abs(leosim.Policy.load(str(run.policy)).act(OBSERVATIONS) - actions).max() > 0
    assert loop.load(algorithm, latest(run), settings)[0].replay_buffer.full


def test_a_replay_buffer_that_cannot_be_read_is_named(tmp_path):
    run, _ = trained("td3", tmp_path / "run", 32)
    rewrite(latest(run), "replay.npz", b"not arrays")
    with pytest.raises(InputError, match="cannot be read"):
        trained("td3", tmp_path / "run", 64, resume=True)
