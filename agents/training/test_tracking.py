import json

import pytest

from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.agents.training.tracking import tracker


@pytest.fixture
def offline(monkeypatch, tmp_path):
    for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_RUN_GROUP"):
        monkeypatch.delenv(name, raising=False)
    for name in ("WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "wandb-home"))
    monkeypatch.setenv("WANDB_SILENT", "true")


@pytest.mark.usefixtures("offline")
def test_wandb_runs_offline_and_in_the_group_of_its_seeds(tmp_path):
    import wandb

    run = RunFolder.create(tmp_path / "seed-3", "", {})
    settings = TrainSettings(agent="ppo", track="wandb", group="three-seeds", seed=3)
    told = tracker(settings, run, start=0)
    assert wandb.run is not None
    assert wandb.run.settings._offline
    assert (wandb.run.group, wandb.run.name, wandb.run.project) == ("three-seeds", "seed-3", "leogym")
    assert json.loads(json.dumps(dict(wandb.run.config)))["seed"] == 3
    told.log({"reward": 0.5, "held_out_reward": 0.25}, 10)
    told.close()
    (folder,) = (run.path / "wandb").glob("offline-run-*")
    assert [path.stat().st_size > 0 for path in folder.glob("*.wandb")] == [True]
