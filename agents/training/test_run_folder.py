import errno
import json
import os
import resource
import shutil
from types import SimpleNamespace

import pytest

from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.agents.training.tracking import trackers
from leogym.common.atomic import write_atomically
from leogym.common.errors import InputError


@pytest.fixture
def run(tmp_path):
    return RunFolder.create(tmp_path / "run", "agent: astraea\n", {"command": "python train.py", "seed": 3})


def put(text):
    return lambda folder: (folder / "state").write_text(text)


def rows(run):
    return (run.path / "progress.csv").read_text().splitlines()


def test_a_folder_with_a_run_in_it_is_not_overwritten(run):
    run.save_checkpoint(5, put("a"))
    with pytest.raises(InputError, match="has a run already"):
        RunFolder.create(run.path, "agent: other\n", {})
    assert "astraea" in (run.path / "config.yaml").read_text()


def test_what_was_killed_before_its_first_checkpoint_gives_way_to_a_new_run(run):
    run.append_progress({"steps": 1})
    again = RunFolder.create(run.path, "agent: astraea\n", {})
    again.append_progress({"steps": 2, "reward": 0.5})
    assert rows(again) == ["steps,reward", "2,0.5"]


def test_a_discarded_run_leaves_no_records_of_trackers_but_those_of_others(tmp_path):
    theirs = tmp_path / "run" / "tensorboard" / "events.out.tfevents.1"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    run = RunFolder.create(tmp_path / "run", "", {})
    for tracker in trackers(TrainSettings(agent="ppo"), run, start=0):
        tracker.close()
    (run.path / "wandb" / "offline-run-1").mkdir(parents=True)
    run.discard()
    assert [path for path in run.path.rglob("*") if path.is_file()] == [theirs]
    assert not (run.path / "wandb").exists()


@pytest.mark.parametrize("name", ["config.yaml", "progress.csv"])
@pytest.mark.parametrize("checkpoints", [False, True])
def test_a_users_own_files_are_not_replaced(tmp_path, name, checkpoints):
    if checkpoints:
        (tmp_path / "checkpoints").mkdir()
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=f"{tmp_path / name}: .*this file of yours"):
        RunFolder.create(tmp_path, "agent: astraea\n", {})
    assert (tmp_path / name).read_text() == "mine"


def test_only_a_runs_own_half_written_files_are_removed(run):
    for path in (".notes.tmp", ".config.yaml.tmp", "checkpoints/.7.tmp"):
        (run.path / path).write_text("")
    RunFolder.create(run.path, "agent: astraea\n", {})
    assert [path.name for path in run.path.rglob(".*.tmp")] == [".notes.tmp"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written"):
        RunFolder.create(tmp_path / "run", "", {})


def test_a_folder_below_a_file_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/run: .*cannot be written"):
        RunFolder.create(tmp_path / "file" / "run", "", {})


def test_resuming_needs_a_run_and_a_checkpoint(run, tmp_path):
    with pytest.raises(InputError, match="no run to resume"):
        RunFolder.open(tmp_path / "nothing", {})
    with pytest.raises(InputError, match="no checkpoint to resume from"):
        RunFolder.open(run.path, {})
    run.save_checkpoint(5, put("a"))
    RunFolder.open(run.path, {})


def test_a_latest_that_names_nothing_is_refused(run):
    (run.checkpoints / "latest").write_text("000000000009\n")
    with pytest.raises(InputError, match=r"latest.*000000000009"):
        RunFolder.open(run.path, {})


def test_only_the_last_two_checkpoints_are_kept(run):
    for steps in (10, 20, 30):
        run.save_checkpoint(steps, put(str(steps)))
    assert [path.name for path in run.kept_checkpoints()] == ["000000000020", "000000000030"]
    latest = run.latest_checkpoint()
    assert latest is not None
    assert (latest / "state").read_text() == "30"


def test_progress_rows_after_the_checkpoint_and_half_a_line_are_shed(run):
    for steps in (10, 20, 30):
        run.append_progress({"steps": steps, "reward": steps / 100})
    with (run.path / "progress.csv").open("a") as file:
        file.write("40,0.")
    run.rewind_progress(20)
    assert rows(run) == ["steps,reward", "10,0.1", "20,0.2"]


def test_a_reopened_run_goes_on_with_the_columns_it_has(run):
    run.append_progress({"steps": 10, "reward": 0.1})
    again = RunFolder(run.path, {})
    again.append_progress({"reward": 0.2, "steps": 20})
    assert rows(again)[-1] == "20,0.2"
    with pytest.raises(ValueError, match="surprise"):
        again.append_progress({"steps": 30, "surprise": 1})


def test_policy_and_summary_say_where_they_come_from(run):
    run.write_policy(b"onnx", {"agent": "astraea", "spec_version": 1}, steps=70)
    run.write_summary({"steps": 70, "last": {"reward": float("nan")}})
    policy = json.loads((run.policy / "policy.json").read_text())
    assert policy["format"] == "leogym-policy"
    assert policy["version"] == 1
    assert policy["provenance"] == {"command": "python train.py", "seed": 3, "steps": 70}
    summary = json.loads((run.path / "summary.json").read_text())
    assert summary == {"steps": 70, "last": {"reward": None}, "provenance": run.provenance}


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"


def test_another_error_while_a_checkpoint_is_written_is_no_full_disk(tmp_path, monkeypatch):
    def write(folder):
        (folder / "weights").write_bytes(bytes(1_000))
        raise RuntimeError("the exporter has no such operator")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 20, 1 << 20))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    run = RunFolder.create(tmp_path / "run", "steps: 70\n", {})
    with pytest.raises(RuntimeError, match="no such operator"):
        run.save_checkpoint(10, write)


@pytest.mark.parametrize(("size", "number"), [(1 << 20, errno.EFBIG), (1_000, None)])
def test_a_write_that_pytorch_could_not_finish_met_the_limit_only_if_its_file_is_as_large(
    tmp_path, monkeypatch, size, number
):
    def write(folder):
        (folder / "weights").write_bytes(bytes(size))
        raise RuntimeError("[enforce fail at inline_container.cc:664] . unexpected pos 64 vs 0")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 20, 1 << 20))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 30))
    run = RunFolder.create(tmp_path / "run", "steps: 70\n", {})
    with pytest.raises((OSError, RuntimeError)) as caught:
        run.save_checkpoint(10, write)
    assert getattr(caught.value, "errno", None) == number
    assert number is None or "inline_container" in str(caught.value.__cause__)
