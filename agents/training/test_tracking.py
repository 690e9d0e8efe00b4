import json

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings, build
from leogym.agents.training.tracking import flat, trackers
from leogym.common.errors import InputError


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
    (told,) = trackers(settings, run, start=0)
    assert wandb.run is not None
    assert wandb.run.settings._offline
    assert (wandb.run.group, wandb.run.name, wandb.run.project) == ("three-seeds", "seed-3", "leogym")
    assert json.loads(json.dumps(dict(wandb.run.config)))["seed"] == 3
    told.log({"reward": 0.5, "held_out_reward": 0.25}, 10)
    told.close()
    (folder,) = (run.path / "wandb").glob("offline-run-*")
    assert [path.stat().st_size > 0 for path in folder.glob("*.wandb")] == [True]


def recorded(run: RunFolder) -> EventAccumulator:
    events = EventAccumulator(str(run.tensorboard))
    events.Reload()
    return events


@pytest.mark.usefixtures("offline")
def test_two_trackers_record_the_same_numbers_and_the_settings(tmp_path):
    run = RunFolder.create(tmp_path / "run", "", {})
    settings = TrainSettings(agent="ppo", track="tensorboard,wandb", seed=3)
    both = trackers(settings, run, start=0)
    for tracker in both:
        tracker.log({"reward": 0.5}, 10)
        tracker.close()
    assert len(list((run.path / "wandb").glob("offline-run-*/*.wandb"))) == 1
    events = recorded(run)
    assert [(event.step, event.value) for event in events.Scalars("reward")] == [(10, 0.5)]
    content = events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    values = HParamsPluginData.FromString(content).session_start_info.hparams
    assert values["seed"].number_value == 3
    assert values["scenarios.sampler"].string_value == "astraea"
    assert values.keys() == flat(settings.model_dump(mode="json")).keys()


def test_a_run_that_begins_again_hides_the_steps_of_the_one_that_was_killed(tmp_path):
    run = RunFolder.create(tmp_path / "run", "", {})
    for values in ([0.1, 0.2], [0.5]):
        (tracker,) = trackers(TrainSettings(agent="ppo"), run, start=0)
        for steps, value in enumerate(values):
            tracker.log({"reward": value}, 10 * steps)
        tracker.close()
    assert [(event.step, event.value) for event in recorded(run).Scalars("reward")] == [(0, 0.5)]


def test_trackers_are_a_list_or_text_with_commas():
    for given in ("wandb,tensorboard", "wandb, tensorboard", ["wandb", "tensorboard", "wandb"]):
        assert build(TrainSettings, "x", {"agent": "ppo", "track": given}).track == "wandb,tensorboard"
    for given in ("none", []):
        assert build(TrainSettings, "x", {"agent": "ppo", "track": given}).track == "none"
    for wrong in ("none,wandb", "mlflow", ""):
        with pytest.raises(InputError, match=r"^x: track: .*must be none or some of tensorboard, wandb"):
            build(TrainSettings, "x", {"agent": "ppo", "track": wrong})
