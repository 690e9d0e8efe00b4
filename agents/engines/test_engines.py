import io
import json
from pathlib import Path

import leosim
import numpy as np
import onnxruntime
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from leogym.agents.baselines.ppo import PpoSettings
from leogym.agents.engines.data_parallel import Ranks
from leogym.agents.engines.sb3 import loop, ppo
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.stopping import Stop, Stopped
from leogym.agents.training.test_stopping import Looks
from leogym.common.errors import InputError
from tests.support import training_runs
from tests.support.training_runs import latest, rewrite, rows

TINY = {
    "agent": "ppo",
    "scenarios": {"sampler": "astraea", "flows": (2, 2), "rate_mbps": (5.0, 10.0), "duration_s": 1.0},
    "num_envs": 2,
    "rollout_steps": 16,
    "minibatch_size": 16,
    "epochs": 2,
    "hidden": [16, 8],
    "track": "none",
    "progress_steps": 32,
    "checkpoint_steps": 64,
}


def settings_of(steps: int, **changes) -> PpoSettings:
    return PpoSettings.model_validate({**TINY, "engine": "sb3", "steps": steps, **changes})


def trained(path: Path, steps: int, resume: bool = False, stop: Stop | None = None, **changes) -> RunFolder:
    return training_runs.trained(settings_of(steps, **changes), path, resume=resume, stop=stop)


def test_a_length_between_rollouts_is_rounded_up_and_says_so_at_the_start(tmp_path, capsys):
    run = trained(tmp_path / "run", 40)
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == "steps: 40 rounds up to 64: a rollout has 32 steps (16 intervals of 2 simulations)"
    assert json.loads((run.path / "summary.json").read_text())["steps"] == 64
    trained(tmp_path / "run", 96, resume=True)
    assert "rounds up" not in capsys.readouterr().out


@pytest.mark.filterwarnings("error::UserWarning:stable_baselines3")
def test_a_rollout_smaller_than_a_minibatch_is_one_minibatch(tmp_path):
    run = trained(tmp_path / "run", 32, minibatch_size=64)
    assert np.isfinite(float(rows(run)[-1]["policy_loss"]))


def test_trackers_have_the_usual_keys_of_sb3_beside_the_columns_of_progress(tmp_path):
    run = trained(tmp_path / "run", 64, track="tensorboard")
    events = EventAccumulator(str(run.tensorboard))
    events.Reload()
    usual = ("approx_kl", "clip_fraction", "explained_variance", "entropy_loss", "learning_rate")
    expected = {"reward", "rollout/ep_rew_mean", "time/fps", *(f"train/{name}" for name in usual)}
    assert expected <= set(events.Tags()["scalars"])
    assert [event.step for event in events.Scalars("train/approx_kl")] == [32, 64]
    assert "train/approx_kl" not in rows(run)[0]


def observations() -> np.ndarray:
    return np.random.default_rng(1).uniform(0, 2, (7, 50)).astype(np.float32)


def exported(run: RunFolder) -> np.ndarray:
    """Return the actions of the run's policy, checked in both runtimes."""
    session = onnxruntime.InferenceSession(run.policy / "policy.onnx")
    actions = np.asarray(session.run(["action"], {"observation": observations()})[0])
    policy = leosim.Policy.load(str(run.policy))
    assert policy.spec == "astraea"
    np.testing.assert_allclose(policy.act(observations()), actions, atol=1e-5)
    assert np.abs(actions).max() <= 1
    return actions


def beginning(model) -> np.ndarray:
    """Return the observations of the first intervals of a model's simulations."""
    model.env.reset()
    return np.stack([model.env.step(np.zeros((2, 1), np.float32))[0] for _ in range(20)])


def test_sb3_trains_checkpoints_exports_and_resumes(tmp_path):
    run = trained(tmp_path / "run", 64)
    assert [row["steps"] for row in rows(run)] == ["32", "64"]
    assert [folder.name for folder in run.kept_checkpoints()] == ["000000000064"]
    model, state = loop.load(ppo.ALGORITHM, latest(run), settings_of(64))
    assert state["steps"] == model.num_timesteps == 64
    np.testing.assert_allclose(exported(run), model.predict(observations(), deterministic=True)[0], atol=1e-5)

    before = exported(run)
    run = trained(tmp_path / "run", 128, resume=True)
    assert [row["steps"] for row in rows(run)] == ["32", "64", "96", "128"]
    assert all(np.isfinite(float(row["reward"])) for row in rows(run))
    assert json.loads((run.path / "summary.json").read_text())["steps"] == 128
    after = exported(run)
    assert not np.array_equal(after, before)

    # As after a kill between checkpoint and export: resume with nothing left to train.
    (run.policy / "policy.onnx").unlink()
    run = trained(tmp_path / "run", 128, resume=True)
    assert len(rows(run)) == 4
    np.testing.assert_array_equal(exported(run), after)


def test_sb3_repeats_itself_with_the_same_seed(tmp_path):
    first, second, other = (
        exported(trained(tmp_path / name, 64, seed=seed))
        for name, seed in (("one", 1), ("again", 1), ("other", 2))
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_sb3_resumes_and_repeats_itself_to_the_byte_with_two_processes(tmp_path):
    whole = trained(tmp_path / "whole", 128, workers=2)
    # A rollout is 16 intervals of 2 simulations in each process.
    assert [row["steps"] for row in rows(whole)] == ["64", "128"]
    assert json.loads((whole.path / "summary.json").read_text())["steps"] == 128

    with pytest.raises(Stopped):
        trained(tmp_path / "parts", 128, workers=2, stop=Looks(2))
    parts = trained(tmp_path / "parts", 128, resume=True, workers=2)
    np.testing.assert_array_equal(exported(parts), exported(whole))
    assert [{**row, "wall_s": ""} for row in rows(parts)] == [{**row, "wall_s": ""} for row in rows(whole)]


@pytest.mark.parametrize("resumed", [False, True])
def test_every_process_has_the_same_weights_and_draws_other_episodes_and_actions(tmp_path, resumed):
    settings = settings_of(64)
    begun_from = latest(trained(tmp_path / "run", 64)) if resumed else None
    weights, episodes, actions = [], [], []
    for rank in range(3):
        model, _ = loop._begin(ppo.ALGORITHM, settings, begun_from, Ranks(rank, 3))
        weights.append(torch.cat([parameter.flatten() for parameter in model.policy.parameters()]))
        actions.append(torch.rand(5).tolist() + np.random.rand(5).tolist())  # noqa: NPY002 (as sb3 draws)
        episodes.append(beginning(model).tolist())
    assert torch.equal(weights[0], weights[1])
    assert torch.equal(weights[0], weights[2])
    for drawn in (episodes, actions):
        assert drawn[0] != drawn[1] != drawn[2] != drawn[0]


def test_sb3_names_a_checkpoint_that_it_cannot_read(tmp_path):
    run = trained(tmp_path / "run", 32)
    rewrite(latest(run), "model.pt", b"not a checkpoint")
    with pytest.raises(InputError, match="cannot be read"):
        trained(tmp_path / "run", 64, resume=True)


def test_a_checkpoint_that_would_execute_something_is_refused_and_does_not(tmp_path):
    ran = tmp_path / "ran"

    class Trap:
        def __reduce__(self):
            return ran.touch, ()

    run, file = trained(tmp_path / "run", 32), io.BytesIO()
    torch.save({"parameters": Trap(), "variables": {}, "torch": torch.get_rng_state()}, file)
    rewrite(latest(run), "model.pt", file.getvalue())
    with pytest.raises(InputError, match="cannot be read") as caught:
        trained(tmp_path / "run", 64, resume=True)
    assert "\n" not in str(caught.value)
    assert not ran.exists()


def test_a_checkpoint_of_other_networks_is_refused(tmp_path):
    trained(tmp_path / "run", 32)
    with pytest.raises(InputError, match="cannot be read"):
        trained(tmp_path / "run", 64, resume=True, hidden=[8, 8])


def test_a_resumed_run_does_not_see_the_episodes_of_its_beginning_again(tmp_path):
    settings = settings_of(64)
    run = trained(tmp_path / "run", 64)
    resumed, _ = loop.load(ppo.ALGORITHM, latest(run), settings)
    fresh = ppo.make_model(settings, loop.make_environment(settings, 0))
    assert not np.array_equal(beginning(resumed), beginning(fresh))
